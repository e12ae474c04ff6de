"""What the mAP gains when errors are mended: who then counts and who is true, without matching again.

A mended detection takes an object that no other one wants, so nothing else that is matched changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from referee.scoring.average_precision import averages, counts_before, mean_known, true_ranks
from referee.scoring.error_matching import OF_DETECTIONS, TRUE, ErrorType, Findings, Terms
from referee.scoring.ordering import ascending_codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gains:
    """The mAP, and with each type of errors mended; `ap` by category (K,), NaN without objects.

    `ordered` (K,) is the AP if the true detections ranked above the false ones; `costs` are by detection (M,) and by
    object (G,), as in ErrorAnalysis.
    """

    map: float
    mended: dict[ErrorType, float]
    ap: Floats
    ordered: Floats
    costs: tuple[Floats, Floats]


def gains_of(findings: Findings, terms: Terms, categories: int) -> Gains:
    """Judge the findings, and again with each type of errors mended."""

    def in_category(objects: Bools) -> Ints:
        return np.bincount(findings.object_category[objects], minlength=categories)

    def mean(ap: Floats, rows: _Rows) -> float:
        if terms.as_tidecv:
            has_rows = np.diff(counts_before(rows.counted).take(rows.starts)) > 0
            ap = np.where(has_rows, np.nan_to_num(ap), ap)
        return mean_known(ap)

    def judged(rows: _Rows, objects: Ints) -> float:
        return mean(averages(rows.true, rows.counted, rows.starts, objects, terms.rule.average), rows)

    rows = _Rows.of(findings, findings.category, categories)
    named = findings.category.copy()
    named[findings.mends] = findings.object_category[findings.object[findings.mends]]
    objects = in_category(findings.objects)
    ap = averages(rows.true, rows.counted, rows.starts, objects, terms.rule.average)
    ordered = averages(rows.true, rows.true, rows.starts, objects, terms.rule.average)
    mended = {
        ErrorType.MISSED: judged(rows, objects - in_category(findings.missed)),
        ErrorType.FALSE_POSITIVE: mean(ordered, rows),
        ErrorType.FALSE_NEGATIVE: judged(rows, objects - in_category(findings.unfound)),
    }
    for kind, type_ in enumerate(OF_DETECTIONS):
        of_type = rows if type_ is not ErrorType.CLASSIFICATION else _Rows.of(findings, named, categories)
        mended[type_] = judged(of_type.mended(kind), objects)
    scored = max(1, int((objects > 0).sum()))
    share = 1 / scored / np.maximum(objects, 1).take(findings.object_category)
    costs = rows.costs(objects) / scored, np.where(findings.unfound, share, 0.0)
    return Gains(mean(ap, rows), mended, ap, ordered, costs)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Detections (M,) by category and, in it, by confidence: `detection` is the index of each.

    Category k holds `starts[k]` .. `starts[k + 1] - 1`. What is `true` is `counted`, too.
    """

    detection: Ints
    starts: Ints
    true: Bools
    counted: Bools
    outcome: NDArray[np.int8]
    mends: Bools

    @classmethod
    def of(cls, findings: Findings, category: Ints, categories: int) -> _Rows:
        """Sort the findings, each detection as one of its `category` (M,)."""
        order, sorted_category = ascending_codes(category.take(findings.members), categories)
        starts = np.searchsorted(sorted_category, np.arange(categories + 1))
        detection = findings.members.take(order)
        outcome, counted = findings.outcome.take(detection), findings.counted.take(detection)
        return cls(detection, starts, outcome == TRUE, counted, outcome, findings.mends.take(detection))

    def mended(self, kind: int) -> _Rows:
        """The rows after the errors of a kind are mended: those that mend are true, the others do not count."""
        is_kind = self.outcome == kind
        found = is_kind & self.mends
        return replace(self, true=self.true | found, counted=(self.counted & ~is_kind) | found)

    def costs(self, objects: Ints) -> Floats:
        """The AP (M,) that each false detection takes, by index: without it, all true ones below are more precise.

        That is t / (r - 1) instead of t / r for the true one of rank r that is the t-th; it counts as one of `objects`.
        """
        places, ranks, bounds = true_ranks(self.true, self.counted, self.starts)
        sizes = np.diff(bounds)
        nth = np.arange(1, len(places) + 1) - np.repeat(bounds[:-1], sizes)
        gained = nth / np.maximum(ranks * (ranks - 1), 1) / np.repeat(objects, sizes)
        total = np.append(0.0, np.cumsum(gained))
        of_category = np.repeat(total.take(bounds[1:]), np.diff(self.starts))
        cost = np.empty(len(self.true))
        below = of_category - total.take(counts_before(self.true)[1:])
        cost[self.detection] = np.where(self.counted & ~self.true, below, 0.0)
        return cost
