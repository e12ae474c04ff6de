"""A run's case: all inputs of its judgement as values, and the judgement itself.

Pure: the judge reads a case from the store, the verification of a bundle reads it from the bundle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy import budget_of
from lpirc_power.meter import Limits, Reading
from lpirc_score import signature_of
from lpirc_score.detections.plausibility import limits_by_number
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import TASK_RULES_VERSION, task_signature
from lpirc_score.tasks.task_bodies import question_of
from lpirc_score.tasks.task_kinds import Truth
from lpirc_score.tasks.words import words_of
from lpirc_testsets import GroundTruth, TestSet
from referee.contest_rules import DEFAULT, ContestRule, Facts
from referee.errors import RefereeError
from referee.judging.bound_rules import RULE, rule_of
from referee.judging.rule_checks import rule_checks
from referee.judging.run_checks import (
    MeasuredRun,
    event_checks,
    images_not_fetched,
    implausible_boxes,
    is_scorable,
    lacks_truth,
    measured_run,
    rows_refused,
    truth_checks,
)
from referee.judging.scoring_job import (
    CONTEST,
    IMAGE,
    WITH_UNSERVED,
    Scored,
    ScoringInput,
    served_rows,
)
from referee.judging.task_scoring import TaskInput
from referee.store.records import ENERGY_MISSING, RUN_CLOSED, Run, Score
from referee.store.run_rules import Rules

START_S = 0.0  # readings of a closed run are timed from its start


@dataclass(frozen=True, eq=False)
class Case:
    """A closed run with its records, and the rules by which it is to be judged.

    `rows` (n, 7) are in order of arrival. `rows` and `served` have the image numbers that the team knows; `order`
    (images,) gives for each the number in the test set. `ground_truth` is that of the whole test set. `refused` is the
    number of rows that were not accepted; `refused_rows` has the first of them. `events` are the run's events, oldest
    first; `limits` are the error limits of its meter. `is_before_budgets` asks for the checks of earlier versions, for
    the judgement that such a version has made.

    In a `task` other than boxes there are `truth` and `bodies`, each with its content type, instead of ground truth and
    rows.
    """

    run: Run
    metric: str
    count_unserved: bool
    test_set: TestSet
    ground_truth: GroundTruth | None
    order: NDArray[np.int64]
    rows: NDArray[np.float64]
    served: Sequence[int]
    readings: Sequence[Reading]
    events: Sequence[Mapping[str, Any]]
    refused: int
    refused_rows: Sequence[Mapping[str, Any]]
    limits: Limits | None
    task: str = BOXES
    truth: Truth | None = None
    bodies: Sequence[tuple[bytes, str]] = ()
    is_before_budgets: bool = False

    @property
    def boxes(self) -> GroundTruth:
        """The ground truth of boxes. Raises RefereeError `other-task`."""
        if self.ground_truth is None:
            sentence = (
                f"Run {self.run.id} answers the task {self.task}: it has no boxes."
            )
            raise RefereeError("other-task", sentence, run=self.run.id)
        return self.ground_truth


def judgement_of(
    case: Case,
    judged_utc: str,
    found: Scored | None = None,
) -> Score:
    """Return the judgement of a case, without an interval.

    If the scoring is given as `found`, `rows` may be empty, unless the run's rule `needs_images`. Raises RefereeError
    `rule-unknown`.
    """
    run = case.run
    found = found or scoring_input(case).scored()
    reached = None if lacks_truth(case.ground_truth) else found.map_of(CONTEST)
    fetched = images_not_fetched(
        found.unserved_rows,
        found.unserved_images,
        None if reached is None else found.map_of(WITH_UNSERVED),
        count=case.count_unserved,
        words=words_of(case.task),
    )
    noted = {
        event["kind"]: event for event in case.events
    }  # written when it was closed; the last event of a kind counts
    measured = _measured(case, noted)
    energy = measured.energy
    of_run = (
        *rows_refused(case.refused, case.refused_rows),
        *measured.checks,
        *event_checks(noted),
    )
    is_boxes = case.task == BOXES
    signature = (
        signature_of(case.metric, case.test_set.digest)
        if is_boxes
        else task_signature(case.task, case.test_set.digest)
    )
    of_answers = [fetched]
    map_ilsvrc_det = None
    if is_boxes:
        of_answers.append(implausible_boxes(found.implausible))
        map_ilsvrc_det = None if reached is None else found.map_of(PUBLISHED)
    rule = rule_of(run)
    limit = None if energy is None else energy.limit
    facts = _facts(case, rule, reached, limit)
    outcome = rule.outcome(facts)
    of_rule = rule_checks(run, rule, facts, outcome, case.readings)
    return Score(
        run=run.id,
        judged_utc=judged_utc,
        map=reached,
        energy_wh=run.energy_wh,
        score=outcome.value,
        mean_power_w=measured.mean_power_w,
        images=run.images,
        detections=found.detections,
        ap=dict(found.aps[CONTEST]),
        signature="|".join(
            [signature, *_signed(rule), _images(case), *_measured_by(run)]
        ),
        checks=(*truth_checks(case.ground_truth), *of_run, *of_answers, *of_rule),
        map_ilsvrc_det=map_ilsvrc_det,
        energy_limit=limit,
        energy_known_by=None if energy is None else energy.known_by,
        rules=rules_of_judgement(case),
        energy_own_limit=None if energy is None else energy.own_limit,
        others=dict(found.others) or None,
        energy_budget=None if energy is None else budget_of(energy).document(),
    )


def _facts(
    case: Case, rule: ContestRule, accuracy: float | None, energy_limit: float | None
) -> Facts:
    """Return the figures that the rule of a run may use; the answered images only if it needs them."""
    run = case.run
    images = _answered(case) if rule.needs_images else None
    return Facts(
        accuracy=accuracy,
        energy_wh=run.energy_wh if is_scorable(run.energy_wh) else None,
        duration_s=run.elapsed_s,
        idle_power_w=run.idle_power_w,
        images=images,
        energy_limit=energy_limit,
        images_of_run=run.images,
    )


def _answered(case: Case) -> int:
    """Return how many images have an answer, or a row, that counts."""
    given = scoring_input(case)
    if isinstance(given, TaskInput):
        images = {one.image for one in given.each()}
        return sum(given.counts(one) for one in images)
    return len(np.unique(served_rows(given)[0][:, IMAGE]))


def _signed(rule: ContestRule) -> list[str]:
    """Return the part of the signature for the rule; the default rule has none, as in earlier versions."""
    return [] if rule == DEFAULT else [f"{RULE}:{rule.signed}"]


def rules_of_judgement(case: Case) -> Rules | None:
    """Return the rules for judging a case: the run's rules with a corrected ground truth, if any.

    None if none are recorded.
    """
    if case.run.rules is None:
        return None
    return replace(
        case.run.rules,
        metric=case.metric,
        metric_version=RULES_VERSION if case.task == BOXES else TASK_RULES_VERSION,
        count_unserved=case.count_unserved,
        testset_digest=case.test_set.digest,
    )


def scoring_input(case: Case) -> ScoringInput | TaskInput:
    """Return the input for scoring a case."""
    if case.truth is None:
        return boxes_input(case)
    return TaskInput(
        task=case.task,
        count_unserved=case.count_unserved,
        truth=case.truth,
        truth_digest=case.test_set.ground_truth_sha256,
        bodies=case.bodies,
        question=question_of(case.test_set, case.order),
        order=case.order,
        served=were_served(case.order, case.served, len(case.test_set.images)),
    )


def boxes_input(case: Case) -> ScoringInput:
    """Return the input for scoring a case of boxes."""
    return ScoringInput(
        metric=case.metric,
        count_unserved=case.count_unserved,
        ground_truth=restricted_to(case.boxes, case.order),
        rows=undo_image_order(case.rows.copy(), case.order),
        served=were_served(case.order, case.served, len(case.test_set.images)),
        limits=limits_by_number(case.test_set),
    )


def counted_of(case: Case) -> tuple[GroundTruth, NDArray[np.float64]]:
    """Return the input of a score and its interval: the ground truth of the run's images, and the counted rows (n, 7).

    The rows are in order of arrival, with the test set's image numbers. They are the rows for images that the run was
    served, or all rows with `count_unserved`.
    """
    given = boxes_input(case)
    return given.ground_truth, served_rows(given)[0]


def were_served(
    order: NDArray[np.int64],
    served: Sequence[int],
    images: int,
) -> NDArray[np.bool_]:
    """Return whether each of a test set's images 1..`images` was served: shape (images + 1,), by image number."""
    are_served = np.zeros(images + 1, np.bool_)
    are_served[order[np.array(served, np.int64) - 1]] = True
    return are_served


def restricted_to(ground_truth: GroundTruth, images: NDArray[np.int64]) -> GroundTruth:
    """Return the part of a ground truth that belongs to these images."""
    kept = np.isin(ground_truth.image_ids, images)
    return replace(
        ground_truth.of_objects(np.isin(ground_truth.image, images)),
        image_ids=ground_truth.image_ids[kept],
        image_names=tuple(compress(ground_truth.image_names, kept)),
    )


def undo_image_order(
    rows: NDArray[np.float64],
    order: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Replace, in place, the image numbers that the team knows by those of the test set, in rows (n, 7)."""
    rows[:, IMAGE] = order[rows[:, IMAGE].astype(np.int64) - 1]
    return rows


def _measured(case: Case, noted: Mapping[str, Mapping[str, Any]]) -> MeasuredRun:
    return measured_run(
        case.run,
        case.readings,
        START_S,
        limits=case.limits,
        missing=noted.get(ENERGY_MISSING, {}).get("reason"),
        start_stop_s=noted.get(RUN_CLOSED, {}).get("start_stop_s"),
        late_s=noted.get(RUN_CLOSED, {}).get("late_s", 0.0),
        is_before_budgets=case.is_before_budgets,
    )


def _setting(value: object) -> str:
    return "auto" if value is None else str(value).lower()


def _measured_by(run: Run) -> list[str]:
    """Return the parts of the signature about the window and the meter. Settings are named as in contest.toml."""
    settings = asdict(run.setup)
    del settings["integrator_timer_s"]  # follows from the window
    del settings["ambient_change_c"]  # no score depends on it
    shown = [f"{key}:{_setting(value)}" for key, value in settings.items()]
    # The identity comes last, as the meter chooses its text and the first of two parts with one name counts.
    extra = [f"extra:{run.extra_s:g}s"] if run.extra_s else []
    return [
        f"window:{run.contest_window_s:g}s",
        *extra,
        *shown,
        f"meter:{run.meter_identity}",
    ]


def _images(case: Case) -> str:
    """Return the part of the signature for the scored images: how many, which ones, and whether all rows count."""
    drawn = np.sort(case.order)
    pool = len(case.test_set.images)
    digest = hashlib.sha256(drawn.astype("<i8").tobytes()).hexdigest()
    images = "all" if len(drawn) == pool else f"{len(drawn)}-of-{pool}:{digest[:12]}"
    return (
        f"images:{images}|counts:{counted_images(count_unserved=case.count_unserved)}"
    )


def counted_images(*, count_unserved: bool) -> str:
    """Return which images' detections are scored, as a judgement's signature words it."""
    return "unserved-too" if count_unserved else "served"
