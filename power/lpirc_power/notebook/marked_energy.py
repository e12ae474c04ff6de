"""The energy of what was marked with one name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lpirc_power.energy import Budget
from lpirc_power.notebook.stated_half import stated_half_wh
from lpirc_power.report.budget_words import stated_half_words, stated_words
from lpirc_power.report.marked_report import Marked, marked
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded


@dataclass(frozen=True, repr=False)
class MarkEnergy:
    """The energy of all stretches with one name, in Wh; what overlaps is counted once.

    `uncertainty_wh` is the half-width of its stated interval, and `budget` its terms, the edges of the stretches among
    them. `each_wh` is the mean energy of one stretch. Without a stretch that was closed, `count` is 0, the figures are
    NaN, and the budget is None. `above_idle_wh` is NaN if no idle power was measured.
    """

    name: str
    count: int
    energy_wh: float
    uncertainty_wh: float
    mean_power_w: float
    duration_s: float
    each_wh: float
    budget: Budget | None
    above_idle_wh: float = math.nan
    above_idle_uncertainty_wh: float = math.nan

    def __str__(self) -> str:
        words = f"{self.name}: {energy_words(self)}"
        if not self.count:
            return words
        power = figure(self.mean_power_w, "W", 5)
        words += f", {power} over {self.duration_s:.4g} s"
        if self.count > 1:
            words += f", {self.count} times, {figure(self.each_wh, 'Wh')} each"
        net = above_idle_words(self)
        return f"{words}; {net} above idle" if net else words

    def __repr__(self) -> str:
        return f"<mark {self}>"


def energy_words(one: MarkEnergy) -> str:
    """Return an energy with its stated interval: "0.0402 +- 0.0014 Wh with 95.45 %"; "no energy" without one."""
    return stated_words(one.energy_wh, one.budget) if one.count else "no energy"


def above_idle_words(one: MarkEnergy) -> str:
    """Return an energy above idle with its stated interval; empty if no idle power was measured."""
    if math.isnan(one.above_idle_wh):
        return ""
    return stated_half_words(one.above_idle_wh, one.above_idle_uncertainty_wh)


def mark_energies(recorded: Recorded) -> dict[str, MarkEnergy]:
    """Return the energies of a recording by name, in the order in which the names first occurred."""
    return {one.name: _energy(one) for one in marked(recorded)}


def _energy(one: Marked) -> MarkEnergy:
    net = one.above_idle
    return MarkEnergy(
        name=one.name,
        count=one.count,
        energy_wh=one.energy.energy_wh if one.count else math.nan,
        uncertainty_wh=stated_half_wh(one.budget),
        mean_power_w=one.mean_power_w,
        duration_s=one.energy.duration_s,
        each_wh=one.mean_wh,
        budget=one.budget,
        above_idle_wh=math.nan if net is None else net.energy_wh,
        above_idle_uncertainty_wh=stated_half_wh(net),
    )
