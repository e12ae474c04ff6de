"""Measuring ranges: their values, their upper and lower limits, and automatic ranging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lpirc_power.simulator.simulated_models import VOLTAGES_V, Model

CREST_FACTORS: Final = ("3", "6", "A6")
"""Crest factors. A6 means crest factor 6A of the E models: the ranges of crest factor 6, with twice the upper limit."""
OVER: Final = 1.4
UP: Final = 1.3
DOWN: Final = 0.3
FITS_BELOW: Final = 1.25
PEAK_OVER: Final = 10 / 9
"""Peak limit relative to crest factor x range: about 333 % of the range, 667 % at crest factor 6."""
_ROUNDING: Final = 1 + 1e-9  # means of a constant are not quite constant
SMALLEST: Final = {"3": 0.005, "6": 0.01, "A6": 0.01}


class Axis:
    """Ranges of voltage or of current: one setting for all elements of a meter."""

    def __init__(self, at_three: Sequence[float], over_at_top: float = OVER) -> None:
        self._at_three = tuple(at_three)
        self._over_at_top = over_at_top
        self.crest_factor = "3"
        self.index = len(self._at_three) - 1
        self.auto = True
        self.usable: Sequence[int] = range(len(self._at_three))
        """Indexes of the ranges available to automatic ranging, in rising order."""

    def listed(self) -> list[float]:
        """Return the ranges at the present crest factor; 6 and 6A halve them."""
        share = 1.0 if self.crest_factor == "3" else 0.5
        return [value * share for value in self._at_three]

    def value(self) -> float:
        """Return the present range."""
        return self.listed()[self.index]

    def peak_limit(self) -> float:
        """Return the momentary value above which a wave is clipped."""
        return self.value() * PEAK_OVER * self._most_peak()

    def is_over(self, rms: float) -> bool:
        """Return True if a value is over range."""
        at_top = self.index == len(self._at_three) - 1
        return (
            abs(rms)
            > (self._over_at_top if at_top else OVER) * self._reach() * self.value()
        )

    def is_too_small(self, rms: float) -> bool:
        """Return True if a value is so small that it is displayed as zero."""
        return abs(rms) <= SMALLEST[self.crest_factor] * self.value()

    def follow(self, rms: float, peak: float) -> bool:
        """Switch an automatic range that does not fit; return True if it switched.

        A real meter may take several updates for a large step; the simulator takes one.
        """
        wanted = self._fitting(rms, peak) if self.auto else self.index
        switched = wanted != self.index
        self.index = wanted
        return switched

    def _fitting(self, rms: float, peak: float) -> int:
        ranges = self.listed()
        index = self.index
        most = self._most_peak()
        if rms > UP * self._reach() * ranges[index] or peak > most * ranges[index]:
            for larger in (place for place in self.usable if place > index):
                if (
                    rms > UP * self._reach() * ranges[index]
                    or peak > most * ranges[index]
                ):
                    index = larger
            return index
        for smaller in (place for place in reversed(self.usable) if place < index):
            if not (
                rms <= DOWN * ranges[index] * _ROUNDING
                and rms <= FITS_BELOW * ranges[smaller]
                and peak <= most * ranges[smaller]
            ):
                break
            index = smaller
        return index

    def _most_peak(self) -> float:
        return 3.0 if self.crest_factor == "3" else 6.0

    def _reach(self) -> float:
        return 2.0 if self.crest_factor == "A6" else 1.0


class Ranges:
    """Voltage and current ranges, and their common crest factor."""

    def __init__(self, model: Model) -> None:
        self.voltage = Axis(VOLTAGES_V)
        self.current = Axis(model.currents_a, model.over_at_top)
        self._protected_a = model.protected_a

    @property
    def crest_factor(self) -> str:
        """The crest factor: 3, 6 or A6."""
        return self.current.crest_factor

    def set_crest_factor(self, word: str) -> None:
        """Change the crest factor, which forces both ranges to their largest."""
        for axis in (self.voltage, self.current):
            axis.crest_factor = word
            axis.index = len(axis.listed()) - 1

    def is_protected(self) -> bool:
        """Return True if a sustained overload makes the meter leave the present current range to save its input."""
        at_three = self.current.value() * (1.0 if self.crest_factor == "3" else 2.0)
        return not self.current.auto and at_three <= self._protected_a

    def protect(self) -> None:
        """Protect the input as the meter does: automatic ranging from 1 A (0.5 A at crest factor 6)."""
        wanted = 1.0 if self.crest_factor == "3" else 0.5
        self.current.index = self.current.listed().index(wanted)
        self.current.auto = True
