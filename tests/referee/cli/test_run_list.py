"""`referee run list`: final figures, provisional figures, and a table that truncates nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lpirc_power.energy import Check
from lpirc_power.meter import Setup
from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.judging.judge import judge
from referee.store.records import ENERGY_LOST, Provisional, Run, RunState
from tests.contest_day import called
from tests.referee.factories import House, house, reading, stored_run

SIMULATED = "YOKOGAWA WT310 SIMULATED F1.03"
RECENT = "2100-01-01T00:00:00+00:00"  # for a test that may take long
SO_FAR = Provisional(
    0,
    RECENT,
    map=0.5,
    energy_wh=0.25,
    score=2.0,
    detections=7,
)


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set) as made:
        yield made


def run_in(
    hall: House,
    state: RunState,
    energy_wh: float | None = None,
    **more: object,
) -> Run:
    """Return a run in that state whose provisional figures were last updated while it was open."""
    # The test may take long.
    setup = Setup(
        150.0,
        0.5,
        update_interval_s=600.0,
        integrator_timer_s=600,
    )
    values = {"testset_digest": hall.contest.test_set.digest, "setup": setup} | more
    run = stored_run(hall.store, **values)
    figures = (
        {} if state is RunState.OPEN else {"elapsed_s": 60.0, "energy_wh": energy_wh}
    )
    hall.store.provisional.set(replace(SO_FAR, run=run.id))
    hall.store.readings.append(
        run.id,
        0.0,
        [reading(energy_wh=0.25, utc=Clock().utc())],
    )
    return hall.store.runs.change(
        run.id,
        (RunState.ARMED,),
        state=state.value,
        **figures,
    )


def told(hall: House) -> list[dict[str, object]]:
    documents: list[dict[str, object]] = json.loads(
        called("run", "list", "--json", "--contest", str(hall.folder)).stdout
    )
    return documents


def row(hall: House, **environment: str) -> list[str]:
    """Return the cells of the last run."""
    printed = called("run", "list", "--contest", str(hall.folder), **environment).stdout
    return printed.splitlines()[-2].split()


def test_an_open_run_is_told_so_far(hall: House) -> None:
    run_in(hall, RunState.OPEN)
    (one,) = told(hall)
    assert one["energy_wh"] == 0.25
    assert one["map"] == 0.5
    assert one["score"] == 2.0
    assert one["judged"] is False
    assert row(hall) == ["1", "otters", "one", "open", "~0.25", "~0.5", "~2"]


def test_figures_of_an_open_run_that_no_one_renews_have_their_age_and_no_score(
    hall: House,
) -> None:
    run = run_in(hall, RunState.OPEN)
    hall.store.provisional.set(
        replace(
            SO_FAR,
            run=run.id,
            utc=(Clock().utc() - timedelta(seconds=42)).isoformat(),
        )
    )
    *_, reached, age_s, _, old = row(hall)
    assert reached == "~0.5"
    assert old == "old"
    assert int(age_s) >= 42
    one = told(hall)[0]
    assert one["provisional_utc"]
    assert one["score"] is None
    assert one["figure_state"] is None


def test_an_open_run_whose_energy_is_lost_is_marked_as_in_review(hall: House) -> None:
    run = run_in(hall, RunState.OPEN)
    hall.store.log.append(
        Clock().utc(),
        run.id,
        ENERGY_LOST,
        code="meter-reset",
        elapsed_s=1.0,
    )
    (one,) = told(hall)
    assert one["score"] is None
    assert one["figure_state"] == "in-review"
    assert row(hall)[-1] == "!"


def test_a_run_that_is_over_has_its_energy_of_record(hall: House) -> None:
    run_in(hall, RunState.CLOSED, energy_wh=1.25)
    (one,) = told(hall)
    assert one["energy_wh"] == 1.25
    assert one["score"] == 0.4
    assert one["needs_review"] is None
    assert row(hall) == ["1", "otters", "one", "closed", "60", "1.25", "~0.5", "~0.4"]


def test_a_judgement_before_the_energy_was_read_is_not_shown(hall: House) -> None:
    run = run_in(hall, RunState.CLOSED)
    assert judge(hall.contest, run.id, Clock()).score is None
    hall.store.runs.change(run.id, (RunState.JUDGED,), energy_wh=1.25)
    shown = json.loads(
        called("run", "show", "1", "--json", "--contest", str(hall.folder)).stdout
    )
    assert shown["judged"] is None
    assert shown["energy_wh"] == 1.25
    words = called("run", "show", "1", "--contest", str(hall.folder)).stdout
    assert "1.25" in words
    assert "not judged yet; see: referee judge 1" in words


def test_an_event_is_shown_in_its_sentence_alone(hall: House) -> None:
    run = run_in(hall, RunState.CLOSED, energy_wh=1.25)
    hall.store.log.append(
        Clock().utc(),
        run.id,
        "meter-back",
        elapsed_s=5.0,
        sentence="Now a.",
        changes=["a"],
    )
    (line,) = (
        line
        for line in called(
            "run", "show", "1", "--contest", str(hall.folder)
        ).stdout.splitlines()
        if "meter-back" in line
    )
    assert line.endswith("meter-back  elapsed_s 5, Now a.")


def test_a_judged_run_has_its_marks_in_a_column_of_their_own(hall: House) -> None:
    run = run_in(hall, RunState.CLOSED, energy_wh=1.25, meter_identity=SIMULATED)
    judged = judge(hall.contest, run.id, Clock())
    failed = Check(
        "peak-clipping",
        ok=False,
        severity="error",
        sentence="Clipped.",
        figures={},
    )
    hall.store.scores.add(replace(judged, checks=(failed,)))
    assert row(hall) == ["1", "otters", "one", "judged", "60", "1.25", "0", "0", "!u"]


def test_at_80_columns_nothing_is_shortened_and_each_run_has_one_line(
    hall: House,
) -> None:
    for team, heat in (("alpha", "final"), ("beta", None)):
        station = f"station-{len(told(hall)) + 1}"
        run = run_in(
            hall,
            RunState.OPEN,
            team=team,
            station=station,
            heat=heat,
            meter_identity=SIMULATED,
        )
        hall.store.provisional.set(
            replace(
                SO_FAR,
                run=run.id,
                energy_wh=0.019561234,
                map=0.00123456,
            )
        )
    printed = called("run", "list", "--contest", str(hall.folder), COLUMNS="80").stdout
    header, *rows, caption = printed.splitlines()
    assert header.split() == [
        *("run", "team", "station", "heat", "state"),
        *("time", "s", "Wh", "mAP", "score"),
    ]
    figures = ["~0.01956", "~0.001235", "~0.06311", "u"]
    assert [line.split() for line in rows] == [
        ["1", "alpha", "station-1", "final", "open", *figures],
        ["2", "beta", "station-2", "open", *figures],
    ]
    assert max(map(len, printed.splitlines())) <= 80
    assert caption.strip() == "~ so far   ! in review   u unofficial meter"


def test_a_long_name_makes_the_table_wider_than_the_terminal(hall: House) -> None:
    run_in(hall, RunState.OPEN, team="the [bold] otters :smile: of " + "x" * 60)
    printed = called("run", "list", "--contest", str(hall.folder), COLUMNS="40").stdout
    assert "the [bold] otters :smile: of " + "x" * 60 + "  one" in printed
    assert len(printed.splitlines()) == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run list", "No run has been armed yet"),
        ("leaderboard", "No run has a score"),
    ],
)
def test_an_empty_list_says_so(
    hall: House,
    line: str,
    words: str,
) -> None:
    result = called(*line.split(), "--contest", str(hall.folder))
    assert result.returncode == 0
    assert result.stdout == ""
    assert result.stderr.startswith(words)
    document = json.loads(
        called(*line.split(), "--json", "--contest", str(hall.folder)).stdout
    )
    assert document == []
