"""The mean energy of repeated recordings."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.comparison.alike import settings_that_differ
from lpirc_power.comparison.attempts import Compared, attempt_of
from lpirc_power.comparison.doubts import idle_warnings
from lpirc_power.energy import Budget, budget_of_mean
from lpirc_power.energy.attempt_order import attempt_warnings
from lpirc_power.errors import MeterError
from lpirc_power.listed import listed
from lpirc_power.notebook.cell import facts_cell
from lpirc_power.notebook.doubtful_energy import DoubtfulEnergy
from lpirc_power.notebook.recording import Recording, given_recordings
from lpirc_power.notebook.stated_half import stated_half_wh
from lpirc_power.report.budget_words import budget_summary, stated_words
from lpirc_power.report.incomplete import verdict_on
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.series_report import attempts_words

MOST_SHOWN: Final = 30
MEAN_ENERGY: Final = "mean-energy"


@dataclass(frozen=True, repr=False)
class MeanEnergy:
    """The mean energy of attempts, in Wh, with the terms of its uncertainty: the meter's, and the spread of attempts.

    `budget` is None if one of the attempts has none.
    """

    energies_wh: tuple[float, ...]
    budget: Budget | None

    @property
    def energy_wh(self) -> float:
        """The mean of the energies."""
        return statistics.fmean(self.energies_wh)

    @property
    def deviation_wh(self) -> float:
        """The standard deviation from attempt to attempt; NaN for a single one."""
        return (
            statistics.stdev(self.energies_wh)
            if len(self.energies_wh) > 1
            else math.nan
        )

    @property
    def uncertainty_wh(self) -> float:
        """The half-width of the stated interval of the mean, with 95.45 %; NaN if it is unknown."""
        return stated_half_wh(self.budget)

    def __str__(self) -> str:
        stated = stated_words(self.energy_wh, self.budget)
        return f"{stated}, on average of {attempts_words(len(self.energies_wh))}"

    def __repr__(self) -> str:
        return f"<mean energy {self}>"

    def _repr_html_(self) -> str:
        shown = {"mean energy": str(self)}
        if not math.isnan(self.deviation_wh):
            deviation = figure(self.deviation_wh, "Wh", 3)
            shown["deviation"] = f"{deviation}, from attempt to attempt"
        if self.budget is not None:
            shown |= budget_summary(self.budget)
        energies = [figure(one, "Wh") for one in self.energies_wh]
        shown["attempts"] = listed(energies, MOST_SHOWN)
        return facts_cell(shown)


def mean_of(
    recordings: Sequence[Recording],
    *,
    mark: str = "",
    above_idle: bool = False,
    incomplete: bool = False,
) -> MeanEnergy:
    """Return the mean energy of recordings of the same work, by the same meter in the same setup.

    `mark` takes the energies of a mark, `above_idle` what is above the idle power. Recordings that were cut off or
    interrupted, whose COMMAND failed, or that need review, do not count unless `incomplete` is True; one without an
    energy never does. A `DoubtfulEnergy` warning names each, meters or setups that differ, a trend from attempt to
    attempt, and attempts far outside the others. A single recording shows no spread, so its uncertainty is the
    meter's alone. Raises MeterError `mean-energy` without a recording that counts, if one is given twice or is none;
    `comparison-energy` if one lacks the mark or the idle power, or has no energy above
    0 of it.
    """
    several = given_recordings(MEAN_ENERGY, recordings)
    if not several:
        raise MeterError(
            MEAN_ENERGY, "There is no mean of no recording; give at least one."
        )
    counted = [one for one in several if _counts(one, incomplete)]
    if not counted:
        raise MeterError(
            MEAN_ENERGY,
            "No recording counts, so there is no mean; record again, or give incomplete=True.",
        )
    _require_different(several)
    _warn_of_others(counted)
    found = [(one.energy_wh, one.budget) for one in counted]
    if mark or above_idle:
        energies = Compared(mark, above_idle)
        parts = [attempt_of(one.recorded, energies) for one in counted]
        found = [(one.energy_wh, one.budget) for one in parts]
    paths = [str(one.path) for one in counted]
    sentences = attempt_warnings([energy_wh for energy_wh, _ in found], paths)
    idles = idle_warnings([one.recorded for one in counted]) if above_idle else []
    for sentence in (*sentences, *idles):
        warnings.warn(DoubtfulEnergy(sentence), stacklevel=2)
    return _mean(found)


def _mean(found: Sequence[tuple[float, Budget | None]]) -> MeanEnergy:
    budgets = [budget for _, budget in found if budget is not None]
    is_whole = len(budgets) == len(found)
    return MeanEnergy(
        tuple(energy_wh for energy_wh, _ in found),
        budget_of_mean(budgets) if is_whole else None,
    )


def _counts(one: Recording, incomplete: bool) -> bool:
    verdict = verdict_on(one.recorded, is_incomplete_taken=incomplete)
    if verdict.fault:
        warnings.warn(DoubtfulEnergy(verdict.sentence), stacklevel=3)
    return verdict.is_counted


def _warn_of_others(counted: Sequence[Recording]) -> None:
    recordings = [one.recorded for one in counted]
    meters = sorted({str(one.identity) for one in recordings})
    differ = settings_that_differ(recordings)
    said = []
    if len(meters) > 1:
        said.append(f"The mean is of several meters: {'; '.join(meters)}.")
    if differ:
        said.append(
            f"The mean is of several setups, which differ in {', '.join(differ)}."
        )
    for sentence in said:
        warnings.warn(DoubtfulEnergy(sentence), stacklevel=3)


def _require_different(recordings: Sequence[Recording]) -> None:
    files: set[Path] = set()
    for one in recordings:
        file = Path(one.path).resolve()
        if file in files:
            raise MeterError(
                MEAN_ENERGY, f"{one.path} is given twice; give each recording once."
            )
        files.add(file)
