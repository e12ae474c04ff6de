"""What is published of runs, as values: the command line only prints them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lpirc_power.energy import Check
from lpirc_score.analysis.halves import HALVES
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.figure_state import FigureState
from referee.judging.judge import judge
from referee.judging.meetings import meeting
from referee.judging.prizes import MERITS
from referee.judging.ranking import FailedCheck, NotRanked
from referee.judging.run_figures import (
    Figures,
    current_judgement,
    energy_above_idle_wh,
    figures_of,
    let_stand,
    score_document,
)
from referee.judging.standings import LeftOut, place_document, standings
from referee.store.records import Provisional, Run, RunState, Score
from tests.referee.factories import (
    HALF_SAMPLED,
    START,
    House,
    house,
    reading,
    run_record,
    stored_run,
)

FAILED = Check(
    "peak-clipping",
    ok=False,
    severity="error",
    sentence="Clipped.",
    figures={"peaks": math.nan},
)
OTHER_WINDOW = Check(
    "integrator-time",
    ok=False,
    severity="error",
    sentence="Longer.",
    figures={},
)


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set) as made:
        yield made


AT = START.isoformat()


def run_in(hall: House, state: RunState, **figures: object) -> Run:
    """A run in that state whose last provisional figures are mAP 0.5 and 0.25 Wh."""
    run = stored_run(hall.store, testset_digest=hall.contest.test_set.digest)
    hall.store.provisional.set(
        Provisional(
            run.id,
            AT,
            map=0.5,
            energy_wh=0.25,
            score=2.0,
            detections=7,
        )
    )
    return hall.store.runs.change(
        run.id,
        (RunState.ARMED,),
        state=state.value,
        **figures,
    )


def judged_run(
    hall: House,
    team: str,
    energy_wh: float | None,
    *checks: Check,
    **more: object,
) -> Run:
    """A judged run of mAP 0.5."""
    values = {"testset_digest": hall.contest.test_set.digest} | more
    run = stored_run(hall.store, team=team, **values)
    judged = hall.store.runs.change(
        run.id,
        (RunState.ARMED,),
        state="judged",
        energy_wh=energy_wh,
    )
    hall.store.scores.add(score(run.id, energy_wh, checks))
    return judged


def score(
    run: int,
    energy_wh: float | None,
    checks: tuple[Check, ...] = (),
    signature: str = "lpirc|iou:0.5",
) -> Score:
    per_wh = 0.5 / energy_wh if energy_wh else None
    mean_power_w = 36.0 * energy_wh if energy_wh else None
    return Score(
        run,
        START.isoformat(),
        0.5,
        energy_wh,
        per_wh,
        mean_power_w,
        5,
        7,
        {1: 0.5},
        signature,
        checks,
    )


def test_the_figures_of_an_open_run_are_provisional(hall: House) -> None:
    run = run_in(hall, RunState.OPEN)
    hall.store.readings.append(run.id, 0.0, [reading(0.0, energy_wh=0.25)])
    expected = Figures(
        0.25,
        0.5,
        2.0,
        None,
        judged=False,
        figure_state=FigureState.FRESH,
        provisional_utc=AT,
    )
    assert figures_of(hall.contest, run, START) == expected


@pytest.mark.parametrize(
    ("state", "score", "figure_state"),
    [
        (RunState.CLOSED, 0.4, FigureState.FRESH),
        (RunState.VOID, None, None),
    ],
)
def test_a_run_that_is_over_has_its_energy_of_record(
    hall: House,
    state: RunState,
    score: float | None,
    figure_state: FigureState | None,
) -> None:
    run = run_in(hall, state, energy_wh=1.25)
    expected = Figures(1.25, 0.5, score, None, judged=False, figure_state=figure_state)
    assert figures_of(hall.contest, run, START) == expected


def test_a_run_without_energy_has_no_score(hall: House) -> None:
    run = run_in(hall, RunState.CLOSED)
    assert figures_of(hall.contest, run, START) == Figures(
        None,
        0.5,
        None,
        None,
        judged=False,
        figure_state=FigureState.METER_AWAY,
    )


def test_a_judgement_before_the_energy_was_read_no_longer_counts(hall: House) -> None:
    run = run_in(hall, RunState.CLOSED)
    judge(hall.contest, run.id, Clock())
    judged = hall.store.runs.get(run.id)
    assert figures_of(hall.contest, judged, START).judged
    read = hall.store.runs.change(run.id, (RunState.JUDGED,), energy_wh=1.25)
    assert current_judgement(hall.contest, read) is None
    expected = Figures(
        1.25,
        0.5,
        0.4,
        None,
        judged=False,
        figure_state=FigureState.FRESH,
    )
    assert figures_of(hall.contest, read, START) == expected
    judge(hall.contest, run.id, Clock())
    assert figures_of(hall.contest, read, START).judged


def test_a_document_is_json_and_keeps_the_checks(hall: House) -> None:
    run = judged_run(hall, "ant", 2.0, FAILED)
    document = score_document(run, score(run.id, 2.0, (FAILED,)))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["score"] == 0.25
    assert document["needs_review"] is True
    assert document["interval"] is None
    assert document["checks"] == [
        {
            "code": "peak-clipping",
            "ok": False,
            "severity": "error",
            "sentence": "Clipped.",
            "figures": {"peaks": None},
        }
    ]


def test_the_energy_above_idle_needs_the_idle_power_and_the_energy_of_the_window() -> (
    None
):
    run = run_record(idle_power_w=36.0, elapsed_s=100.0)
    assert energy_above_idle_wh(run, score(1, 2.0)) == pytest.approx(1.0)
    assert energy_above_idle_wh(replace(run, idle_power_w=None), score(1, 2.0)) is None
    assert energy_above_idle_wh(run, score(1, None)) is None
    assert energy_above_idle_wh(run, replace(score(1, 2.0), mean_power_w=None)) is None


def latest(hall: House, run: int) -> Score:
    found = hall.store.scores.latest(run)
    assert found is not None
    return found


def test_standings_rank_judged_runs_and_name_what_is_left_out(hall: House) -> None:
    for team, energy_wh in (
        ("ant", 1.0),
        ("bee", 2.0),
        ("cat", None),
        ("dog", 0.5),
    ):
        judged_run(hall, team, energy_wh)
    # Relative to bee's mAP its halves vary by 0.5202: a lead of 2/3 is 1.2816 deviations, a chance of 90 %.
    for run, off in ((1, 0.0), (2, 0.26010)):
        interval = replace(HALF_SAMPLED, map_low=0.4, score_low=0.2)
        hall.store.scores.add_interval(
            latest(hall, run),
            interval,
            0.5 + off * (-1.0) ** np.arange(HALVES),
        )
    hall.store.runs.change(
        4,
        (RunState.JUDGED,),
        state="void",
        void_reason="wrong board",
    )
    found = standings(hall.contest)
    assert [(one.rank, one.standing.team) for one in found.places] == [
        (1, "ant"),
        (2, "bee"),
    ]
    ((bee,), (ant,)) = (one.level_with for one in found.places)
    covers = "same images; the energy spread is unknown"
    assert bee.team == "bee"
    assert ant.team == "ant"
    assert bee.covers == covers
    assert bee.chance == ant.chance == pytest.approx(0.9, abs=1e-3)
    assert found.left_out == (LeftOut(3, "cat", None),)
    document = place_document(found.places[0])
    assert document["score"] == 0.5
    assert document["score_low"] == 0.2
    assert document["level_with"] == [
        {
            "team": "bee",
            "chance": bee.chance,
            "covers": covers,
        }
    ]


def test_a_run_below_least_map_is_shown_with_the_reason_and_wins_nothing(
    hall: House,
) -> None:
    judged_run(hall, "ant", 1.0)
    judged_run(hall, "bee", 0.1)
    hall.store.scores.add(replace(latest(hall, 2), map=0.0002, score=0.002))
    judged_run(hall, "ant", 0.01)
    hall.store.scores.add(replace(latest(hall, 3), map=0.01, score=1.0))
    assert [(one.rank, one.standing.run) for one in standings(hall.contest).places] == [
        (1, 3),
        (2, 2),
    ]
    config = hall.folder / "contest.toml"
    config.write_text("least_map = 0.05\n" + config.read_text())
    with open_contest(hall.folder) as contest:
        found = standings(contest)
        assert [(one.rank, one.standing.run) for one in found.places] == [(1, 1)]
        assert [
            (one.standing.run, one.standing.not_ranked) for one in found.unranked
        ] == [
            (3, "its mAP 0.01000 is below least_map 0.05"),
            (2, "its mAP 0.00020 is below least_map 0.05"),
        ]
        assert found.left_out == ()
        assert {one.teams for one in found.awards} == {("ant",)}
        document = place_document(found.unranked[0])
        assert document["rank"] is None
        assert document["not_ranked_code"] == "below-least-map"
        assert set(document) == set(place_document(found.places[0]))
        reason = found.unranked[1].standing.not_ranked
        not_ranked = figures_of(contest, contest.store.runs.get(2), START).not_ranked
        assert not_ranked == reason
        assert figures_of(contest, contest.store.runs.get(1), START).not_ranked is None


def test_a_run_that_was_let_stand_is_reviewed_until_another_check_fails(
    hall: House,
) -> None:
    run = judged_run(hall, "ant", 1.0, FAILED)
    assert standings(hall.contest).places == ()
    assert standings(hall.contest).unranked[0].standing.needs_review
    let_stand(hall.contest, run.id, "ada", "The clip is a spike of 10 ms.", START)
    one = standings(hall.contest).places[0].standing
    assert one.needs_review is False
    assert one.reviewed == "The clip is a spike of 10 ms."
    figures = figures_of(hall.contest, run, START)
    assert figures.needs_review is False
    assert figures.reviewed == one.reviewed
    judged_run(hall, "bee", 2.0)
    met = meeting(hall.contest, 1, 2).sides[0]
    assert met.figures.needs_review is False
    assert (met.figures.reviewed is not None) is True
    hall.store.scores.add(score(run.id, 1.0, (FAILED, OTHER_WINDOW)))
    assert standings(hall.contest).unranked[0].standing.failed_checks == (
        FailedCheck("peak-clipping", "Clipped."),
        FailedCheck("integrator-time", "Longer."),
    )
    assert figures_of(hall.contest, run, START).reviewed is None


def test_a_run_with_extra_time_is_compared_with_the_others_and_says_so(
    hall: House,
) -> None:
    judged_run(hall, "ant", 1.0, window_s=660.0, extra_s=60.0)
    judged_run(hall, "bee", 2.0)
    found = standings(hall.contest)
    assert [one.standing.extra_s for one in found.places] == [60.0, None]
    assert found.left_out == ()


def test_runs_by_other_rules_are_left_out_with_their_signature(hall: House) -> None:
    judged_run(hall, "ant", 1.0, window_s=60.0)
    judged_run(hall, "bee", 1.0, testset_digest="f" * 64)
    config = hall.folder / "contest.toml"
    assert [one.run for one in standings(hall.contest).left_out] == [1, 2]
    config.write_text(
        config.read_text().replace("window_s = 600", "window_s = 60\nmetric = 'coco'")
    )
    with open_contest(hall.folder) as contest:
        assert standings(contest).left_out == tuple(
            LeftOut(number, team, "lpirc|iou:0.5")
            for number, team in ((1, "ant"), (2, "bee"))
        )


def test_scores_by_another_version_of_the_rules_are_left_out(hall: House) -> None:
    signatures = [
        f"lpirc|iou:0.5|rules:{version}|v:0.1.0"
        for version in (RULES_VERSION, RULES_VERSION + 1)
    ]
    for team, signature in zip(("ant", "bee"), signatures, strict=True):
        run = judged_run(hall, team, 1.0)
        hall.store.scores.add(score(run.id, 1.0, signature=signature))
    found = standings(hall.contest)
    assert [place.standing.team for place in found.places] == ["ant"]
    assert found.left_out == (LeftOut(2, "bee", signatures[1]),)


def test_a_judgement_of_an_earlier_form_or_without_interval_is_marked_incomplete(
    hall: House,
) -> None:
    now = f"lpirc|iou:0.5|rules:{RULES_VERSION}|v:0.1.0"
    for team, signature in (
        ("ant", "lpirc|iou:0.5"),
        ("bee", now),
        ("cat", now),
        ("dog", now),
    ):
        run = judged_run(hall, team, 1.0)
        hall.store.scores.add(score(run.id, 1.0, signature=signature))
        if team != "cat":
            hall.store.scores.add_interval(
                latest(hall, run.id),
                replace(HALF_SAMPLED, method="bootstrap")
                if team == "dog"
                else HALF_SAMPLED,
                np.full(HALVES, 0.5),
            )
    found = standings(hall.contest)
    assert [(one.standing.team, one.standing.complete) for one in found.places] == [
        ("ant", False),
        ("bee", True),
        ("cat", False),
        ("dog", False),
    ]


def test_a_meeting_gives_the_higher_score_two_points(hall: House) -> None:
    judged_run(hall, "ant", 2.0, heat="final")
    judged_run(hall, "bee", 1.0, heat="final")
    judged_run(hall, "cat", 1.0)
    judged_run(hall, "dog", 0.0)
    met = meeting(hall.contest, 1, 2)
    assert [(side.run.team, side.figures.score, side.points) for side in met.sides] == [
        ("ant", 0.25, 0),
        ("bee", 0.5, 2),
    ]
    assert met.one_heat
    tie = meeting(hall.contest, 3, 2)
    assert [side.points for side in tie.sides] == [1, 1]
    assert tie.one_heat is False
    assert [side.points for side in meeting(hall.contest, 4, 3).sides] == [0, 2]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RunState.VOID, "Run 2 is void: loose cable"),
        (RunState.OPEN, "Run 2 is open"),
        (RunState.CLOSED, "Run 2 has no current judgement"),
    ],
)
def test_a_run_without_a_judgement_meets_no_other(
    hall: House,
    state: RunState,
    words: str,
) -> None:
    judged_run(hall, "ant", 1.0)
    judged_run(hall, "bee", 1.0)
    hall.store.runs.change(
        2,
        (RunState.JUDGED,),
        state=state.value,
        void_reason="loose cable",
    )
    with pytest.raises(RefereeError, match=words) as failure:
        meeting(hall.contest, 1, 2)
    assert failure.value.code == "run-state"


def test_a_meeting_needs_two_teams_and_their_energies(hall: House) -> None:
    judged_run(hall, "ant", 1.0)
    judged_run(hall, "ant", 2.0)
    judged_run(hall, "bee", None)
    for second, code in (
        (2, "not-opponents"),
        (1, "not-opponents"),
        (3, "energy-missing"),
    ):
        with pytest.raises(RefereeError) as failure:
            meeting(hall.contest, 1, second)
        assert failure.value.code == code


# Runs in review


def test_a_run_in_review_does_not_lead_and_is_shown_with_code_and_sentence(
    hall: House,
) -> None:
    judged_run(hall, "ant", 0.1, FAILED)
    judged_run(hall, "bee", 1.0)
    found = standings(hall.contest)
    assert [(one.rank, one.standing.team) for one in found.places] == [(1, "bee")]
    document = place_document(found.unranked[0])
    assert document["rank"] is None
    assert document["team"] == "ant"
    assert document["score"] == 5.0
    assert document["not_ranked_code"] == "in-review"
    assert document["not_ranked"] == (
        "it is in review until an operator decides: peak-clipping failed (Clipped)"
    )
    assert document["failed_checks"] == [
        {"code": "peak-clipping", "sentence": "Clipped."}
    ]
    figures = figures_of(hall.contest, hall.store.runs.get(1), START)
    assert figures.not_ranked == document["not_ranked"]
    assert figures.not_ranked_code == "in-review"


def test_a_team_is_ranked_by_its_sound_run_while_its_better_one_is_in_review(
    hall: House,
) -> None:
    judged_run(hall, "ant", 0.1, FAILED)
    judged_run(hall, "ant", 2.0)
    judged_run(hall, "bee", 1.0)
    found = standings(hall.contest)
    assert [(one.rank, one.standing.run) for one in found.places] == [(1, 3), (2, 2)]
    assert [one.standing.run for one in found.unranked] == [1]
    let_stand(hall.contest, 1, "ada", "a spike", START)
    found = standings(hall.contest)
    assert [(one.rank, one.standing.run) for one in found.places] == [(1, 1), (2, 3)], (
        "it counts from now on"
    )
    assert found.unranked == ()


def test_a_run_in_review_changes_no_prize_and_no_prize_s_bar(hall: House) -> None:
    config = hall.folder / "contest.toml"
    prizes = "".join(
        f'[[prizes]]\nname = "{rule}"\nrule = "{rule}"\n' for rule in MERITS
    )
    config.write_text(f"{config.read_text()}\n{prizes}")
    with open_contest(hall.folder) as contest:
        for number, (reached, energy_wh) in enumerate(
            ((0.5, 1.0), (0.4, 0.2)),
            start=1,
        ):
            judged_run(hall, f"team {number}", energy_wh)
            hall.store.scores.add(
                replace(latest(hall, number), map=reached, score=reached / energy_wh)
            )
        without = standings(contest).awards
        assert all(one.value is not None for one in without)
        assert {one.rule for one in without if one.bar is not None} == {
            "least-energy",
            "highest-map",
        }
        # It would lead, win each prize, and move both bars.
        judged_run(hall, "otters", 0.01, FAILED)
        hall.store.scores.add(replace(latest(hall, 3), map=0.99, score=99.0))
        assert standings(contest).awards == without
        let_stand(contest, 3, "ada", "a spike", START)
        assert standings(contest).awards != without


def test_a_review_does_not_rank_a_run_that_is_below_least_map(hall: House) -> None:
    run = judged_run(hall, "ant", 1.0, FAILED)
    config = hall.folder / "contest.toml"
    config.write_text("least_map = 0.6\n" + config.read_text())
    with open_contest(hall.folder) as contest:
        for _ in range(2):
            found = standings(contest)
            assert found.places == ()
            assert len(found.unranked) == 1
            assert (
                found.unranked[0].standing.not_ranked_code is NotRanked.BELOW_LEAST_MAP
            )
            let_stand(contest, run.id, "ada", "a spike", START)


# Images that a team had seen before


def test_images_seen_before_are_a_mark_of_the_run_and_no_reason_for_a_review(
    hall: House,
) -> None:
    seen = Check(
        "images-seen",
        ok=True,
        severity="warning",
        sentence="Seen.",
        figures={"images": 4},
    )
    judged_run(hall, "ant", 1.0, seen)
    judged_run(hall, "bee", 2.0)
    found = standings(hall.contest)
    assert [(one.rank, one.standing.images_seen) for one in found.places] == [
        (1, 4),
        (2, 0),
    ]
    assert place_document(found.places[0])["images_seen"] == 4
    assert figures_of(hall.contest, hall.store.runs.get(1), START).images_seen == 4
