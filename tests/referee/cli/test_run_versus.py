"""`referee run versus`: points only if the meeting is decided, and with the marks of the runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_power.energy import Check
from lpirc_testsets import TestSet
from referee.judging.run_figures import let_stand
from referee.store.records import RunState, Score
from tests.contest_day import called
from tests.referee.factories import START, House, house, stored_run

FAILED = Check(
    "peak-clipping",
    ok=False,
    severity="error",
    sentence="Clipped.",
    figures={},
)


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set) as made:
        yield made


def judged_run(
    hall: House,
    team: str,
    energy_wh: float | None,
    *checks: Check,
    heat: str | None = "final",
    reached: float = 0.5,
) -> int:
    run = stored_run(hall.store, team=team, heat=heat).id
    hall.store.runs.change(
        run,
        (RunState.ARMED,),
        state=RunState.JUDGED.value,
        energy_wh=energy_wh,
    )
    score = reached / energy_wh if energy_wh else None
    hall.store.scores.add(
        Score(
            run,
            START.isoformat(),
            reached,
            energy_wh,
            score,
            None,
            5,
            7,
            {},
            "lpirc",
            checks,
        )
    )
    return run


def versus(
    hall: House,
    first: int,
    second: int,
) -> subprocess.CompletedProcess[str]:
    return called(
        "run", "versus", str(first), str(second), "--contest", str(hall.folder)
    )


def test_the_higher_score_of_a_heat_gets_two_points(hall: House) -> None:
    result = versus(hall, judged_run(hall, "ant", 2.0), judged_run(hall, "bee", 1.0))
    assert result.stdout == "0  run 1 of ant: 0.25\n2  run 2 of bee: 0.5\n"
    assert result.stderr == ""


def test_a_meeting_with_a_run_in_review_is_not_decided_until_it_is_let_stand(
    hall: House,
) -> None:
    runs = judged_run(hall, "ant", 2.0, FAILED), judged_run(hall, "bee", 2.0)
    result = versus(hall, *runs)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        "referee: The meeting cannot be decided: run 1 of ant: it is in review until an operator decides: "
        'peak-clipping failed (Clipped); accept the run (referee run review 1 --note "…") or void it.\n'
    )
    let_stand(hall.contest, 1, "jo", "a spike of 10 ms", START)
    stdout = versus(hall, *runs).stdout
    assert stdout == "1  run 1 of ant: 0.25  reviewed\n1  run 2 of bee: 0.25\n"


def test_a_run_in_review_that_would_have_no_rank_anyway_loses_its_meeting(
    hall: House,
) -> None:
    config = hall.folder / "contest.toml"
    config.write_text("least_map = 0.2\n" + config.read_text())
    result = versus(
        hall,
        judged_run(hall, "ant", 0.1, FAILED, reached=0.1),
        judged_run(hall, "bee", 1.0),
    )
    assert result.stdout.splitlines()[1] == "2  run 2 of bee: 0.5"


def test_a_run_below_least_map_wins_no_meeting(hall: House) -> None:
    config = hall.folder / "contest.toml"
    config.write_text("least_map = 0.2\n" + config.read_text())
    result = versus(
        hall,
        judged_run(hall, "ant", 0.1, reached=0.1),
        judged_run(hall, "bee", 1.0),
    )
    low = "1, which is not ranked: its mAP 0.10000 is below least_map 0.2"
    assert result.stdout == f"0  run 1 of ant: {low}\n2  run 2 of bee: 0.5\n"


def test_runs_that_did_not_start_together_are_pointed_out(hall: House) -> None:
    runs = (
        judged_run(hall, "ant", 1.0),
        judged_run(hall, "bee", 0.0, FAILED, heat="other"),
    )
    result = versus(hall, *runs)
    assert result.stdout == "2  run 1 of ant: 0.5\n0  run 2 of bee: no score  !\n"
    assert "did not start together" in result.stderr


def test_what_is_not_decided_is_said_in_one_line(hall: House) -> None:
    runs = judged_run(hall, "ant", 1.0), judged_run(hall, "bee", None, FAILED)
    result = versus(hall, *runs)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "see: referee run show 2 --contest " in result.stderr
