"""What the mAP gains when errors are mended: who then counts and who is true, without matching again.

A mended detection takes an object that no other one wants, so nothing else that is matched changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.scoring.error_matching import OF_DETECTIONS, ErrorType, Findings, Terms
from referee.scoring.matching import IGNORED
from referee.scoring.ordering import ascending_codes
from referee.scoring.rules import Average

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gains:
    """The mAP, and with each type of errors mended; AP by category (K,), NaN without objects; the cost (M,) of each.

    `ordered` is the AP if the true detections ranked above the false ones, `cost` as in ErrorAnalysis.
    """

    map: float
    mended: dict[ErrorType, float]
    ap: Floats
    ordered: Floats
    cost: Floats


def gains_of(findings: Findings, terms: Terms, categories: int) -> Gains:
    """Judge the findings, and again with each type of errors mended."""
    ranking = Ranking.of(findings.members, findings.category, categories)
    true, counted = findings.found >= 0, findings.found != IGNORED

    def in_category(objects: Bools) -> Ints:
        return np.bincount(findings.object_category[objects], minlength=categories)

    def mean(ap: Floats, counted: Bools, category: Ints) -> float:
        if terms.as_tidecv:
            ap = np.where(np.bincount(category[counted], minlength=categories) > 0, np.nan_to_num(ap), ap)
        known = ap[~np.isnan(ap)].tolist()
        return math.fsum(known) / len(known) if known else 0.0

    def judged(ranking: Ranking, true: Bools, counted: Bools, objects: Ints, category: Ints) -> float:
        return mean(ranking.averages(true, counted, objects, terms.rule.average), counted, category)

    objects = in_category(findings.counts)
    ap = ranking.averages(true, counted, objects, terms.rule.average)
    ordered = ranking.averages(true, true, objects, terms.rule.average)
    mended = {}
    for kind, type_ in enumerate(OF_DETECTIONS):
        is_kind = findings.kind == kind
        found = np.flatnonzero(is_kind & findings.mends)
        category, its = findings.category, ranking
        if type_ is ErrorType.CLASSIFICATION:
            category = category.copy()
            category[found] = findings.object_category.take(findings.target.take(found))
            its = Ranking.of(findings.members, category, categories)
        then_true, then_counted = true.copy(), counted & ~is_kind
        then_true[found] = then_counted[found] = True
        mended[type_] = judged(its, then_true, then_counted, objects, category)
    for type_, gone in ((ErrorType.MISSED, findings.missed), (ErrorType.FALSE_NEGATIVE, findings.unfound)):
        mended[type_] = judged(ranking, true, counted, objects - in_category(gone), findings.category)
    mended[ErrorType.FALSE_POSITIVE] = mean(ordered, counted, findings.category)
    cost = ranking.costs(true, counted, objects) / max(1, np.count_nonzero(objects))
    return Gains(mean(ap, counted, findings.category), mended, ap, ordered, cost)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Detections by category and, in it, by confidence: `rows` (M,) are their indices, `category` (M,) its place.

    Category k holds `starts[k]` .. `starts[k + 1] - 1`. What is asked about detections (M,) is by index.
    """

    rows: Ints
    category: Ints
    starts: Ints

    @classmethod
    def of(cls, members: Ints, category: Ints, categories: int) -> Ranking:
        """Rank `members` (M,), detections by confidence, in their `category` (M,)."""
        order, sorted_category = ascending_codes(category.take(members), categories)
        starts = np.searchsorted(sorted_category, np.arange(categories + 1))
        return cls(members.take(order), sorted_category, starts)

    def averages(self, true: Bools, counted: Bools, objects: Ints, average: Average) -> Floats:
        """The AP (K,) of every category, NaN without `objects` (K,)."""
        places, ranks = self._true(true, counted)
        bounds = np.searchsorted(places, self.starts).tolist()
        parts = zip(bounds[:-1], bounds[1:], objects.tolist(), strict=True)
        return np.array(
            [average(ranks[low:high], count) if count else math.nan for low, high, count in parts]
        )

    def costs(self, true: Bools, counted: Bools, objects: Ints) -> Floats:
        """The AP (M,) that each false detection takes: without it, every true one below would have a better precision.

        That is t / (r - 1) instead of t / r for the true one of rank r that is the t-th; it counts as one of `objects`.
        """
        places, ranks = self._true(true, counted)
        category = self.category.take(places)
        nth = np.arange(1, len(places) + 1) - np.searchsorted(places, self.starts).take(category)
        gained = nth / np.maximum(ranks * (ranks - 1), 1) / objects.take(category)
        total = np.append(0.0, np.cumsum(gained))
        false = np.flatnonzero((counted & ~true).take(self.rows))
        ends = np.searchsorted(places, self.starts[1:]).take(self.category.take(false))
        cost = np.zeros(len(true))
        cost[self.rows.take(false)] = total.take(ends) - total.take(np.searchsorted(places, false))
        return cost

    def _true(self, true: Bools, counted: Bools) -> tuple[Ints, Ints]:
        """The places (T,) of the true detections in `rows`, and their ranks from 1 among those that count."""
        before = np.append(0, np.cumsum(counted.take(self.rows)))
        places = np.flatnonzero(true.take(self.rows))
        first = before.take(self.starts).take(self.category.take(places))
        return places, before.take(places + 1) - first
