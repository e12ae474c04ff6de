"""From stored rows to a stored score: reads the run, undoes its image order, scores, checks, records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from power.energy import Check
from referee.clock import Clock
from referee.contest import Contest, require_same_images, require_same_test_set
from referee.detections.plausibility import implausible, limits_by_number
from referee.errors import RefereeError
from referee.judging.checks import (
    event_checks,
    images_not_fetched,
    implausible_boxes,
    is_of_the_window,
    is_scorable,
    rows_refused,
    run_checks,
)
from referee.scoring import Detections, Evaluation, evaluate, lists_ties_by_image, score
from referee.scoring.rules import PUBLISHED
from referee.store import Store
from referee.store.records import ENERGY_MISSING, RUN_CLOSED, Run, RunState, Score
from testsets import GroundTruth, read_ground_truth

IMAGE = 0
START_S = 0.0  # readings of a closed run are timed from its start


def judge(contest: Contest, number: int, clock: Clock, *, corrected: bool = False) -> Score:
    """Judge a closed run, or judge it again; the new score is appended and replaces the earlier one in every result.

    `corrected` also takes a test set with the run's images and another ground truth than it was armed with; the event
    then names both. Raises RefereeError `run-unknown`, `run-state` (not closed yet, or void), `testset-changed`;
    TestSetError.
    """
    require = require_same_images if corrected else require_same_test_set
    while True:
        run = contest.store.run(number)
        require(contest, run)
        judged = judgement(contest, run, clock)
        contest.store.add_score(judged)
        states = (RunState.CLOSED, RunState.JUDGED)
        # If the energy was read meanwhile, the run is judged again.
        if contest.store.change_run(run.id, states, state=RunState.JUDGED.value).energy_wh == run.energy_wh:
            break
    digest, armed_with = contest.test_set.digest, run.testset_digest
    sets = {} if digest == armed_with else {"testset_digest": digest, "armed_with": armed_with}
    figures = {"map": judged.map, "energy_wh": judged.energy_wh, "score": judged.score}
    contest.store.log_event(clock.utc(), run.id, "judged", **figures, signature=judged.signature, **sets)
    return judged


def judgement(contest: Contest, run: Run, clock: Clock) -> Score:
    """What the judge says of a closed run by the contest's metric and ground truth, which is of the run's images.

    Nothing is stored. Raises RefereeError `run-state`; TestSetError.
    """
    if run.state not in (RunState.CLOSED, RunState.JUDGED):
        raise RefereeError(
            "run-state", f"Run {run.id} is {run.state}; only a closed run can be judged.", run=run.id
        )
    ground_truth, rows, unserved = counted(contest, run)
    evaluation = with_them = published = evaluate_rows(contest, ground_truth, rows)
    if contest.config.metric != PUBLISHED:
        published = evaluate(ground_truth, Detections.from_rows(rows), PUBLISHED)
    if len(unserved) and not contest.config.count_unserved:
        with_them = evaluate_rows(contest, ground_truth, np.concatenate([rows, unserved]))
    fetched = images_not_fetched(unserved[:, IMAGE], with_them.map, count=contest.config.count_unserved)
    plausibility = implausible_boxes(implausible(rows, limits_by_number(contest.test_set)))
    checks = (*_checks(contest, run), fetched, plausibility)
    return Score(
        run=run.id,
        judged_utc=clock.utc().isoformat(),
        map=evaluation.map,
        energy_wh=run.energy_wh,
        score=score(evaluation.map, run.energy_wh) if is_scorable(run.energy_wh) else None,
        mean_power_w=_mean_power_w(run, checks),
        images=run.images,
        detections=evaluation.detections,
        ap=evaluation.ap,
        signature="|".join([evaluation.signature, _images(contest, run), *_measured_by(run)]),
        checks=checks,
        map_ilsvrc_det=published.map,
    )


def counted(contest: Contest, run: Run) -> tuple[GroundTruth, NDArray[np.float64], NDArray[np.float64]]:
    """What a run's score and its interval are made of: the ground truth of its images, and the rows (n, 7) that count.

    These are, in order of arrival, those of images that it was served, or all by `count_unserved`. The last array
    holds the rows (m, 7) of images that it was not served.
    """
    order, rows = contest.store.image_order(run.id), testset_rows(contest.store, run.id)
    is_served = served_images(contest, run)[rows[:, IMAGE].astype(np.int64)]
    unserved = rows[~is_served]
    if len(unserved) and not contest.config.count_unserved:
        rows = rows[is_served]
    return restricted_to(read_ground_truth(contest.test_set.folder), order), rows, unserved


def served_images(contest: Contest, run: Run) -> NDArray[np.bool_]:
    """Which images the run was served, by their numbers 1..N in the test set: shape (N + 1,)."""
    served, order = np.zeros(len(contest.test_set.images) + 1, np.bool_), contest.store.image_order(run.id)
    served[order[np.array(contest.store.served_images(run.id), np.int64) - 1]] = True
    return served


def evaluate_rows(contest: Contest, ground_truth: GroundTruth, rows: NDArray[np.float64]) -> Evaluation:
    """Evaluate rows (n, 7) in order of arrival, with the test set's own image numbers, by the contest's metric."""
    metric = contest.config.metric
    detections = scored_detections(rows, metric)
    return evaluate(ground_truth, detections, metric, ground_truth_digest=contest.test_set.digest)


def scored_detections(rows: NDArray[np.float64], metric: str) -> Detections:
    """The detections of a run as its metric scores them, from rows (n, 7) in order of arrival.

    A metric that lists equal confidences in order of arrival gets them image by image: the network has no say.
    """
    if not lists_ties_by_image(metric):
        rows = rows[np.argsort(rows[:, IMAGE], kind="stable")]
    return Detections.from_rows(rows)


def testset_rows(store: Store, run: int) -> NDArray[np.float64]:
    """The run's detections in order of arrival, shape (n, 7), with the test set's own image numbers."""
    return undo_image_order(store.detections(run), store.image_order(run))


def restricted_to(ground_truth: GroundTruth, images: NDArray[np.int64]) -> GroundTruth:
    """The part of a ground truth that is about these images."""
    kept = np.isin(ground_truth.image_ids, images)
    return replace(
        ground_truth.of_objects(np.isin(ground_truth.image, images)),
        image_ids=ground_truth.image_ids[kept],
        image_names=tuple(compress(ground_truth.image_names, kept)),
    )


def undo_image_order(rows: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give rows (n, 7), in place, the test set's image numbers instead of those that the team knows."""
    rows[:, IMAGE] = order[rows[:, IMAGE].astype(np.int64) - 1]
    return rows


def _checks(contest: Contest, run: Run) -> tuple[Check, ...]:
    """The run's checks, with the events noted when it was closed; the last event of a kind counts."""
    noted = {event["kind"]: event for event in contest.store.events(run.id)}
    refused = rows_refused(contest.store.count_refused(run.id), contest.store.refused_rows(run.id))
    of_energy = run_checks(
        run,
        contest.store.readings(run.id, START_S),
        START_S,
        missing=noted.get(ENERGY_MISSING, {}).get("reason"),
        start_stop_s=noted.get(RUN_CLOSED, {}).get("start_stop_s"),
    )
    return (*refused, *of_energy, *event_checks(noted))


def _measured_by(run: Run) -> list[str]:
    """The parts of the signature that tell window and meter, its settings by their keys in contest.toml."""
    settings = asdict(run.setup)
    del settings["integrator_timer_s"]  # follows from the window
    shown = (f"{key}:{'auto' if value is None else str(value).lower()}" for key, value in settings.items())
    # The identity is last: it is text of the meter's, and the first of two parts with one name counts.
    extra = [f"extra:{run.extra_s:g}s"] if run.extra_s else []
    return [f"window:{run.contest_window_s:g}s", *extra, *shown, f"meter:{run.meter_identity}"]


def _images(contest: Contest, run: Run) -> str:
    """The part of the signature for the images that the score is of: how many, which, and if all of them count."""
    drawn, pool = np.sort(contest.store.image_order(run.id)), len(contest.test_set.images)
    digest = hashlib.sha256(drawn.astype("<i8").tobytes()).hexdigest()
    images = "all" if len(drawn) == pool else f"{len(drawn)}-of-{pool}:{digest[:12]}"
    return f"images:{images}|counts:{'unserved-too' if contest.config.count_unserved else 'served'}"


def _mean_power_w(run: Run, checks: Sequence[Check]) -> float | None:
    """The mean power of the energy of record, as the check of its accuracy takes it: WH over TIME."""
    if not (is_scorable(run.energy_wh) and is_of_the_window(checks)):
        return None
    return next((check.figures["mean_power_w"] for check in checks if check.code == "accuracy"), None)
