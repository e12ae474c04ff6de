"""Workers, and the referee that gives them work, killed while they judge."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from lpirc_testsets import read_ground_truth, synthesize
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge_many import judge_with_interval
from referee.store.model_records import JobState
from tests.contest_day import is_running, until
from tests.referee.judging.stored_runs import results, store_runs
from tests.referee.judging.traced_judge import LEASE_S, TRACE
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[3]
RUNS = 20
WORKERS = 2
KILLS = 6
LATEST_S = LEASE_S + 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    test_set = synthesize(
        tmp_path / "set",
        images=8,
        categories=3,
        seed=4,
        size=(96, 64),
    )
    truth = read_ground_truth(test_set.folder)
    chance = np.random.default_rng(1)
    rows = np.column_stack(
        [truth.image, truth.category, chance.random(len(truth.image)), truth.boxes]
    )
    store_runs(
        tmp_path / "contest",
        test_set,
        rows[np.argsort(truth.image, kind="stable")],
        RUNS,
    )
    return tmp_path / "contest"


def alone(folder: Path) -> str:
    """What one process makes of a copy of the contest."""
    copy = shutil.copytree(folder, folder.with_name("alone"))
    with open_contest(copy) as contest:
        for run in contest.store.runs.find():
            judge_with_interval(contest, run.id, Clock())
    return results(copy)


def judging(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.referee.judging.traced_judge", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        cwd=folder.parent,
        env=environment,
        stdout=subprocess.DEVNULL,
    )


def trace(folder: Path) -> list[tuple[str, int, float]]:
    """What was noted, by which process, and when (s since 1970)."""
    file = folder.with_name(TRACE)
    lines = file.read_text().splitlines() if file.exists() else []
    return [
        (what, int(process), float(time_s))
        for what, process, time_s in map(str.split, lines)
    ]


def at_work(folder: Path) -> list[int]:
    """The processes whose last note is a beginning."""
    last = {process: what for what, process, _ in trace(folder)}
    return [
        process
        for process, what in last.items()
        if what == "begin" and is_running(process)
    ]


def count(folder: Path, what: str) -> int:
    return [noted for noted, *_ in trace(folder)].count(what)


def kill_workers(folder: Path) -> None:
    """Kill one at work, chosen at random, after each scoring that has come to its end."""
    chance = random.Random(0)  # noqa: S311 - of a seed
    for killed in range(KILLS):
        until(lambda ends=killed: count(folder, "end") >= ends and at_work(folder))
        # It has just ended its work, and will be killed idle.
        with suppress(
            ProcessLookupError,
            IndexError,
        ):
            os.kill(chance.choice(at_work(folder)), signal.SIGKILL)


def test_workers_and_referees_that_are_killed_change_nothing_but_the_time(
    folder: Path,
) -> None:
    expected = alone(folder)
    first = judging(folder)
    kill_workers(folder)
    until(lambda: at_work(folder))
    with first:
        first.kill()
    former = {process for _, process, _ in trace(folder)}
    with open_contest(folder) as contest:
        left = [job.name for job in contest.store.jobs.all(JobState.LEASED)]
        assert 0 < len(left) <= WORKERS + 1
        assert len(contest.store.jobs.all(JobState.WAITING)) > WORKERS
    with judging(folder) as second:
        assert second.wait(TIMEOUT_S) == 0
    with open_contest(folder) as contest:
        ended = {job.name: job for job in contest.store.jobs.all()}
    assert [job.state for job in ended.values()] == [JobState.DONE] * RUNS
    # Counted from when the second one is at work, on the jobs that no one had: its start takes long on a busy machine.
    at_work_s = min(
        time_s for _, process, time_s in trace(folder) if process not in former
    )
    for name in left:
        ended_utc = datetime.fromisoformat(ended[name].ended_utc or "")
        assert ended_utc.timestamp() - at_work_s < LATEST_S
    assert results(folder) == expected
    # Each kill costs what was under way, and nothing that was kept is scored again.
    assert RUNS < count(folder, "begin") <= RUNS + KILLS + WORKERS + 1
