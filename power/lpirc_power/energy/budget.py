"""The uncertainty budget of an energy, by the GUM (JCGM 100:2008). Pure.

`budget_of` in `energy_budget` makes one; everything that shows an uncertainty shows this one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lpirc_power.energy.coverage import (
    LEVEL,
    Distribution,
    ErrorShape,
    half_width_of,
    student_factor,
)

BUDGET_VERSION: Final = 1
"""Counts up when the same recording gets other figures: another term, another size or distribution of one.

A reader then tells a budget that was computed by other rules from one that was altered.
"""
COVERAGE_FACTOR: Final = 2.0
"""k of the expanded uncertainty where no term has degrees of freedom."""
LARGEST_WH: Final = 1e100
"""Largest size of a term; squares of larger ones, as a broken driver gives, are beyond all numbers."""
LEAST_WH: Final = 1e-140
"""Size of a term below which its square is 0, or has lost digits."""
SCALE: Final = 2.0**600
ROUNDED: Final = 1e-9
BEYOND: Final = "Its size is no number, or too large to compute with."

__all__ = [
    "BUDGET_VERSION",
    "COVERAGE_FACTOR",
    "LEVEL",
    "Budget",
    "Distribution",
    "Term",
    "with_terms",
]


@dataclass(frozen=True)
class Term:
    """One source of error of an energy.

    `half_width` is the limit of the input quantity in `unit`, +-; for STUDENT its standard uncertainty;
    None if it is unknown, and `source` then says why. `sensitivity_wh` is in Wh per `unit`. `source` names the
    document and the page, or what the term was measured from. `freedom` are the degrees of freedom of a STUDENT term,
    `profile` the relative widths of a MIXED or TWO_POINT one. Two measurements of one load by one meter in one setup
    have the error of a term in common if it `is_shared`; `common_error` says what is left of that between other loads.
    Terms of one `group` are one error stated in parts, so they are added (JCGM 100, 5.2.2 with r = 1). A term that no
    limit of the maker covers is not part of the guaranteed limit: `is_guaranteed` is then False.
    """

    code: str
    name: str
    half_width: float | None
    unit: str
    distribution: Distribution
    sensitivity_wh: float
    source: str
    freedom: float | None = None
    is_shared: bool = False
    profile: tuple[float, ...] = (1.0,)
    group: str = ""
    is_guaranteed: bool = True

    @property
    def is_known(self) -> bool:
        """Return True if the term has a size, which is at most LARGEST_WH."""
        if self.half_width is None:
            return False
        width_wh = abs(self.sensitivity_wh * self.half_width)
        # Each by itself, since a maximum with NaN among its values may be any of the others.
        return all(width_wh * one <= LARGEST_WH for one in (1.0, *self.profile))

    @property
    def told_by(self) -> str:
        """The source; of a term that is too large, or no number, why it is unknown."""
        has_reason = self.is_known or self.half_width is None
        return self.source if has_reason else BEYOND

    @property
    def shape(self) -> ErrorShape:
        """The distribution of the term's error, in Wh; of width 0 if the term is unknown."""
        width = abs(self.sensitivity_wh) * (self.half_width or 0.0)
        return ErrorShape(
            self.distribution,
            width if self.is_known else 0.0,
            self.freedom,
            self.profile,
        )

    @property
    def standard_wh(self) -> float | None:
        """The standard uncertainty in Wh; None if the term is unknown."""
        return self.shape.standard if self.is_known else None

    @property
    def limit_wh(self) -> float | None:
        """The limit in Wh, two standard uncertainties for STUDENT; None if the term is unknown."""
        if not self.is_known:
            return None
        if self.distribution is Distribution.STUDENT:
            return COVERAGE_FACTOR * self.shape.width
        if self.distribution in (Distribution.MIXED, Distribution.TWO_POINT):
            return self.shape.width * max(1.0, *self.profile)
        return self.shape.width

    def document(self) -> dict[str, Any]:
        """Return the term, ready for JSON."""
        return {
            "code": self.code,
            "name": self.name,
            "half_width": self.half_width if self.is_known else None,
            "unit": self.unit,
            "distribution": self.distribution.value,
            "sensitivity_wh": self.sensitivity_wh if self.is_known else None,
            "source": self.told_by,
            "freedom": self.freedom,
            "is_shared": self.is_shared,
            "profile": list(self.profile) if self.is_known else [1.0],
            "group": self.group,
            "is_guaranteed": self.is_guaranteed,
            "standard_wh": self.standard_wh,
            "limit_wh": self.limit_wh,
        }

    @classmethod
    def from_document(cls, row: Mapping[str, Any]) -> Term:
        """Return the term of a document."""
        sensitivity_wh = row["sensitivity_wh"]
        return cls(
            code=row["code"],
            name=row["name"],
            half_width=row["half_width"],
            unit=row["unit"],
            distribution=Distribution(row["distribution"]),
            sensitivity_wh=0.0 if sensitivity_wh is None else sensitivity_wh,
            source=row["source"],
            freedom=row["freedom"],
            is_shared=row["is_shared"],
            profile=tuple(row["profile"]),
            group=row["group"],
            is_guaranteed=row["is_guaranteed"],
        )


@dataclass(frozen=True)
class Budget:
    """An energy and the terms of its uncertainty.

    Without a size of every term there is no uncertainty: the figures are None, and `unknown` says which term lacks one.
    `version` is that of the rules by which the terms were computed.
    """

    energy_wh: float
    terms: tuple[Term, ...]
    version: int = BUDGET_VERSION

    @property
    def is_known(self) -> bool:
        """Return True if every term has a size."""
        return bool(self.terms) and all(one.is_known for one in self.terms)

    @property
    def unknown(self) -> str:
        """A sentence that names the unknown terms and says why; empty if all are known."""
        lacking = [one for one in self.terms if not one.is_known]
        if not lacking:
            return "" if self.terms else "The uncertainty of this energy is unknown."
        names = "; ".join(one.name for one in lacking)
        begin = "One term of the uncertainty is unknown"
        if len(lacking) > 1:
            begin = "Terms of the uncertainty are unknown"
        reasons = dict.fromkeys(one.told_by for one in lacking)
        return f"{begin}: {names}. {' '.join(reasons)}"

    @functools.cached_property
    def combined_wh(self) -> float | None:
        """The combined standard uncertainty: the root of the sum of squares, groups added (JCGM 100, 5.1.2, 5.2.2)."""
        if not self.is_known:
            return None
        # IEEE operations alone: a bundle states this figure, and every host computes the same.
        scaled = [self._scale * one.standard for one in self._shapes]
        return math.sqrt(math.fsum(one * one for one in scaled)) / self._scale

    @property
    def expanded_wh(self) -> float | None:
        """The expanded uncertainty (JCGM 100, 6.2.1); `expanded_factor` is its k."""
        combined_wh = self.combined_wh
        return None if combined_wh is None else self.expanded_factor * combined_wh

    @property
    def effective_freedom(self) -> float:
        """The effective degrees of freedom by Welch and Satterthwaite (JCGM 100, G.4.1); infinite without a spread."""
        combined_wh = self.combined_wh
        if not combined_wh:
            return math.inf
        parts = [
            ((one.standard_wh or 0.0) / combined_wh) ** 4 / one.freedom
            for one in self.terms
            if one.freedom
        ]
        spread = math.fsum(parts)
        return 1.0 / spread if spread else math.inf

    @property
    def expanded_factor(self) -> float:
        """The k of the expanded uncertainty: 2, or Student's t of the effective degrees of freedom (G.4.1)."""
        freedom = self.effective_freedom
        if math.isinf(freedom):
            return COVERAGE_FACTOR
        return student_factor(max(freedom, 1.0))

    @property
    def is_expanded_too_small(self) -> bool:
        """Return True if the expanded uncertainty is less than a spread in it needs alone, by Student's t.

        Welch and Satterthwaite's formula can give that where few values were seen (Z. M. Liu, Metrologia 42, 2005, 449
        to 457). The stated interval cannot: it holds each term's whole distribution.
        """
        expanded_wh = self.expanded_wh
        if expanded_wh is None:
            return False
        alone_wh = [
            student_factor(one.freedom) * (one.standard_wh or 0.0)
            for one in self.terms
            if one.freedom
        ]
        return max(alone_wh, default=0.0) > expanded_wh * (1.0 + ROUNDED)

    @functools.cached_property
    def coverage_wh(self) -> float | None:
        """The half-width of the stated interval, which holds the energy with 95.45 % by the terms' distributions."""
        if not self.is_known:
            return None
        scale = self._scale
        wide = [replace(one, width=scale * one.width) for one in self._shapes]
        return half_width_of(wide) / scale

    @property
    def coverage_factor(self) -> float | None:
        """The stated interval's k: 1.65 where one rectangle dominates, 2 for many terms; None if there is none."""
        if not self.combined_wh or self.coverage_wh is None:
            return None
        return self.coverage_wh / self.combined_wh

    @property
    def guaranteed_wh(self) -> float | None:
        """The guaranteed limit: the sum of the limits, beyond which no error lies if each is within its own.

        A spread that was seen has no limit, so it is not in it: of a mean it is the limit for these attempts alone.
        """
        if not self.is_known:
            return None
        return math.fsum(one.limit_wh or 0.0 for one in self.terms if one.is_guaranteed)

    @property
    def interval_wh(self) -> tuple[float, float] | None:
        """The ends of the stated interval; the lower one may be below 0."""
        half_wh = self.coverage_wh
        if half_wh is None:
            return None
        return self.energy_wh - half_wh, self.energy_wh + half_wh

    @property
    def shared_wh(self) -> float | None:
        """The combined uncertainty of the terms that measurements by one meter in one setup have in common."""
        return self._part(is_shared=True)

    @property
    def own_wh(self) -> float | None:
        """The combined uncertainty of the terms that are this measurement's own."""
        return self._part(is_shared=False)

    def _part(self, *, is_shared: bool) -> float | None:
        if not self.is_known:
            return None
        terms = tuple(one for one in self.terms if one.is_shared == is_shared)
        return Budget(self.energy_wh, terms).combined_wh if terms else 0.0

    def share(self, term: Term) -> float | None:
        """Return a term's part of the combined variance, 0 to 1; None if that is unknown or 0."""
        if not self.combined_wh or term.standard_wh is None:
            return None
        fellows_wh = term.standard_wh
        if term.group:
            group = (one for one in self.terms if one.group == term.group)
            fellows_wh = math.fsum(one.standard_wh or 0.0 for one in group)
        return (term.standard_wh / self.combined_wh) * (fellows_wh / self.combined_wh)

    def relative(self, value_wh: float | None) -> float | None:
        """Return a figure of this budget as a part of the energy; None if it is unknown or the energy is 0."""
        if value_wh is None or not self.energy_wh:
            return None
        return value_wh / abs(self.energy_wh)

    def document(self) -> dict[str, Any]:
        """Return the budget with its figures, ready for JSON."""
        return {
            "version": self.version,
            "energy_wh": self.energy_wh if math.isfinite(self.energy_wh) else None,
            "combined_wh": self.combined_wh,
            "shared_wh": self.shared_wh,
            "own_wh": self.own_wh,
            "expanded_wh": self.expanded_wh,
            "coverage_wh": self.coverage_wh,
            "coverage_factor": self.coverage_factor,
            "level": LEVEL,
            "guaranteed_wh": self.guaranteed_wh,
            "unknown": self.unknown or None,
            "terms": [
                {**one.document(), "share": self.share(one)} for one in self.terms
            ],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Budget:
        """Return the budget of a document; its figures are computed again."""
        energy_wh = document["energy_wh"]
        return cls(
            math.nan if energy_wh is None else energy_wh,
            tuple(Term.from_document(row) for row in document["terms"]),
            document.get("version", 1),
        )

    @property
    def _scale(self) -> float:
        """1; for terms whose squares are below all numbers a power of 2, which changes no digit."""
        largest_wh = max((one.width for one in self._shapes), default=0.0)
        return SCALE if 0.0 < largest_wh < LEAST_WH else 1.0

    @property
    def _shapes(self) -> tuple[ErrorShape, ...]:
        """The independent errors: each group is one."""
        found: dict[str, ErrorShape] = {}
        for one in self.terms:
            key = f"group {one.group}" if one.group else f"term {len(found)}"
            before = found.get(key)
            shape = one.shape
            if before is not None:
                shape = replace(before, width=before.width + shape.width)
            found[key] = shape
        return tuple(found.values())


def with_terms(budget: Budget, *terms: Term) -> Budget:
    """Return a budget with further terms, such as the spread of repeated attempts, marks, or an idle power."""
    return replace(budget, terms=(*budget.terms, *terms))
