"""The energy of each mark over the attempts of a series."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lpirc_power.energy import Budget, budget_of_mean
from lpirc_power.report.budget_words import attached_words
from lpirc_power.report.marked_report import Marked, marked, net_words
from lpirc_power.report.reading_facts import figure, json_ready
from lpirc_power.report.series_report import Series


@dataclass(frozen=True)
class SeriesMark:
    """A name that was marked in attempts of a series: its mean energy in them, and the uncertainty of that.

    `each_wh` is the mean energy of one stretch, None if each attempt has one alone. `above_idle` is the mean energy
    above idle with its budget, None if an attempt has no idle power.
    """

    name: str
    energies_wh: tuple[float, ...]
    budget: Budget
    each_wh: float | None = None
    above_idle: Budget | None = None

    @property
    def mean_wh(self) -> float:
        """The mean energy."""
        return statistics.fmean(self.energies_wh)

    @property
    def deviation_wh(self) -> float | None:
        """The standard deviation from attempt to attempt; None for one."""
        several = len(self.energies_wh) > 1
        return statistics.stdev(self.energies_wh) if several else None


def series_marks(series: Series) -> tuple[SeriesMark, ...]:
    """Return the energies by mark over the attempts that count, in the order in which the names first occurred."""
    found: dict[str, list[Marked]] = {}
    for recorded in series.recordings:
        for one in marked(recorded):
            if one.budget is not None:
                found.setdefault(one.name, []).append(one)
    return tuple(_series_mark(name, marks) for name, marks in found.items())


def _series_mark(name: str, marks: Sequence[Marked]) -> SeriesMark:
    budgets = [one.budget for one in marks if one.budget is not None]
    nets = [one.above_idle for one in marks if one.above_idle is not None]
    has_several = any(one.count > 1 for one in marks)
    return SeriesMark(
        name,
        tuple(one.energy.energy_wh for one in marks),
        budget_of_mean(budgets),
        statistics.fmean(one.mean_wh for one in marks) if has_several else None,
        budget_of_mean(nets) if len(nets) == len(marks) else None,
    )


def series_mark_facts(series: Series) -> list[dict[str, object]]:
    """Return the marks of a series, ready for JSON."""
    return [_facts(one) for one in series_marks(series)]


def _facts(one: SeriesMark) -> dict[str, object]:
    net = one.above_idle
    return {
        "name": one.name,
        "energies_wh": list(one.energies_wh),
        "mean_wh": json_ready(one.mean_wh),
        "deviation_wh": one.deviation_wh,
        "budget": one.budget.document(),
        "each_wh": json_ready(one.each_wh),
        "above_idle_wh": None if net is None else json_ready(net.energy_wh),
        "above_idle_budget": None if net is None else net.document(),
    }


def series_mark_lines(series: Series) -> list[str]:
    """Return the marks of a series as lines for people."""
    return [f"{'mark':16} {one.name}: {_words(one)}" for one in series_marks(series)]


def _words(one: SeriesMark) -> str:
    words = f"{figure(one.mean_wh, 'Wh')} {attached_words(one.budget)}, the mean of {len(one.energies_wh)}"
    if one.each_wh is not None:
        words += f", {figure(one.each_wh, 'Wh')} each"
    return words if one.above_idle is None else f"{words}; {net_words(one.above_idle)}"
