"""`referee run versus`: points only where they are due, and with the marks they come with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from power.energy import Check
from referee.store.records import RunState, Score
from tests.contest_day import called
from tests.referee.factories import START, House, house, stored_run
from testsets import TestSet

FAILED = Check("peak-clipping", ok=False, severity="error", sentence="Clipped.", figures={})


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set) as made:
        yield made


def judged_run(
    hall: House, team: str, energy_wh: float | None, *checks: Check, heat: str | None = "final"
) -> int:
    run = stored_run(hall.store, team=team, heat=heat).id
    hall.store.change_run(run, (RunState.ARMED,), state=RunState.JUDGED.value, energy_wh=energy_wh)
    score = 0.5 / energy_wh if energy_wh else None
    hall.store.add_score(Score(run, START.isoformat(), 0.5, energy_wh, score, None, 5, 7, {}, "", checks))
    return run


def versus(hall: House, first: int, second: int) -> subprocess.CompletedProcess[str]:
    return called("run", "versus", str(first), str(second), "--contest", str(hall.folder))


def refusal(hall: House, first: int, second: int) -> str:
    result = versus(hall, first, second)
    assert (result.returncode, result.stdout) == (1, "")
    return result.stderr


def test_the_higher_score_of_a_heat_gets_two_points(hall: House) -> None:
    result = versus(hall, judged_run(hall, "ant", 2.0), judged_run(hall, "bee", 1.0))
    assert (result.stdout, result.stderr) == ("0  run 1 of ant: 0.25\n2  run 2 of bee: 0.5\n", "")


def test_a_run_that_needs_review_is_marked_and_named(hall: House) -> None:
    result = versus(hall, judged_run(hall, "ant", 2.0, FAILED), judged_run(hall, "bee", 2.0))
    assert result.stdout == "1  run 1 of ant: 0.25  !\n1  run 2 of bee: 0.25\n"
    assert result.stderr == "! Run 1 needs review before the points count; see: referee run show 1\n"


@pytest.mark.parametrize("heats", [("final", "other"), (None, None)])
def test_runs_that_did_not_start_together_are_told_apart(
    hall: House, heats: tuple[str | None, str | None]
) -> None:
    runs = [judged_run(hall, team, 1.0, heat=heat) for team, heat in zip(("ant", "bee"), heats, strict=True)]
    result = versus(hall, *runs)
    assert (result.returncode, result.stdout.count("1  run")) == (0, 2)
    assert "did not start together" in result.stderr


def test_a_team_does_not_meet_itself(hall: House) -> None:
    runs = judged_run(hall, "ant", 1.0), judged_run(hall, "ant", 2.0, heat="other")
    assert "both of ant" in refusal(hall, *runs)
    assert "both of ant" in refusal(hall, 1, 1)


def test_without_an_energy_nothing_is_decided(hall: House) -> None:
    runs = judged_run(hall, "ant", 1.0), judged_run(hall, "bee", None, FAILED)
    assert refusal(hall, *runs) == (
        "referee: It is not decided yet: run 2 of bee has no energy; see: referee run show 2\n"
    )


def test_an_energy_of_nothing_gives_no_score_and_loses(hall: House) -> None:
    runs = judged_run(hall, "ant", 1.0), judged_run(hall, "bee", 0.0, FAILED)
    assert versus(hall, *runs).stdout == "2  run 1 of ant: 0.5\n0  run 2 of bee: no score  !\n"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RunState.VOID, "Run 2 is void: loose cable; name another run."),
        (RunState.OPEN, "Run 2 is open; it can be told once it is over and judged."),
        (RunState.CLOSED, "Run 2 is not judged as it stands; see: referee judge 2"),
    ],
)
def test_what_has_no_points_yet_says_what_to_do(hall: House, state: RunState, words: str) -> None:
    runs = judged_run(hall, "ant", 1.0), judged_run(hall, "bee", 1.0)
    hall.store.change_run(2, (RunState.JUDGED,), state=state.value, void_reason="loose cable")
    assert refusal(hall, *runs) == f"referee: {words}\n"
