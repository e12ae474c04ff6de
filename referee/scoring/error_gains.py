"""What the mAP gains when errors are mended: who then counts and who is true, without matching again.

A mended detection takes an object that no other one wants, so nothing else that is matched changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.scoring.average_precision import Average, averages, mean_known, true_ranks
from referee.scoring.error_matching import OF_DETECTIONS, ErrorType, Findings, Terms
from referee.scoring.matching import IGNORED
from referee.scoring.ordering import ascending_codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gains:
    """The mAP, and with each type of errors mended; `ap` by category (K,), NaN without objects.

    `ordered` (K,) is the AP if the true detections ranked above the false ones; `cost` (M,) as in ErrorAnalysis.
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
        return mean_known(ap)

    objects = in_category(findings.counts)
    ap = ranking.averages(true, counted, objects, terms.rule.average)
    ordered = ranking.averages(true, true, objects, terms.rule.average)
    mended = {ErrorType.FALSE_POSITIVE: mean(ordered, counted, findings.category)}
    for kind, type_ in enumerate(OF_DETECTIONS):
        is_kind = findings.kind == kind
        found = np.flatnonzero(is_kind & findings.mends)
        category, its_ranking = findings.category, ranking
        if type_ is ErrorType.CLASSIFICATION:
            category = category.copy()
            category[found] = findings.object_category.take(findings.target.take(found))
            its_ranking = Ranking.of(findings.members, category, categories)
        then_true, then_counted = true.copy(), counted & ~is_kind
        then_true[found] = then_counted[found] = True
        then = its_ranking.averages(then_true, then_counted, objects, terms.rule.average)
        mended[type_] = mean(then, then_counted, category)
    for type_, gone in ((ErrorType.MISSED, findings.missed), (ErrorType.FALSE_NEGATIVE, findings.unfound)):
        then = ranking.averages(true, counted, objects - in_category(gone), terms.rule.average)
        mended[type_] = mean(then, counted, findings.category)
    cost = ranking.costs(true, counted, objects) / max(1, int((objects > 0).sum()))
    return Gains(mean(ap, counted, findings.category), mended, ap, ordered, cost)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Detections by category and, in it, by confidence: `rows` (M,) are their indices.

    Category k holds `starts[k]` .. `starts[k + 1] - 1`. What is asked about detections (M,) is by index.
    """

    rows: Ints
    starts: Ints

    @classmethod
    def of(cls, members: Ints, category: Ints, categories: int) -> Ranking:
        """Rank `members` (M,), detections by confidence, in their `category` (M,)."""
        order, sorted_category = ascending_codes(category.take(members), categories)
        return cls(members.take(order), np.searchsorted(sorted_category, np.arange(categories + 1)))

    def averages(self, true: Bools, counted: Bools, objects: Ints, average: Average) -> Floats:
        """The AP (K,) of every category, NaN without `objects` (K,)."""
        return averages(true.take(self.rows), counted.take(self.rows), self.starts, objects, average)

    def costs(self, true: Bools, counted: Bools, objects: Ints) -> Floats:
        """The AP (M,) that each false detection takes: without it, every true one below would have a better precision.

        That is t / (r - 1) instead of t / r for the true one of rank r that is the t-th; it counts as one of `objects`.
        """
        is_true, is_counted = true.take(self.rows), counted.take(self.rows)
        places, ranks, bounds = true_ranks(is_true, is_counted, self.starts)
        sizes = np.diff(bounds)
        nth = np.arange(1, len(places) + 1) - np.repeat(bounds[:-1], sizes)
        gained = nth / np.maximum(ranks * (ranks - 1), 1) / np.repeat(objects, sizes)
        total = np.append(0.0, np.cumsum(gained))
        of_all = np.repeat(total.take(bounds[1:]), np.diff(self.starts))
        below = of_all - total.take(np.cumsum(is_true))
        cost = np.zeros(len(true))
        cost[self.rows] = np.where(is_counted & ~is_true, below, 0.0)
        return cost
