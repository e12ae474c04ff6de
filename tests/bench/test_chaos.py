"""Judging under kills, of a contest that is judged in seconds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from bench import chaos, workload
from bench.bundles import write_test_set
from bench.chaos import MARK, Judging, Way, marked
from tests.contest_day import called
from tests.referee.judging.stored_runs import forget_scorings, results, store_runs

RUNS = 3
IMAGES = 20


@pytest.mark.parametrize("part", ["coordinator", "worker"])
def test_runs_whose_judging_is_killed_are_judged_all_the_same(
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chaos, "KILL_AFTER_S", (0.0, 0.0))
    made = workload.make(IMAGES, chaos.PER_IMAGE)
    contest = tmp_path / "contest"
    test_set = write_test_set(made, tmp_path / "testset")
    store_runs(contest, test_set, made.rows(), RUNS)
    called("judge", "--all", "--contest", str(contest))
    undisturbed = results(contest)
    forget_scorings(contest)
    way = Way("--workers 1", ("--workers", "1"), (part,))
    chance = random.Random(1)  # noqa: S311 - nothing is secret
    row = Judging(contest, way, chance, kills=1).carried_out()
    # A busy host may look so late that nothing is left to kill.
    killed = row["kills"]
    assert row["killed"] == (f"{part} 1" if killed else "")
    assert row["judged"] == RUNS
    assert row["jobs failed"] == 0
    assert row["starts of the command"] == (
        2 if killed and part == "coordinator" else 1
    )
    assert results(contest) == undisturbed


def test_a_process_is_known_by_its_mark_after_its_parent_is_gone(
    tmp_path: Path,
) -> None:
    waits = "import sys; print('begun', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", waits],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {MARK: str(tmp_path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    try:
        assert marked(str(tmp_path)) == [process.pid]
        assert marked(f"{tmp_path}-other") == []
    finally:
        process.communicate()
