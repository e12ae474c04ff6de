"""What the jury sees over a replay agrees with the analysis of errors, object by object; no other replay has it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lpirc_score.analysis.error_types import TRUE
from referee.clock import Clock
from referee.judging.judge import judge
from referee.judging.replay import replay_of
from referee.judging.replay_truth import with_truth
from referee.judging.score_explanation import explain
from referee.store.records import RunState
from tests.referee.factories import START, House
from tests.referee.judging.sent_runs import closed_run, guesses


def test_found_and_missed_objects_and_right_boxes_are_those_of_the_analysis(
    build: Callable[..., House],
) -> None:
    hall = build()
    closed = closed_run(hall.contest, guesses(hall.contest, 0.6))
    judged = judge(hall.contest, closed.id, Clock())
    opened = {"opened_utc": START.isoformat()}
    run = hall.store.runs.change(closed.id, (RunState.JUDGED,), **opened)
    plain = replay_of(hall.contest, run, START)
    assert "truth" not in plain
    assert "right" not in plain["boxes"]

    shown = with_truth(hall.contest, run, plain)
    found = explain(hall.contest, run, judged)
    truth = shown["truth"]
    assert sum(truth["found"]) == int(np.sum(~found.analysis.found.unfound))
    assert len(truth["found"]) == len(found.ground_truth.image)
    outcome = found.analysis.found.outcome
    assert sum(shown["boxes"]["right"]) == int(np.sum(outcome == TRUE))
    assert 0 < sum(truth["found"]) < len(truth["found"])

    order = hall.store.runs.image_order(run.id)
    for at, frame in enumerate(truth["frame"]):
        image = order[plain["frames"]["image"][frame] - 1]
        left = round(float(found.ground_truth.boxes[at][0]))
        assert (image, left) == (found.ground_truth.image[at], truth["x"][at])


def test_a_run_that_is_not_judged_has_no_truth_to_show(
    build: Callable[..., House],
) -> None:
    hall = build()
    closed = closed_run(hall.contest, guesses(hall.contest, 0.6))
    opened = {"opened_utc": START.isoformat()}
    run = hall.store.runs.change(closed.id, (RunState.CLOSED,), **opened)
    plain = replay_of(hall.contest, run, START)
    assert with_truth(hall.contest, run, plain)["truth"] is None
