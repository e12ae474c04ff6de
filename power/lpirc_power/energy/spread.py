"""Repeated attempts: the budget of their mean energy, and the spread between them as a term of it (type A). Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term, with_terms

SPREAD: Final = "spread"
LEAST_ATTEMPTS: Final = 2
BOUNDED: Final = (
    Distribution.RECTANGULAR,
    Distribution.MIXED,
    Distribution.TWO_POINT,
)
"""Distributions of an error whose widths a profile states, the more cautious one later."""


def spread_of(energies_wh: Sequence[float]) -> Term | None:
    """Return the term `spread` of the mean of repeated energies; None for fewer than two, which show no spread.

    It is the standard deviation of the mean with n - 1 degrees of freedom (JCGM 100, 4.2.3 and G.3.2); unknown if an
    energy is.
    """
    attempts = len(energies_wh)
    if attempts < LEAST_ATTEMPTS:
        return None
    source = f"the standard deviation of the mean of {attempts} attempts"
    half_width: float | None = None
    if all(map(math.isfinite, energies_wh)):
        half_width = statistics.stdev(energies_wh) / math.sqrt(attempts)
    else:
        source = "An attempt has no energy."
    return Term(
        code=SPREAD,
        name="the spread between attempts",
        half_width=half_width,
        unit="Wh",
        distribution=Distribution.STUDENT,
        sensitivity_wh=1.0,
        source=source,
        freedom=attempts - 1.0,
        is_guaranteed=False,
    )


def half_of_mean(energies_wh: Sequence[float]) -> float | None:
    """Return half of the interval of a mean by Student's t, 95.45 %; None for fewer than two energies."""
    spread = spread_of(energies_wh)
    if spread is None:
        return None
    return Budget(statistics.fmean(energies_wh), (spread,)).coverage_wh


def budget_of_mean(budgets: Sequence[Budget]) -> Budget:
    """Return the budget of the mean energy of one or more attempts, with their spread.

    Each term is as large as on average: the errors of the attempts are taken to be the same, so none becomes smaller in
    the mean. Its guaranteed limit is the mean of theirs, and so of the mean of these attempts alone: what further ones
    would give, no limit says. A term that is unknown in one attempt is unknown in the mean. Raises ValueError without a
    budget.
    """
    if not budgets:
        raise ValueError("no attempts")
    energies_wh = [one.energy_wh for one in budgets]
    codes = dict.fromkeys(term.code for one in budgets for term in one.terms)
    terms = tuple(_mean_term(code, budgets) for code in codes)
    mean = Budget(statistics.fmean(energies_wh), terms)
    spread = spread_of(energies_wh)
    return mean if spread is None else with_terms(mean, spread)


def _mean_term(code: str, budgets: Sequence[Budget]) -> Term:
    """Return the term of this code, which not every attempt may have, as large as on average; so is its limit."""
    found = [term for one in budgets for term in one.terms if term.code == code]
    for term in found:
        if not term.is_known:
            return term
    sizes_wh = [term.shape.width for term in found]
    largest = found[sizes_wh.index(max(sizes_wh))]
    if not largest.half_width or not max(sizes_wh):
        return largest
    mean_wh = math.fsum(sizes_wh) / len(budgets)
    mean = replace(largest, sensitivity_wh=mean_wh / largest.half_width)
    kinds = {one.distribution for one in found}
    if kinds - {*BOUNDED} or kinds == {Distribution.RECTANGULAR}:
        return mean
    widest = max(kinds, key=BOUNDED.index)
    return replace(mean, distribution=widest, profile=_mean_profile(found))


def _mean_profile(terms: Sequence[Term]) -> tuple[float, ...]:
    """Return the widths of the mean of errors that are large and small together, as parts of its own width."""
    count = max(len(one.profile) for one in terms)
    whole_wh = math.fsum(one.shape.width for one in terms)
    columns = []
    for one in terms:
        widths = sorted(one.profile)
        part = one.shape.width / whole_wh
        middles = range(1, 2 * count, 2)
        places = (len(widths) * middle // (2 * count) for middle in middles)
        columns.append([part * widths[place] for place in places])
    return tuple(map(math.fsum, zip(*columns, strict=True)))
