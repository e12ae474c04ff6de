"""An uncertainty budget in words: the rows of its table, and the lines of a terminal.

Everything that shows a budget takes the words from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.spread import SPREAD
from lpirc_power.report.rounded import half_words, percent_words, with_half_width

HEADINGS: Final = (
    "term",
    "limit",
    "distribution",
    "sensitivity",
    "standard uncertainty",
    "share",
    "source",
)
DISTRIBUTIONS: Final = {
    Distribution.RECTANGULAR: "rectangular",
    Distribution.MIXED: "rectangles of several widths",
    Distribution.TWO_POINT: "of known size, uncorrected",
}
TOO_SMALL: Final = (
    ", less than the spread of so few values needs alone: state the uncertainty instead"
)
LEAST_SHARE: Final = 0.005
"""Least share that a line of a terminal names."""


@dataclass(frozen=True)
class BudgetRow:
    """A term in words, in the order of HEADINGS."""

    name: str
    limit: str
    distribution: str
    sensitivity: str
    standard: str
    share: str
    source: str


def budget_rows(budget: Budget) -> tuple[BudgetRow, ...]:
    """Return the rows of the table of terms."""
    return tuple(_row(budget, one) for one in budget.terms)


def _row(budget: Budget, term: Term) -> BudgetRow:
    share = budget.share(term)
    half_width = term.half_width if term.is_known else None
    limit = "unknown"
    sensitivity = ""
    if half_width is not None:
        limit = f"\N{PLUS-MINUS SIGN}{half_width:.4g} {term.unit}"
        sensitivity = f"{term.sensitivity_wh:.4g} Wh/{term.unit}"
    return BudgetRow(
        name=term.name,
        limit=limit,
        distribution=distribution_words(term),
        sensitivity=sensitivity,
        standard="unknown" if term.standard_wh is None else wh(term.standard_wh),
        share="" if share is None else f"{share:.1%}",
        source=term.source,
    )


def distribution_words(term: Term) -> str:
    """Return a term's distribution in words."""
    if term.distribution is Distribution.STUDENT:
        freedom = term.freedom or 1.0
        return f"Student, {freedom:g} degree{'s' if freedom != 1.0 else ''} of freedom"
    return DISTRIBUTIONS[term.distribution]


def interval_words(budget: Budget) -> str:
    """Return the stated interval: "+-0.0123 Wh (+-0.2 %) with 95.45 %, k = 1.7"; "unknown" if it is."""
    if budget.coverage_wh is None:
        return "unknown"
    factor = budget.coverage_factor
    known_by = "" if factor is None else f", k = {factor:.3g}"
    return f"{_half(budget, budget.coverage_wh)} with 95.45 %{known_by}"


def stated_words(energy_wh: float, budget: Budget | None) -> str:
    """Return an energy with its stated interval, both rounded: "0.0463 +- 0.0034 Wh with 95.45 %"."""
    half_wh = None if budget is None else budget.coverage_wh
    return stated_half_words(energy_wh, half_wh)


def stated_half_words(energy_wh: float, half_wh: float | None) -> str:
    """Return an energy with half of its stated interval; None or NaN is unknown."""
    energy = with_half_width(energy_wh, half_wh, "Wh")
    is_known = half_wh is not None and not math.isnan(half_wh)
    return f"{energy} {'with 95.45 %' if is_known else 'of unknown uncertainty'}"


def attached_words(budget: Budget) -> str:
    """Return the stated interval to follow an energy: "of unknown uncertainty" if it is unknown."""
    known = budget.coverage_wh is not None
    return interval_words(budget) if known else "of unknown uncertainty"


def expanded_words(budget: Budget) -> str:
    """Return the expanded uncertainty; "unknown" if it is."""
    if budget.expanded_wh is None:
        return "unknown"
    words = f"{_half(budget, budget.expanded_wh)}, k = {budget.expanded_factor:.3g}"
    freedom = budget.effective_freedom
    if math.isinf(freedom):
        return words
    words += f" of {freedom:.3g} effective degrees of freedom (GUM G.4.1)"
    return f"{words}{TOO_SMALL}" if budget.is_expanded_too_small else words


def guaranteed_words(budget: Budget) -> str:
    """Return the guaranteed limit; "unknown" if it is."""
    if budget.guaranteed_wh is None:
        return "unknown"
    by_load = any(max(one.profile) > 1.0 for one in budget.terms)
    ends = ", with start and stop at the largest power" if by_load else ""
    covered = _not_guaranteed(budget)
    return (
        f"{_half(budget, budget.guaranteed_wh)}, the sum of the limits{ends}{covered}"
    )


def _not_guaranteed(budget: Budget) -> str:
    """Return what a guaranteed limit does not cover: a spread, which was seen, has no limit."""
    seen = [one for one in budget.terms if one.distribution is Distribution.STUDENT]
    left_out = [one for one in seen if not one.is_guaranteed]
    if not left_out:
        return ""
    names = " and ".join(one.name for one in left_out)
    has = "has" if len(left_out) == 1 else "have"
    of_mean = any(one.code == SPREAD for one in left_out)
    alone = " for these attempts alone," if of_mean else ""
    return f",{alone} without {names}, which {has} no limit"


def budget_summary(budget: Budget) -> dict[str, str]:
    """Return the figures of a budget by name, for people; one sentence says why they are unknown."""
    if budget.unknown:
        return {"uncertainty": budget.unknown}
    return {
        "uncertainty": interval_words(budget),
        "expanded": expanded_words(budget),
        "guaranteed": guaranteed_words(budget),
        "terms": terms_words(budget),
    }


def terms_words(budget: Budget) -> str:
    """Return the terms that matter, largest share first; empty if none has a share."""
    shares = [(budget.share(one) or 0.0, one.name) for one in budget.terms]
    told = sorted((one for one in shares if one[0] >= LEAST_SHARE), reverse=True)
    return ", ".join(f"{share:.0%} {name}" for share, name in told)


def wh(value: float) -> str:
    """Return a standard uncertainty of the table with one digit more, since others compute with it."""
    return f"{value:.3g} Wh"


def _half(budget: Budget, half_wh: float) -> str:
    share = percent_words(budget.relative(half_wh))
    words = half_words(half_wh, "Wh")
    return f"{words} ({share})" if share else words
