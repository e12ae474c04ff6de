"""Stop regret: the score that a closed run could have had by logging out at the best moment, over its actual score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Detections
from lpirc_score.analysis.image_orders import maps_in_other_orders
from lpirc_score.metrics.offered import has_one_threshold, rule_named
from lpirc_score.metrics.one_threshold import maps_over_time
from lpirc_testsets import GroundTruth
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import rule_of
from referee.judging.energy_course import energy_course, energy_limits_wh
from referee.judging.run_case import undo_image_order
from referee.judging.run_checks import is_scorable
from referee.judging.run_course import first_served, posted_after
from referee.judging.scoring_job import IMAGE
from referee.judging.stop_band import StopBand, stop_band
from referee.store.records import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_MOMENTS = 40
LEAST_IMAGES = 20
"""Number of answered images below which nothing is said of moments at which rows were still to come."""


@dataclass(frozen=True, eq=False)
class StopRegret:
    """The moments (n,) at which the team could have logged out: after each POST, and the end of the run as the last.

    `score` is `map` / `energy_wh` at each moment. `limit_wh` is the possible error of `energy_wh`, since a meter
    integrates in whole updates. `is_known` (n,) marks the moments with an energy above that limit, and with enough
    images; the last is always known. `band` has the smoothed ratio of the score of a log-out to the score of the run.

    `best` is the moment with the highest lower end of the band, among those with the contest's least mAP, if that end
    is above 1; else it is the last moment. `ratio` and `least_ratio` are the smoothed ratio there and its lower end.
    """

    elapsed_s: Floats
    map: Floats
    energy_wh: Floats
    limit_wh: Floats
    score: Floats
    is_known: Bools
    band: StopBand
    best: int

    @property
    def is_earlier(self) -> bool:
        """True if an earlier log-out is sure to have scored more."""
        return self.best != len(self.elapsed_s) - 1

    @property
    def ratio(self) -> float:
        """The smoothed ratio at the best moment; 1 at the end."""
        return float(self.band.ratio[self.best])

    @property
    def least_ratio(self) -> float:
        """The lower end of the band at the best moment; 1 at the end."""
        return float(self.band.low[self.best])

    @property
    def as_good_s(self) -> tuple[float, float]:
        """The first and the last moment that may be the best: their band reaches the lower end at `best`."""
        reaches = self.band.high >= self.least_ratio
        may_be = self.elapsed_s[reaches]
        return float(may_be[0]), float(may_be[-1])


def stop_regret(
    contest: Contest,
    run: Run,
    ground_truth: GroundTruth,
) -> StopRegret | None:
    """Return the stop regret of a closed run, by the ground truth of its images.

    Return None if there is no energy above 0, no POST, or no usable energy reading, and for a run that is ranked by
    another rule than accuracy over energy. Also None for a metric without a
    single IoU threshold, such as `coco`: its hundred evaluations would take minutes.
    """
    posts = contest.store.posts.arrivals(run.id)
    if (
        rule_of(run) != DEFAULT
        or not posts
        or run.elapsed_s is None
        or not is_scorable(run.energy_wh)
        or not has_one_threshold(contest.config.metric)
    ):
        return None
    elapsed_s = _moments([when for when, _ in posts], run.elapsed_s)
    course = energy_course(contest, run, elapsed_s[-1])
    if course is None:
        return None
    energy_wh = np.interp(elapsed_s, *course)
    limit_wh = energy_limits_wh(contest, run, course, elapsed_s)
    is_above_0 = energy_wh > 0
    elapsed_s = elapsed_s[is_above_0]
    sent = _sent(contest, run, posts, elapsed_s)
    return _regret(
        sent,
        ground_truth,
        contest,
        elapsed_s,
        energy_wh[is_above_0],
        limit_wh[is_above_0],
    )


def _regret(
    sent: _Sent,
    truth: GroundTruth,
    contest: Contest,
    elapsed_s: Floats,
    energy_wh: Floats,
    limit_wh: Floats,
) -> StopRegret:
    count = len(elapsed_s)
    rule = rule_named(contest.config.metric)
    maps = maps_over_time(truth, sent.found, sent.moment, count, rule)
    answered = sent.answered[truth.image_ids - 1]
    in_orders = maps_in_other_orders(truth, sent.found, answered, count, rule)
    varies = (in_orders != in_orders[-1]).any(axis=1)
    is_enough = (answered < count).sum() >= LEAST_IMAGES
    is_known = (energy_wh > limit_wh) & (is_enough | ~varies)
    is_known[-1] = True
    band = stop_band(elapsed_s, maps, in_orders, energy_wh, limit_wh, is_known)

    may_stop = is_known & (maps >= (contest.config.least_map or 0.0))
    may_stop[-1] = True
    ends = np.where(may_stop & ~np.isnan(band.low), band.low, 0.0)
    best = int(np.argmax(ends))
    if not ends[best] > 1:
        best = count - 1
    scores = maps / energy_wh
    return StopRegret(
        elapsed_s,
        maps,
        energy_wh,
        limit_wh,
        scores,
        is_known,
        band,
        best,
    )


def _moments(posted_s: list[float], end_s: float) -> Floats:
    """Return the times of the POSTs before the end, at most MOST_MOMENTS of them, and the end."""
    after_post = np.unique([when for when in posted_s if when < end_s])
    if len(after_post) > MOST_MOMENTS:
        after_post = after_post[
            np.linspace(0, len(after_post) - 1, MOST_MOMENTS).astype(np.int64)
        ]
    return np.append(after_post, end_s)


@dataclass(frozen=True, eq=False)
class _Sent:
    """The counted rows, sorted by image, the first moment (M,) of each, and that of each image (N,).

    A moment beyond the last one stands for an image that was never answered.
    """

    found: Detections
    moment: Ints
    answered: Ints


def _sent(
    contest: Contest,
    run: Run,
    posts: list[tuple[float, int]],
    elapsed_s: Floats,
) -> _Sent:
    """Return the rows of a run with the moment by which they were received and their images served."""
    order = contest.store.runs.image_order(run.id)
    sent = contest.store.posts.detections(run.id)
    of_rows = sent[:, IMAGE].astype(np.int64)
    rows = undo_image_order(sent, order)
    posts_s = np.array([when for when, _ in posts])
    counts = np.array([count for _, count in posts], np.int64)
    since_s = np.repeat(posts_s, counts)
    served, served_s = first_served(contest.store.served.in_order(run.id))
    if not contest.config.count_unserved:
        by_image_s = np.full(len(contest.test_set.images) + 1, np.inf)
        by_image_s[order[served - 1]] = served_s
        since_s = np.maximum(since_s, by_image_s[rows[:, IMAGE].astype(np.int64)])
    last = len(elapsed_s) - 1
    moment = np.minimum(np.searchsorted(elapsed_s, since_s), last)

    finished = np.maximum.accumulate(posted_after(served, of_rows, counts))
    answering = np.searchsorted(finished, np.arange(1, len(served) + 1))
    at_s = np.append(posts_s, np.inf)[answering]
    answered = np.full(len(contest.test_set.images), last + 1)
    answered[order[served - 1] - 1] = np.searchsorted(elapsed_s, at_s)

    # Sorted by image, as in `scored_detections` for a metric that breaks ties by order of arrival.
    by_image = np.argsort(rows[:, IMAGE], kind="stable")
    by_image = by_image[since_s[by_image] < np.inf]
    rows = rows[by_image]
    moment = moment[by_image]
    np.minimum.at(answered, rows[:, IMAGE].astype(np.int64) - 1, moment)
    return _Sent(Detections.from_rows(rows), moment, answered)
