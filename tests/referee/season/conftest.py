"""Two judged contests on one test set, made once; each test gets copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.contest import create_contest, open_contest
from referee.judging.judge_many import judge_with_interval
from referee.store.records import RunState
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.sent_runs import closed_run, guesses

CLOCK = DrivenClock()
# By contest, in order: team, part of the objects that it found, energy.
RUNS = {
    "spring": (
        ("ant", 0.9, 0.1),
        ("bee", 0.5, 0.1),
        ("cat", 0.8, 0.1),
    ),
    "autumn": (("bee", 0.7, 0.1), ("ant", 0.4, 0.1)),
}


@pytest.fixture(scope="session")
def season_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "set",
        images=12,
        categories=3,
        seed=4,
        size=(96, 64),
    )


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, season_set: TestSet) -> Path:
    folder = tmp_path_factory.mktemp("contests")
    for month, (name, runs) in enumerate(RUNS.items(), start=1):
        create_contest(folder / name, config_text(season_set))
        with open_contest(folder / name) as contest:
            for team, part, energy_wh in runs:
                rows = guesses(contest, part, seed=1)
                run = closed_run(contest, rows, team=team, energy_wh=energy_wh)
                ended = {"closed_utc": f"2026-{month:02}-01T10:00:0{run.id}+00:00"}
                contest.store.runs.change(run.id, [RunState.CLOSED], **ended)
                judge_with_interval(contest, run.id, CLOCK)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of a contest."""

    def copied(name: str = "spring", to: str | None = None) -> Path:
        return shutil.copytree(made / name, tmp_path / (to or name))

    return copied
