"""Explanation of a judged run's score: curves and errors by category, the cost of each error type, worst images."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_score import (
    COCO,
    CocoCurve,
    Curve,
    Detections,
    coco_curves,
    precision_recall_curves,
    score,
)
from lpirc_score.analysis.error_types import (
    ErrorAnalysis,
    ErrorType,
    ImageErrors,
    analyse_errors,
    worst_images,
)
from lpirc_score.metrics.evaluation_result import DIGEST_LENGTH, signature_parts
from lpirc_score.metrics.offered import has_one_threshold, rule_shown
from lpirc_score.tasks import BOXES
from lpirc_testsets import GroundTruth
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.errors import RefereeError
from referee.judging.bound_rules import as_judged, rule_of
from referee.judging.judge import case_of
from referee.judging.run_case import counted_of
from referee.judging.run_checks import is_scorable
from referee.judging.scoring_job import scored_detections
from referee.judging.stop_regret import StopRegret, stop_regret
from referee.store.records import Run, Score


@dataclass(frozen=True)
class Cost:
    """The number of errors of a type, and the mAP and score that they cost.

    `score` is None if the run has no energy, if its score is not accuracy over energy,
    and for a metric without a single IoU threshold, such as `coco`.
    """

    type: ErrorType
    count: int
    map: float
    score: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """The explanation of a judgement. Images have the test set's own numbers; curves and losses are by category id."""

    ground_truth: GroundTruth
    detections: Detections
    analysis: ErrorAnalysis
    costs: tuple[Cost, ...]
    curves: dict[int, Curve] | dict[int, CocoCurve]
    worst: tuple[ImageErrors, ...]
    regret: StopRegret | None


def explain(
    contest: Contest,
    run: Run,
    judged: Score,
) -> Explanation:
    """Explain a judgement made by the contest's present metric and ground truth.

    Raises RefereeError `judged-otherwise` (another metric or ground truth was used); TestSetError.
    """
    _require_boxes(run)
    contest = judged_contest(contest, run, judged)
    metric = contest.config.metric
    ground_truth, rows = counted_of(case_of(contest, run))
    detections = scored_detections(rows, metric)
    analysis = analyse_errors(ground_truth, detections, metric)
    is_quotient = has_one_threshold(metric) and rule_of(run) == DEFAULT
    energy_wh = judged.energy_wh if is_quotient else None
    costs = [_cost(type_, analysis, energy_wh) for type_ in ErrorType]
    return Explanation(
        ground_truth,
        detections,
        analysis,
        tuple(costs),
        _curves(ground_truth, detections, metric),
        worst_images(ground_truth, detections, analysis),
        stop_regret(contest, run, ground_truth),
    )


def _require_boxes(run: Run) -> None:
    if run.task != BOXES:
        raise RefereeError(
            "other-task",
            f"Run {run.id} answers the task {run.task}: costs of errors, curves and the best stop are for boxes.",
        )


def judged_contest(contest: Contest, run: Run, judged: Score) -> Contest:
    """Return the contest with the rules of a judgement, if that still has the contest's metric and ground truth.

    Raises RefereeError `judged-otherwise`.
    """
    contest = as_judged(
        contest,
        run,
        None if judged.rules is None else judged.rules.metric,
    )
    metric = contest.config.scored_by
    parts = signature_parts(judged.signature)
    # The ground truth may have been corrected since the run was armed.
    was = parts["metric"], parts.get("gt", run.testset_digest[:DIGEST_LENGTH])
    now = metric, contest.test_set.digest[:DIGEST_LENGTH]
    if was != now:
        raise RefereeError(
            "judged-otherwise",
            f"Run {run.id} was judged by the metric {was[0]} on test set {was[1]}, but the contest now has the metric "
            f"{now[0]} and test set {now[1]}, so the run's errors are not shown; see: referee rejudge --help",
        )
    return contest


def regret_of(contest: Contest, run: Run, judged: Score) -> StopRegret | None:
    """Return the stop regret of a judged run alone. Raises the errors of `explain`."""
    _require_boxes(run)
    contest = judged_contest(contest, run, judged)
    ground_truth, _ = counted_of(case_of(contest, run))
    return stop_regret(contest, run, ground_truth)


def _cost(
    type_: ErrorType,
    analysis: ErrorAnalysis,
    energy_wh: float | None,
) -> Cost:
    gain = analysis.gains[type_] or 0.0
    of_score = score(gain, energy_wh) if is_scorable(energy_wh) else None
    return Cost(type_, analysis.counts[type_], gain, of_score)


def _curves(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
) -> dict[int, Curve] | dict[int, CocoCurve]:
    if metric == COCO:
        return coco_curves(ground_truth, detections)
    shown = rule_shown(metric).name
    return precision_recall_curves(ground_truth, detections, shown)
