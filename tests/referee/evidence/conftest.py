"""A contest day over HTTP, once for all tests here, and the bundles of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.auth.signing import ContestKey
from referee.contest import Contest, create_contest, open_contest
from tests.contest_day import TEAM, Day, contest_day
from tests.referee.evidence.proved import (
    Proved,
    all_kinds_of_bodies,
    another_key,
    guesses,
    whole_run,
)
from tests.referee.factories import START, config_text


@pytest.fixture(scope="session")
def proved(
    tmp_path_factory: pytest.TempPathFactory,
    small_set: TestSet,
) -> Iterator[dict[str, Proved]]:
    """`judged`, with bodies of every kind after a run of others; `unjudged`; `empty`: no body, judged."""
    folder = tmp_path_factory.mktemp("proved")
    testset = small_set.folder
    with contest_day(folder / "day", testset, teams=(TEAM, "bees")) as day:
        day.serve()
        kept = _runs(day, testset)
        for run in ("1", "2", "3"):
            assert day.refers("judge", run).returncode == 0
        key = ContestKey(day.folder / "signing-key", None)
        wrong = another_key(folder)
        made = {}
        for number, name in enumerate(
            ("others", "judged", "empty", "unjudged"),
            start=1,
        ):
            out = folder / f"{name}.zip"
            exported = day.refers("bundle", "export", str(number), "-o", str(out))
            assert exported.returncode == 0, exported.stderr
            made[name] = Proved(out.read_bytes(), kept[number - 1], key, wrong, testset)
        yield made


def _runs(day: Day, testset: Path) -> list[bytes]:
    def some(run: int) -> object:
        with day.store() as store:
            return all_kinds_of_bodies(guesses(store, run, testset, run))

    def none(_: int) -> object:
        return []

    return [
        whole_run(day, some, "bees"),
        whole_run(day, some),
        whole_run(day, none, "bees"),
        whole_run(day, some),
    ]


@pytest.fixture
def contest(tmp_path: Path, small_set: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set))
    with open_contest(tmp_path / "contest") as opened:
        opened.store.teams.add(TEAM, "no hash", START)
        yield opened
