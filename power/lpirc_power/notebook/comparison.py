"""Compares recordings: which work takes more energy, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lpirc_power.comparison.attempts import (
    Choice,
    Compared,
    Side,
    require_different,
    side_of,
)
from lpirc_power.comparison.comparing import compared
from lpirc_power.comparison.comparison_report import (
    Comparison,
    comparison_facts,
    comparison_lines,
    sentence,
    wrong_names,
)
from lpirc_power.errors import MeterError
from lpirc_power.notebook.cell import text_cell
from lpirc_power.notebook.recording import Recording, given_recordings

SIDES: Final = "comparison-sides"


@dataclass(frozen=True)
class EnergyComparison:
    """Two sides, each of one or more recordings. `print` gives the lines of `meter compare`."""

    comparison: Comparison

    @property
    def sentence(self) -> str:
        """One sentence: whether a difference is shown, and which."""
        return sentence(self.comparison)

    @property
    def is_shown(self) -> bool | None:
        """Whether a difference is shown, False while an error is unknown; None if single recordings cannot tell."""
        return self.comparison.difference.is_shown

    @property
    def ratio(self) -> float:
        """The mean energy of the second side divided by that of the first."""
        return self.comparison.ratio.value

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """The ends of the interval that holds the ratio with 95.45 %, by the errors that are known; NaN without one.

        The upper end is infinite if the first side's energy may be anything above 0.
        """
        found = self.comparison.ratio
        return found.low, found.high

    @property
    def difference_wh(self) -> float:
        """By how much the mean energy of the second side is larger."""
        return self.comparison.difference.value_wh

    @property
    def difference_uncertainty_wh(self) -> float:
        """The half-width of the interval that holds the difference with 95.45 %; NaN without one."""
        found = self.comparison.difference
        return found.half_wh if found.is_known else math.nan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what speaks against the comparison."""
        return tuple(self.comparison.warnings)

    def document(self) -> dict[str, Any]:
        """Return everything, ready for JSON: the document of `meter compare --json`."""
        return comparison_facts(self.comparison)

    def __str__(self) -> str:
        return "\n".join(comparison_lines(self.comparison))

    def _repr_html_(self) -> str:
        return text_cell(comparison_lines(self.comparison))


def compare(
    first: Recording | Sequence[Recording],
    second: Recording | Sequence[Recording],
    *,
    paired: bool = False,
    mark: str = "",
    above_idle: bool = False,
    incomplete: bool = False,
    names: tuple[str, str] = ("A", "B"),
    least: float = 0.02,
) -> EnergyComparison:
    """Compare the energies of two sides; errors of the meter that both have in common cancel.

    Recordings that were cut off or interrupted, whose COMMAND failed, or that need review, do not count unless
    `incomplete` is True; one without an energy never does.
    `paired` compares each recording of one side with that of the other in the same place, made in turn. `mark` compares
    the energies of a mark, `above_idle` what is above the idle power. `least` is the smallest difference of interest, a
    part of 1: the sentence says how many attempts would show it. Raises MeterError `comparison-energy` if no recording
    of a side counts, `comparison-repeated` for a recording that is given twice, `comparison-sides` for sides that do
    not fit.
    """
    if isinstance(names, str) or len(names) != 2:
        raise _wrong(f"names is {names!r}; give one for each of the two sides.")
    if not all(isinstance(name, str) for name in names):
        raise _wrong(f"names is {names!r}; names are texts.")
    if problem := wrong_names(names):
        raise _wrong(f"The names are {names[0]!r} and {names[1]!r}; {problem}.")
    if not 0.0 < least <= 1.0:
        raise _wrong(
            f"least is {least}; give a part of 1, above 0, such as 0.02 for 2 %."
        )
    energies = Compared(mark, above_idle)
    choice = Choice(energies, incomplete)
    one = _side(names[0], first, choice)
    other = _side(names[1], second, choice)
    require_different(one, other)
    counts = [len(side.attempts) for side in (one, other)]
    if paired and counts[0] != counts[1]:
        raise _wrong(
            f"Pairs need as many recordings of both: {names[0]} has {counts[0]}, {names[1]} has {counts[1]}."
        )
    return EnergyComparison(
        compared(one, other, least, is_paired=paired, energies=energies)
    )


def _side(name: str, given: Recording | Sequence[Recording], choice: Choice) -> Side:
    recordings = given_recordings(SIDES, given)
    if not recordings:
        raise _wrong(f"{name} has no recording; give at least one of each side.")
    return side_of(name, [one.recorded for one in recordings], choice)


def _wrong(said: str) -> MeterError:
    return MeterError(SIDES, said)
