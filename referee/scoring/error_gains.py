"""What the mAP gains when errors are mended: who then counts and who is true, without matching again.

A mended detection takes an object that no other one wants, so nothing else that is matched changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from referee.scoring.average_precision import averages, counts_before, mean_known, true_ranks
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
    wrong = np.flatnonzero((findings.kind == OF_DETECTIONS.index(ErrorType.CLASSIFICATION)) & findings.mends)
    named[wrong] = findings.object_category.take(findings.target.take(wrong))
    objects = in_category(findings.counts)
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
    return Gains(mean(ap, rows), mended, ap, ordered, rows.costs(objects) / max(1, int((objects > 0).sum())))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Detections (M,) by category and, in it, by confidence: `detection` is the index of each.

    Category k holds `starts[k]` .. `starts[k + 1] - 1`. Each is `true` or not, `counted` or not, has a `kind` of error
    or not, and `mends` if it would be true without that.
    """

    detection: Ints
    starts: Ints
    true: Bools
    counted: Bools
    kind: NDArray[np.int8]
    mends: Bools

    @classmethod
    def of(cls, findings: Findings, category: Ints, categories: int) -> _Rows:
        """Sort the findings, each detection as one of its `category` (M,)."""
        order, sorted_category = ascending_codes(category.take(findings.members), categories)
        starts = np.searchsorted(sorted_category, np.arange(categories + 1))
        detection = findings.members.take(order)
        found = np.minimum(findings.found, 0).astype(np.int8).take(detection)
        kind, mends = findings.kind.take(detection), findings.mends.take(detection)
        return cls(detection, starts, found == 0, found != IGNORED, kind, mends)

    def mended(self, kind: int) -> _Rows:
        """The rows after the errors of a kind are mended: those that mend are true, the others do not count."""
        is_kind = self.kind == kind
        found = is_kind & self.mends
        return replace(self, true=self.true | found, counted=(self.counted & ~is_kind) | found)

    def costs(self, objects: Ints) -> Floats:
        """The AP (M,) that each false detection takes, by index: without it, all true ones below are more precise.

        That is t / (r - 1) instead of t / r for the true one of rank r that is the t-th; it counts as one of `objects`.
        """
        places, ranks, bounds = true_ranks(self.true, self.counted, self.starts)
        sizes = np.diff(bounds)
        nth = np.arange(1, len(places) + 1) - np.repeat(bounds[:-1], sizes)
        total = np.append(
            0.0, np.cumsum(nth / np.maximum(ranks * (ranks - 1), 1) / np.repeat(objects, sizes))
        )
        of_category = np.repeat(total.take(bounds[1:]), np.diff(self.starts))
        cost = np.empty(len(self.true))
        below = of_category - total.take(counts_before(self.true)[1:])
        cost[self.detection] = np.where(self.counted & ~self.true, below, 0.0)
        return cost
