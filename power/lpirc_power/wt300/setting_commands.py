"""Settings of the WT300 family: for each its command, purpose, accepted values, and how it reads back.

Each setting is one constant below: `to` checks a wanted value and returns the command, `read` parses an answer. A value
that the meter lacks raises MeterError `meter-range` before anything is sent. Source: IM WT310-17EN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.errors import MeterRangeError
from lpirc_power.meter import ALL_ELEMENTS, CREST_FACTORS, MODES, SYNCHRONIZE
from lpirc_power.wt300 import answers
from lpirc_power.wt300.models import Model, listed

AUTOMATIC: Final = "AUTO"
LONGEST_INTERVAL_S: Final = 60.0
"""Largest update interval accepted from an answer; no meter of the family has more than 20 s."""
LONGEST_TIMER_S: Final = 10000 * 3600
MOST_ITEMS: Final = 255


@dataclass(frozen=True)
class Setting:
    """A setting with a value: its header, the written value, and the expected answer to its query.

    `expected` is None if the meter may change the value at once, by itself.
    """

    header: str
    written: str
    expected: str | None

    @property
    def command(self) -> str:
        """The message that makes the setting."""
        return f"{self.header} {self.written}"

    @property
    def query(self) -> str:
        """The message that asks for it."""
        return f"{self.header}?"

    def holds(self, answer: str) -> bool:
        """Return True if an answer to the query confirms the setting."""
        return self.expected is None or answers.same(answer, self.expected)

    def contradicts(self, answer: str) -> bool:
        """Return True if an answer states another valid value; text without meaning is no contradiction."""
        if self.holds(answer):
            return False
        return answers.understood(answer, self.expected or "")


def plain(header: str, written: str) -> Setting:
    """Return a setting that reads back as written."""
    return Setting(header, written, written)


@dataclass(frozen=True)
class Control:
    """A setting of the meter: the header of its command and query, its purpose, and the values it takes."""

    header: str
    purpose: str
    takes: str = "ON, OFF"

    @property
    def query(self) -> str:
        """The message that asks for it."""
        return f"{self.header}?"


class Switch(Control):
    """A setting that is on or off."""

    def to(self, *, on: bool) -> Setting:
        """Return the setting that turns it on or off."""
        return plain(self.header, "ON" if on else "OFF")

    @staticmethod
    def read(answer: str) -> bool:
        """Return True if an answer means on."""
        return answers.boolean(answer)


@dataclass(frozen=True)
class Choice(Control):
    """A setting that takes one of a few words; `what` is its name in messages."""

    what: str = ""
    words: tuple[str, ...] = ()

    def to(self, wanted: str) -> Setting:
        """Return the setting for one of the words."""
        if wanted not in self.words:
            raise MeterRangeError(
                f"The meter has no {self.what} {wanted!r}; it has {', '.join(self.words)}."
            )
        return plain(self.header, wanted.upper())

    def read(self, answer: str) -> str:
        """Return the word in an answer, long or short; an unknown word is returned unchanged."""
        # A short word is a prefix of its long word, and no word of a setting is a prefix of another one.
        short = answer.lower()
        for word in self.words:
            if short and word.startswith(short):
                return word
        return short


class CrestFactor(Control):
    """Setting of the crest factor, 3 or 6."""

    def to(self, factor: int) -> Setting:
        """Return the setting for a crest factor."""
        if factor not in CREST_FACTORS:
            raise MeterRangeError(
                f"The meter has no crest factor {factor}; it has 3 and 6."
            )
        return plain(self.header, str(factor))

    @staticmethod
    def read(answer: str) -> int:
        """Return the crest factor in an answer."""
        # E models have a third crest factor, A6: like 6, but with automatic ranging by the rms value only.
        return 6 if answer.upper() in ("6", "A6") else 3


@dataclass(frozen=True)
class Range(Control):
    """A measuring range; `what` is its name in messages."""

    what: str = ""
    unit: str = ""

    def to(self, wanted: float, choices: tuple[float, ...]) -> Setting:
        """Return the setting for one of the model's ranges at its crest factor."""
        value = listed(wanted, choices, self.what, self.unit)
        written = f"{value:g}{self.unit}"
        if value < 1:
            written = f"{value * 1000:g}M{self.unit}"
        return Setting(self.header, written, f"{value:g}")

    @staticmethod
    def read(answer: str) -> float:
        """Return the range in an answer; NaN for the range of an external current sensor."""
        # EXTERNAL,0.05: the range of a current sensor at its socket, in volts; the range in amperes is unknown.
        return math.nan if answer.upper().startswith("EXT") else answers.value(answer)


class UpdateRate(Control):
    """Setting of the update interval."""

    def to(self, interval_s: float, model: Model) -> Setting:
        """Return the setting for one of the model's update intervals."""
        rate_s = listed(interval_s, model.rates_s, "update interval", "s")
        return Setting(self.header, f"{rate_s * 1000:.0f}MS", f"{rate_s:g}")

    @staticmethod
    def read(answer: str, model: Model) -> float:
        """Return the interval in an answer, in seconds."""
        # E models can follow the signal's period; then only the shortest interval is known.
        if answer.upper() == AUTOMATIC:
            return model.rates_s[0]
        interval_s = answers.value(answer)
        if not 0 < interval_s <= LONGEST_INTERVAL_S:
            raise answers.strange(answer, "an update interval")
        return interval_s


class Timer(Control):
    """Setting of the integrator's timer."""

    def to(self, timer_s: int) -> Setting:
        """Return the setting for a number of whole seconds, written as hours, minutes and seconds."""
        if not 0 <= timer_s <= LONGEST_TIMER_S:
            raise MeterRangeError(
                f"The integrator's timer cannot be {timer_s} s; it takes 0 to {LONGEST_TIMER_S} s."
            )
        minutes, seconds = divmod(timer_s, 60)
        return plain(self.header, f"{minutes // 60},{minutes % 60},{seconds}")


class Wiring(Control):
    """Setting of the wiring, which selects the elements in the sum."""

    def to(self, model: Model) -> Setting:
        """Return the setting for the wiring whose sum covers all of the model's elements."""
        return plain(self.header, model.sum_wiring)


class Word(Control):
    """A setting of which the driver needs only one word."""

    def to(self, word: str) -> Setting:
        """Return the setting for a word."""
        return plain(self.header, word)


class Numbered(Control):
    """A numbered setting; the number follows the header."""

    def to(self, number: int, value: str) -> Setting:
        """Return the setting for a number."""
        return plain(f"{self.header}{number}", value)


# How the meter talks

HEADERS: Final = Switch(":COMMUNICATE:HEADER", "Repeat the header in an answer.")
LONG_WORDS: Final = Switch(
    ":COMMUNICATE:VERBOSE", "Answer in full words instead of abbreviations."
)
REMOTE: Final = Switch(":COMMUNICATE:REMOTE", "Take commands from the link only.")
LOCKOUT: Final = Switch(":COMMUNICATE:LOCKOUT", "Lock the key LOCAL too.")
KEY_LOCK: Final = Switch(":SYSTEM:KLOCK", "Lock the keys of the panel.")

# How it measures

CREST_FACTOR: Final = CrestFactor(
    ":INPUT:CFACTOR",
    "Set the crest factor, the ratio of the largest peak to the range; a new factor sets both ranges to their maximum.",
    "3, 6",
)
MODE: Final = Choice(
    ":INPUT:MODE",
    "Set how voltage and current are averaged.",
    "RMS, VMEAN, DC",
    "mode",
    MODES,
)
LINE_FILTER: Final = Switch(":INPUT:FILTER:LINE", "Filter the measured signal.")
FREQUENCY_FILTER: Final = Switch(
    ":INPUT:FILTER:FREQUENCY", "Filter the signal whose zero crossings are sought."
)
SYNCHRONIZATION: Final = Choice(
    ":INPUT:SYNCHRONIZE",
    "Take the bounds of a period from this signal's zero crossings.",
    "VOLTAGE, CURRENT, OFF",
    "synchronisation",
    SYNCHRONIZE,
)
WIRING: Final = Wiring(
    ":INPUT:WIRING",
    "Choose the elements that the sum covers; meters of several elements only.",
    "P1W3 (WT332, WT332E), P3W4 (WT333, WT333E)",
)
VOLTAGE_RANGE: Final = Range(
    ":INPUT:VOLTAGE:RANGE",
    "Fix the voltage range; ends automatic ranging.",
    "15, 30, 60, 150, 300, 600 V; at crest factor 6 half of that",
    "voltage range",
    "V",
)
VOLTAGE_AUTO: Final = Switch(
    ":INPUT:VOLTAGE:AUTO", "Let the meter choose the voltage range."
)
CURRENT_RANGE: Final = Range(
    ":INPUT:CURRENT:RANGE",
    "Fix the current range; ends automatic ranging.",
    "the ranges of the model in A; at crest factor 6 half of them",
    "current range",
    "A",
)
CURRENT_AUTO: Final = Switch(
    ":INPUT:CURRENT:AUTO", "Let the meter choose the current range."
)
UPDATE_RATE: Final = UpdateRate(
    ":RATE",
    "Set the update interval.",
    "0.1, 0.25, 0.5, 1, 2, 5 s; E models also 10 and 20 s",
)
# The next four are known from public drivers only, scaling by a transformer's ratio by name only, and locks of the
# panel are untried: a meter without them is used as it is.
AVERAGING: Final = Switch(":MEASURE:AVERAGING:STATE", "Average over several updates.")
SCALING: Final = Switch(":INPUT:SCALING:STATE", "Multiply by a transformer's ratio.")
NUMERIC_HOLD: Final = Switch(
    ":NUMERIC:HOLD", "Hold the numeric values, so that later answers repeat them."
)
MAXIMUM_HOLD: Final = Switch(":MEASURE:MHOLD", "Show the largest values so far.")
HOLD: Final = Switch(":HOLD", "Keep what is displayed.")

# How it integrates

INTEGRATE_MODE: Final = Word(
    ":INTEGRATE:MODE", "Integrate once, until the timer or a stop.", "NORMAL"
)
INTEGRATE_TIMER: Final = Timer(
    ":INTEGRATE:TIMER",
    "Stop the integrator after hours, minutes and seconds; 0,0,0: only by a command.",
    "0,0,0 to 10000,0,0",
)

# What it answers

FORMAT: Final = Word(":NUMERIC:FORMAT", "Answer values as text.", "ASCII")
ITEM_NUMBER: Final = Word(
    ":NUMERIC:NORMAL:NUMBER", "Set the number of items in an answer.", "1 to 255"
)
ITEM: Final = Numbered(
    ":NUMERIC:NORMAL:ITEM",
    "Set item n, 1 to 255, to a function of an element.",
    "FUNCTION,ELEMENT",
)
EVENT_FILTER: Final = Numbered(
    ":STATUS:FILTER",
    "Latch a change of condition bit n-1; n is 1 to 16.",
    "RISE, FALL",
)

CONTROLS: Final[tuple[Control, ...]] = (
    *(HEADERS, LONG_WORDS, REMOTE, LOCKOUT, KEY_LOCK),
    *(CREST_FACTOR, MODE, LINE_FILTER, FREQUENCY_FILTER, SYNCHRONIZATION, WIRING),
    *(VOLTAGE_RANGE, VOLTAGE_AUTO, CURRENT_RANGE, CURRENT_AUTO, UPDATE_RATE),
    *(AVERAGING, SCALING, NUMERIC_HOLD, MAXIMUM_HOLD, HOLD),
    *(INTEGRATE_MODE, INTEGRATE_TIMER),
    *(FORMAT, ITEM_NUMBER, ITEM, EVENT_FILTER),
)
"""Settings that the driver makes; docs/wt300-commands.md lists them."""


def item_functions(functions: Sequence[str], element: str) -> list[str]:
    """Return functions of one element, or of the "sum", as written for items."""
    # All elements share one integrator, so TIME has no element; they also share the ranges, which have no sum.
    whole = {"TIME": "TIME"}
    named = element
    if element == ALL_ELEMENTS:
        whole |= {"URANGE": "URANGE,1", "IRANGE": "IRANGE,1"}
        named = "SIGMA"
    return [whole.get(function, f"{function},{named}") for function in functions]
