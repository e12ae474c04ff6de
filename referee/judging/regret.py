"""Stop regret: the score of a closed run had its team logged out at the best moment, over the score that it got."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import GroundTruth
from referee.contest import Contest
from referee.judging.case import START_S, undo_image_order
from referee.judging.checks import is_scorable
from referee.judging.scoring_job import IMAGE
from referee.scoring import COCO, Detections
from referee.scoring.evaluation import maps_over_time
from referee.store.records import Run

Floats = NDArray[np.float64]

MOST_MOMENTS = 100


@dataclass(frozen=True, eq=False)
class StopRegret:
    """Moments (n,) at which the team could have logged out, each after a POST, and last the end of the run.

    `score` is `map` / `energy_wh` of each. `best` is the place of the best one, the earliest of equals, among those
    with the contest's least mAP and the last; `ratio` is its score over the last one, 1 where both are 0.
    """

    elapsed_s: Floats
    map: Floats
    energy_wh: Floats
    score: Floats
    best: int
    ratio: float


def stop_regret(contest: Contest, run: Run, ground_truth: GroundTruth) -> StopRegret | None:
    """The stop regret of a closed run, by the ground truth of its images.

    None without an energy above 0, posts, or readings that tell the energy, and for the metric `coco`: its hundred
    evaluations would take minutes.
    """
    posts = contest.store.post_log(run.id)
    if not posts or run.elapsed_s is None or not is_scorable(run.energy_wh) or contest.config.metric == COCO:
        return None
    elapsed_s = _moments([when for when, _ in posts], run.elapsed_s)
    energy_wh = energies_at(contest, run, elapsed_s)
    if energy_wh is None:
        return None
    maps = _maps(contest, run, posts, elapsed_s, ground_truth)
    is_known = energy_wh > 0
    elapsed_s, maps, energy_wh = elapsed_s[is_known], maps[is_known], energy_wh[is_known]
    scores = maps / energy_wh
    may_stop = maps >= (contest.config.least_map or 0.0)
    may_stop[-1] = True
    best = int(np.argmax(np.where(may_stop, scores, -1.0)))
    ratio = float(scores[best] / scores[-1]) if scores[-1] > 0 else 1.0
    return StopRegret(elapsed_s, maps, energy_wh, scores, best, ratio)


def _moments(posted_s: list[float], end_s: float) -> Floats:
    """The moments of the POSTs before the end, at most MOST_MOMENTS, and the end."""
    after_post = np.unique([when for when in posted_s if when < end_s])
    if len(after_post) > MOST_MOMENTS:
        after_post = after_post[np.linspace(0, len(after_post) - 1, MOST_MOMENTS).astype(np.int64)]
    return np.append(after_post, end_s)


def energies_at(contest: Contest, run: Run, elapsed_s: Floats) -> Floats | None:
    """The energy (n,) at each moment, linear between readings; that of record at the last.

    None without an energy or readings, and where they fall: the meter began again.
    """
    if run.energy_wh is None:
        return None
    end_s = elapsed_s[-1]
    readings = [(each.monotonic_s, each.energy_wh) for each in contest.store.readings(run.id, START_S)]
    known = [(when, energy) for when, energy in readings if when < end_s and math.isfinite(energy)]
    when_s, energy_wh = np.array([(0.0, 0.0), *known, (end_s, run.energy_wh)]).T
    if not known or (np.diff(energy_wh[:-1]) < 0).any():
        return None
    until: Floats = np.interp(elapsed_s, when_s, energy_wh)
    return until


def _maps(
    contest: Contest, run: Run, posts: list[tuple[float, int]], elapsed_s: Floats, truth: GroundTruth
) -> Floats:
    """The mAP (n,) at each moment, of the rows that had come by then, of images that had been served by then."""
    order = contest.store.image_order(run.id)
    rows = undo_image_order(contest.store.detections(run.id), order)
    since_s = np.repeat([when for when, _ in posts], [count for _, count in posts])
    if not contest.config.count_unserved:
        served_s = np.full(len(contest.test_set.images) + 1, np.inf)
        for image, when in reversed(contest.store.served_log(run.id)):
            served_s[order[image - 1]] = when
        since_s = np.maximum(since_s, served_s[rows[:, IMAGE].astype(np.int64)])
    moment = np.minimum(np.searchsorted(elapsed_s, since_s), len(elapsed_s) - 1)
    # Image by image, as the judge has them where a metric lists equal confidences in order of arrival.
    by_image = np.argsort(rows[:, IMAGE], kind="stable")
    by_image = by_image[since_s[by_image] < np.inf]
    found = Detections.from_rows(rows[by_image])
    return maps_over_time(truth, found, moment[by_image], len(elapsed_s), contest.config.metric)
