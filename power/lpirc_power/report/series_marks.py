"""The energy of each mark over the attempts of a series."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from lpirc_power.energy import Budget, budget_of_mean
from lpirc_power.report.budget_words import attached_words
from lpirc_power.report.marked_report import marked
from lpirc_power.report.reading_facts import figure, json_ready
from lpirc_power.report.series_report import Series


@dataclass(frozen=True)
class SeriesMark:
    """A name that was marked in attempts of a series: its mean energy in them, and the uncertainty of that."""

    name: str
    energies_wh: tuple[float, ...]
    budget: Budget

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
    found: dict[str, list[tuple[float, Budget]]] = {}
    for recorded in series.recordings:
        for one in marked(recorded):
            if one.budget is not None:
                pair = (one.energy.energy_wh, one.budget)
                found.setdefault(one.name, []).append(pair)
    return tuple(_series_mark(name, pairs) for name, pairs in found.items())


def _series_mark(name: str, pairs: list[tuple[float, Budget]]) -> SeriesMark:
    energies_wh = tuple(energy_wh for energy_wh, _ in pairs)
    return SeriesMark(
        name, energies_wh, budget_of_mean([budget for _, budget in pairs])
    )


def series_mark_facts(series: Series) -> list[dict[str, object]]:
    """Return the marks of a series, ready for JSON."""
    return [
        {
            "name": one.name,
            "energies_wh": list(one.energies_wh),
            "mean_wh": json_ready(one.mean_wh),
            "deviation_wh": one.deviation_wh,
            "budget": one.budget.document(),
        }
        for one in series_marks(series)
    ]


def series_mark_lines(series: Series) -> list[str]:
    """Return the marks of a series as lines for people."""
    return [
        f"{'mark':16} {one.name}: {figure(one.mean_wh, 'Wh')} {attached_words(one.budget)}, the mean of "
        f"{len(one.energies_wh)}"
        for one in series_marks(series)
    ]
