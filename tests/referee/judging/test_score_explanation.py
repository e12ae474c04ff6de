"""Why a run got its score: what each type of error cost, in mAP and in score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from lpirc_score import CocoCurve, Curve
from lpirc_score.analysis.error_types import ErrorType
from lpirc_testsets import read_ground_truth
from referee.clock import Clock
from referee.errors import RefereeError
from referee.judging.judge import Again, judge
from referee.judging.score_explanation import Explanation, explain
from referee.store.records import Run, RunState, Score
from tests.referee.factories import START, House, stored_run


def judged(hall: House, energy_wh: float | None = 0.5) -> tuple[Run, Score]:
    """A run that has sent half of the objects, and one detection far from all of them."""
    store = hall.store
    test_set = hall.contest.test_set
    run = stored_run(store, testset_digest=test_set.digest)
    truth = read_ground_truth(test_set.folder)
    sent = np.column_stack(
        [truth.image, truth.category, np.full(len(truth.image), 0.5), truth.boxes]
    )[::2]
    sent = np.vstack([[1, 1, 0.9, 0, 0, 1, 1], sent])
    store.served.append(run.id, [(image, 10) for image in range(1, 6)], 1.0)
    now = START + timedelta(seconds=2)
    store.posts.append(
        run.id,
        sent,
        sha256="",
        idempotency_key=None,
        elapsed_s=2.0,
        now=now,
    )
    over = {
        "state": RunState.CLOSED.value,
        "elapsed_s": 3.0,
        "energy_wh": energy_wh,
    }
    store.runs.change(run.id, (RunState.ARMED,), **over)
    score = judge(hall.contest, run.id, Clock())
    return store.runs.get(run.id), score


def explained(hall: House, energy_wh: float | None = 0.5) -> Explanation:
    return explain(hall.contest, *judged(hall, energy_wh))


@pytest.mark.parametrize(("metric", "curve"), [("lpirc", Curve), ("coco", CocoCurve)])
def test_errors_cost_map_and_score(
    build: Callable[..., House],
    metric: str,
    curve: type,
) -> None:
    found = explained(build(metric=metric))
    costs = {one.type: one for one in found.costs}
    assert [*costs] == [*ErrorType]
    assert costs[ErrorType.MISSED].map > 0
    if metric == "coco":  # its errors are those of one threshold, which make no score
        assert {one.score for one in found.costs} == {None}
        assert found.regret is None
    else:
        assert all(one.score == one.map / 0.5 for one in found.costs)
    assert all(isinstance(one, curve) for one in found.curves.values())
    assert 1 in {one.image for one in found.worst}


def test_without_energy_errors_cost_map_only(build: Callable[..., House]) -> None:
    found = explained(build(), energy_wh=None)
    assert {one.score for one in found.costs} == {None}
    assert found.regret is None


def test_a_judgement_by_another_metric_or_ground_truth_is_not_explained(
    build: Callable[..., House],
) -> None:
    hall = build()
    run, score = judged(hall)
    for signature in (
        score.signature.replace("lpirc", "voc-11"),
        score.signature.replace("gt:", "gt:0"),
    ):
        with pytest.raises(
            RefereeError,
            match="so the run's errors are not shown",
        ) as refused:
            explain(hall.contest, run, replace(score, signature=signature))
        assert refused.value.code == "judged-otherwise"


def test_a_run_judged_again_by_a_corrected_ground_truth_is_explained_by_it(
    build: Callable[..., House],
) -> None:
    hall = build()
    run, _ = judged(hall)
    # As it was armed.
    run = hall.store.runs.change(
        run.id,
        (RunState.JUDGED,),
        testset_digest="e" * 64,
    )
    images = hall.contest.test_set.images_digest
    run = hall.store.runs.change(run.id, (RunState.JUDGED,), images_digest=images)
    score = judge(hall.contest, run.id, Clock(), again=Again("ann"))
    assert explain(hall.contest, run, score).analysis.map == score.map
