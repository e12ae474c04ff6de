"""Stop regret: the score that a closed run could have had by logging out at the best moment, over its actual score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.measurement import START_STOP_S
from lpirc_score import Detections
from lpirc_score.metrics.offered import has_one_threshold, rule_named
from lpirc_score.metrics.one_threshold import maps_over_time
from lpirc_testsets import GroundTruth
from referee.contest import Contest
from referee.judging.run_case import START_S, undo_image_order
from referee.judging.run_checks import is_scorable
from referee.judging.scoring_job import IMAGE
from referee.store.records import RUN_CLOSED, Run

Floats = NDArray[np.float64]

MOST_MOMENTS = 100


@dataclass(frozen=True, eq=False)
class StopRegret:
    """The moments (n,) at which the team could have logged out: after each POST, and the end of the run as the last.

    `score` is `map` / `energy_wh` at each moment. `limit_wh` is the possible error of `energy_wh`, since a meter
    integrates in whole updates: see `_limits_wh`. `least` (n,) is the lowest score consistent with that limit, 0 if the
    energy is not above the limit; at the last moment it is the run's score. `best` is the index of the highest `least`,
    the earliest one in a tie, among the last moment and all moments with the contest's least mAP. `ratio` and
    `least_ratio` are the `score` and the `least` at `best`, divided by the score at the last moment; 1 if that score is
    0.
    """

    elapsed_s: Floats
    map: Floats
    energy_wh: Floats
    limit_wh: Floats
    score: Floats
    least: Floats
    best: int
    ratio: float
    least_ratio: float

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """True for each moment with an energy above its error limit, and for the last, with the run's energy."""
        known = self.energy_wh > self.limit_wh
        known[-1] = True
        return known


def stop_regret(
    contest: Contest,
    run: Run,
    ground_truth: GroundTruth,
) -> StopRegret | None:
    """Return the stop regret of a closed run, by the ground truth of its images.

    Return None if there is no energy above 0, no POST, or no usable energy reading. Also None for a metric without a
    single IoU threshold, such as `coco`: its hundred evaluations would take minutes.
    """
    posts = contest.store.posts.arrivals(run.id)
    if (
        not posts
        or run.elapsed_s is None
        or not is_scorable(run.energy_wh)
        or not has_one_threshold(contest.config.metric)
    ):
        return None
    elapsed_s = _moments([when for when, _ in posts], run.elapsed_s)
    course = _energy_course(contest, run, elapsed_s[-1])
    if course is None:
        return None
    energy_wh = np.interp(elapsed_s, *course)
    edges_s = _start_stop_s(contest, run) + run.setup.update_interval_s
    limit_wh = _limits_wh(course, elapsed_s, energy_wh, edges_s)
    maps = _maps(contest, run, posts, elapsed_s, ground_truth)
    is_above_0 = energy_wh > 0
    elapsed_s = elapsed_s[is_above_0]
    maps = maps[is_above_0]
    energy_wh = energy_wh[is_above_0]
    return _compared(
        elapsed_s,
        maps,
        energy_wh,
        limit_wh[is_above_0],
        contest.config.least_map or 0.0,
    )


def _compared(
    elapsed_s: Floats,
    maps: Floats,
    energy_wh: Floats,
    limit_wh: Floats,
    least_map: float,
) -> StopRegret:
    scores = maps / energy_wh
    least = np.where(energy_wh > limit_wh, maps / (energy_wh + limit_wh), 0.0)
    least[-1] = scores[-1]
    may_stop = maps >= least_map
    may_stop[-1] = True
    best = int(np.argmax(np.where(may_stop, least, -1.0)))
    ratio = 1.0
    least_ratio = 1.0
    if scores[-1] > 0:
        ratio = float(scores[best] / scores[-1])
        least_ratio = float(least[best] / scores[-1])
    return StopRegret(
        elapsed_s,
        maps,
        energy_wh,
        limit_wh,
        scores,
        least,
        best,
        ratio,
        least_ratio,
    )


def _moments(posted_s: list[float], end_s: float) -> Floats:
    """Return the times of the POSTs before the end, at most MOST_MOMENTS of them, and the end."""
    after_post = np.unique([when for when in posted_s if when < end_s])
    if len(after_post) > MOST_MOMENTS:
        after_post = after_post[
            np.linspace(0, len(after_post) - 1, MOST_MOMENTS).astype(np.int64)
        ]
    return np.append(after_post, end_s)


def energies_at(
    contest: Contest,
    run: Run,
    elapsed_s: Floats,
) -> Floats | None:
    """Return the energy (n,) at each moment, interpolated linearly between readings; the last is the final energy.

    Return None without an energy or readings, and if the readings fall, because the meter then started again.
    """
    course = _energy_course(contest, run, elapsed_s[-1])
    if course is None:
        return None
    until: Floats = np.interp(elapsed_s, *course)
    return until


def _limits_wh(
    course: tuple[Floats, Floats],
    elapsed_s: Floats,
    energy_wh: Floats,
    edges_s: float,
) -> Floats:
    """Return the error limit of each energy (n,), without the meter's accuracy, which affects all of them alike.

    It is the energy between the two neighbouring readings, plus the energy of `edges_s` at the mean power: as for a
    whole run in `Energy.start_stop_share`, start, stop and one update of the meter add an error.
    """
    when_s, known_wh = course
    after = np.clip(np.searchsorted(when_s, elapsed_s), 1, len(when_s) - 1)
    between_wh = np.abs(known_wh[after] - known_wh[after - 1])
    share = np.divide(
        edges_s,
        elapsed_s,
        out=np.full(len(elapsed_s), np.inf),
        where=elapsed_s > 0,
    )
    limits: Floats = between_wh + share * energy_wh
    return limits


def _start_stop_s(contest: Contest, run: Run) -> float:
    """Return the longest duration of the meter's start and stop, as measured when the run closed, else as assumed."""
    for event in contest.store.log.of_run(run.id):
        if event["kind"] == RUN_CLOSED and event.get("start_stop_s") is not None:
            return float(event["start_stop_s"])
    return START_STOP_S


def _energy_course(
    contest: Contest,
    run: Run,
    end_s: float,
) -> tuple[Floats, Floats] | None:
    """Return times (m,) and the energies (m,) known at them: 0 at 0, the readings, and the final energy at the end.

    Return None without an energy or readings, and if the readings fall.
    """
    if run.energy_wh is None:
        return None
    readings = [
        (each.monotonic_s, each.energy_wh)
        for each in contest.store.readings.of_run(run.id, START_S)
    ]
    known = [
        (when, energy)
        for when, energy in readings
        if when < end_s and math.isfinite(energy)
    ]
    when_s, energy_wh = np.array([(0.0, 0.0), *known, (end_s, run.energy_wh)]).T
    if not known or (np.diff(energy_wh[:-1]) < 0).any():
        return None
    return when_s, energy_wh


def _maps(
    contest: Contest,
    run: Run,
    posts: list[tuple[float, int]],
    elapsed_s: Floats,
    truth: GroundTruth,
) -> Floats:
    """Return the mAP (n,) at each moment, from the rows received and the images served by then."""
    order = contest.store.runs.image_order(run.id)
    rows = undo_image_order(contest.store.posts.detections(run.id), order)
    since_s = np.repeat([when for when, _ in posts], [count for _, count in posts])
    if not contest.config.count_unserved:
        served_s = np.full(len(contest.test_set.images) + 1, np.inf)
        for image, when in reversed(contest.store.served.in_order(run.id)):
            served_s[order[image - 1]] = when
        since_s = np.maximum(since_s, served_s[rows[:, IMAGE].astype(np.int64)])
    moment = np.minimum(np.searchsorted(elapsed_s, since_s), len(elapsed_s) - 1)
    # Sorted by image, as in `scored_detections` for a metric that breaks ties by order of arrival.
    by_image = np.argsort(rows[:, IMAGE], kind="stable")
    by_image = by_image[since_s[by_image] < np.inf]
    found = Detections.from_rows(rows[by_image])
    rule = rule_named(contest.config.metric)
    return maps_over_time(truth, found, moment[by_image], len(elapsed_s), rule)
