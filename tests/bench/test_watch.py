"""The parts of a long watch: what their files say, and how they add up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.watch_parts import (
    CUT_OFF,
    IN_TIME,
    SIMULATE,
    SOAK,
    VIOLATED,
    Part,
    commits_of,
    next_seed,
    parts_in,
)
from bench.watch_table import of_commits, spans, summed
from tests.contest_day import ROOT

NOTES_AND_STAYS = """
import sys
from pathlib import Path
from bench.watch_parts import Part
part = Part(Path(sys.argv[1]), "simulate", 3)
part.note(counts={"days": 2}, runs_by_day=[1, 2], posts_by_day=[3, 4])
print("noted", flush=True)
sys.stdin.read()
"""


def simulated(seed: int, *days: tuple[int, int], **more: Any) -> dict[str, Any]:
    """A part of so many days, with the runs and acknowledged posts of each; a minute a day."""
    return {
        "kind": SIMULATE,
        "seed": seed,
        "lasted_s": 60.0 * len(days),
        "commit": "a",
        "is_committed": True,
        "ended": IN_TIME,
        "counts": {"days": len(days)},
        "violations": [],
        "runs_by_day": [runs for runs, _ in days],
        "posts_by_day": [posts for _, posts in days],
    } | more


def soaked(seed: int, lasted_s: float, **counts: int) -> dict[str, Any]:
    return {
        "kind": SOAK,
        "seed": seed,
        "lasted_s": lasted_s,
        "commit": "a",
        "is_committed": True,
        "ended": IN_TIME,
        "counts": counts,
        "violations": [],
    }


def test_days_add_up_and_none_counts_twice() -> None:
    parts = [
        simulated(1, (2, 10), (3, 20)),
        simulated(2, (3, 20), (4, 30), ended=CUT_OFF),
        simulated(90),
    ]
    row, other = summed(parts)
    assert row["parts"] == 3
    assert row["cut off"] == 1
    assert row["seeds"] == "1 to 3"
    assert row["hours"] == round(3 / 60, 2)
    assert row["what happened"] == "days 3, runs 9, posts acknowledged 60"
    assert row["violations"] == 0
    assert other["parts"] == 0
    assert other["seeds"] == "none"


def test_of_two_soaks_with_one_seed_the_longer_counts() -> None:
    parts = [
        soaked(7, 600.0, faults=20, runs=9),
        soaked(7, 1200.0, faults=40, runs=20),
        soaked(8, 600.0, faults=21, **{"its end is measured within (ms, median)": 90}),
    ]
    row = summed(parts)[1]
    assert "median" not in row["what happened"]
    assert row["hours"] == 0.5
    assert row["seeds"] == "7 to 8"
    assert row["what happened"].startswith("faults 61, runs 20, posts acknowledged 0")


def test_a_violation_is_told_even_where_another_part_has_its_seed() -> None:
    failed = soaked(7, 1.0) | {"ended": VIOLATED, "violations": ["lost: 1"]}
    assert summed([failed, soaked(7, 600.0)])[1]["violations"] == 1


def test_only_parts_of_committed_code_and_of_the_named_commits_count() -> None:
    parts = [
        simulated(1, commit="a"),
        simulated(2, commit="b"),
        simulated(3, commit="a", is_committed=False),
    ]
    assert [part["seed"] for part in of_commits(parts, None)] == [1, 2]
    assert [part["seed"] for part in of_commits(parts, {"b"})] == [2]


@pytest.mark.parametrize(
    ("seeds", "text"),
    [([], "none"), ([4], "4"), ([1, 2, 3, 9, 11, 12], "1 to 3, 9, 11 to 12")],
)
def test_seeds_are_told_as_spans(seeds: list[int], text: str) -> None:
    assert spans(seeds) == text


def test_a_part_says_that_it_was_cut_off_until_it_ends(tmp_path: Path) -> None:
    part = Part(tmp_path, SIMULATE, 5)
    assert parts_in(tmp_path)[0]["ended"] == CUT_OFF
    part.note(counts={"days": 2}, runs_by_day=[1, 2], posts_by_day=[3, 4])
    part.end(IN_TIME)
    kept = parts_in(tmp_path)[0]
    assert kept["ended"] == IN_TIME
    assert kept["runs_by_day"] == [1, 2]
    assert kept == json.loads(part.path.read_text())
    assert next_seed(tmp_path, SIMULATE) == 7
    assert next_seed(tmp_path, SOAK) == 1


def test_a_part_that_is_killed_counts_for_what_it_noted(tmp_path: Path) -> None:
    watch = subprocess.Popen(
        [sys.executable, "-c", NOTES_AND_STAYS, tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert watch.stdout is not None
    assert watch.stdout.readline() == b"noted\n"
    watch.kill()
    watch.communicate()
    row = summed(parts_in(tmp_path))[0]
    assert row["cut off"] == 1
    assert row["seeds"] == "3 to 4"
    assert row["what happened"] == "days 2, runs 3, posts acknowledged 7"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout of git")
def test_a_range_of_commits_has_both_of_its_ends() -> None:
    head = commits_of("HEAD")
    assert len(head) == 1
    assert commits_of("HEAD..HEAD") == head
    with pytest.raises(ValueError, match="git knows no commit 'nothing'"):
        commits_of("nothing")
