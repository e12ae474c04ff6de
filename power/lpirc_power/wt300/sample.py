"""Sample of a WT300 meter: its query, and the parser of its answer (IM WT310-17EN, numeric data)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lpirc_power.channels import JOINT, Channel, SummedReading, summed
from lpirc_power.errors import MeterAnswerError
from lpirc_power.meter import IntegratorState, Peaks, Reading
from lpirc_power.wt300 import answers
from lpirc_power.wt300.answers import Flags
from lpirc_power.wt300.run_settings import item, sample_items, sample_number
from lpirc_power.wt300.setting_commands import Setting

RANGES: Final = ("URANGE", "IRANGE")
"""Items that a meter may refuse. If so, the ranges are known only from `settings_watch`."""
PLAIN: Final = ("U", "I", "S", "P", "LAMBDA", "WH", "TIME")
ITEMS: Final = (*PLAIN, *RANGES)
"""Numeric items of a sample, in query order; an onlooker's sample has only the plain ones."""
NEEDED: Final = ("P", "WH", "TIME")
"""Items that a result depends on: each must be a number, while any other unreadable item is just unknown."""
NAMED: Final = (ITEMS.index("P"), ITEMS.index("WH"))
"""Indexes of the items that a result depends on; the meter names these items with each sample."""
OF_A_CHANNEL: Final = ("U", "I", "S", "P", "LAMBDA", "WH")
"""Items of a second and third element, in a sample of several; time and ranges are common to all."""
PEAKS: Final = ("UPPEAK", "UMPEAK", "IPPEAK", "IMPEAK")
EVENTS: Final = ":STATUS:EESR?"
_VALUE: Final = ":NUMERIC:NORMAL:VALUE?"
_PLACE: Final = ":NUM:VAL?"
"""Query of an item's value in short words, for a message with many: some meters accept at most 256 characters."""
_STATE: Final = ":STATUS:CONDITION?;:INTEGRATE:STATE?"
ASIDE: Final = {"1": 201, "2": 212, "3": 223, "sum": 234}
"""First item numbers of onlookers, of 255: after all items that a run or the factory uses, and never restored."""
Stamp = Callable[[Sequence[float], int, int, IntegratorState], Reading]


@dataclass(frozen=True)
class SampleForm:
    """Item numbers of a sample in a meter, and the query for them.

    The items belong to the meter, not to a link. A run uses the first items, and learns of updates from the extended
    event register, which reading clears. An onlooker has items of its own and does not read that register.
    """

    element: str
    aside: bool
    first: int
    question: str
    settings: tuple[Setting, ...]

    @classmethod
    def of_run(cls, element: str, functions: Sequence[str] = ITEMS) -> SampleForm:
        """Return the form of a run's samples and so of its energy; use PLAIN if the meter refuses the default.

        Several elements ("1+3") all have their items, those of the first element first.
        """
        main, *others = element.split(JOINT)
        items = sample_items(functions, main, 1)
        for other in others:
            items += sample_items(OF_A_CHANNEL, other, 1 + len(items))
        question = ";".join((EVENTS, _VALUE, *_named(items), _STATE))
        return cls(element, False, 1, question, (sample_number(len(items)), *items))

    @classmethod
    def of_onlooker(cls, element: str) -> SampleForm:
        """Return the form of samples that disturb no other client."""
        first = ASIDE[element]
        items = sample_items(PLAIN, element, first)
        values = (f"{_PLACE} {place}" for place in range(first, first + len(items)))
        return cls(
            element, True, first, ";".join((*values, *_named(items), _STATE)), items
        )

    def taken(self, answer: str, stamp: Stamp, earlier: int = 0) -> tuple[Reading, int]:
        """Parse an answer to the query; return the reading, and the events since the last update that was read.

        `earlier` holds the events that previous queries have cleared without an update. Bit 0 of the events means that
        the meter has updated. Raises MeterError `meter-answer` if the answer has no meaning, or if the items are no
        longer those that were set.
        """
        parts = answers.parts(answer)
        count = len(self.items)
        values = count if self.aside else 2
        if len(parts) != values + len(NAMED) + 2:
            raise answers.strange(answer, f"{values + len(NAMED) + 2} answers")
        *found, power, energy, condition, state = parts
        events, found = ("0", found) if self.aside else (found[0], found[1].split(","))
        if len(found) != count:
            raise answers.strange(parts[1], f"{count} values")
        numbers = [_number(*one) for one in zip(self._functions, found, strict=True)]
        self._require_items((power, energy))
        latched = earlier | answers.register(events)
        reading = stamp(
            numbers, answers.register(condition), latched, IntegratorState.parse(state)
        )
        return reading, latched

    def stamp(self, monotonic_s: float, utc: datetime, flags: Flags) -> Stamp:
        """Return what makes a reading of this time out of the numbers of an answer, for `taken`."""
        elements = self.element.split(JOINT)
        if len(elements) > 1:
            return functools.partial(summed_reading, monotonic_s, utc, flags, elements)
        return functools.partial(reading, monotonic_s, utc, flags)

    @property
    def _functions(self) -> tuple[str, ...]:
        others = OF_A_CHANNEL * self.element.count(JOINT)
        main = len(self.items) - len(others)
        return (*ITEMS[:main], *others)

    @property
    def items(self) -> tuple[Setting, ...]:
        """The settings that assign the sample's values to their item numbers."""
        return self.settings if self.aside else self.settings[1:]

    def peak_settings(self, elements: tuple[str, ...]) -> tuple[Setting, ...]:
        """Return the settings for items of the peaks, numbered after those of a sample, so that samples omit them."""
        items = [f"{peak},{element}" for element in elements for peak in PEAKS]
        return tuple(
            item(place, text)
            for place, text in enumerate(items, start=self.first + len(self.items))
        )

    def peak_question(self, elements: tuple[str, ...]) -> str:
        """Return the query for all items of `peak_settings`, in one message."""
        first = self.first + len(self.items)
        return ";".join(
            f"{_PLACE} {place}"
            for place in range(first, first + len(PEAKS) * len(elements))
        )

    def _require_items(self, found: Sequence[str]) -> None:
        for place, answer in zip(NAMED, found, strict=True):
            # An echo without meaning is no sign of another program; `changes` reports it after the run.
            if self.items[place].contradicts(answer):
                raise MeterAnswerError(
                    f"The meter gives {answer} where {self.items[place].expected} was set: another program "
                    "has changed the items of its answers."
                )


def _number(function: str, text: str) -> float:
    try:
        return answers.value(text)
    except MeterAnswerError:
        if function in NEEDED:
            raise
        # A range that is changing may be a hyphen, and a power factor without a current `ERROR`.
        return math.nan


def _named(items: Sequence[Setting]) -> tuple[str, ...]:
    return tuple(items[place].query for place in NAMED)


def reading(
    monotonic_s: float,
    utc: datetime,
    flags: Flags,
    numbers: Sequence[float],
    condition: int,
    latched: int,
    state: IntegratorState,
) -> Reading:
    """Return a sample's values, in the order of ITEMS, as a reading at the given time.

    A flag is True if its bit is set in `condition`, that is now, or in `latched`, that is since the previous reading.
    """
    raised = condition | latched
    (
        voltage_v,
        current_a,
        apparent_va,
        power_w,
        power_factor,
        energy_wh,
        integrator_s,
        *ranges,
    ) = numbers
    voltage_range_v, current_range_a = ranges or (math.nan, math.nan)
    over_range = any(
        math.isinf(number) for number in (voltage_v, current_a, apparent_va, power_w)
    )
    return Reading(
        monotonic_s=monotonic_s,
        utc=utc,
        voltage_v=voltage_v,
        current_a=current_a,
        apparent_va=apparent_va,
        power_w=power_w,
        power_factor=power_factor,
        energy_wh=energy_wh,
        integrator_s=integrator_s,
        state=state,
        over_range=over_range or bool(raised & flags.over_range),
        voltage_peak_over=bool(raised & flags.voltage_peak),
        current_peak_over=bool(raised & flags.current_peak),
        voltage_range_v=voltage_range_v,
        current_range_a=current_range_a,
        stopped=bool(latched & answers.INTEGRATING),
    )


def summed_reading(
    monotonic_s: float,
    utc: datetime,
    flags: Flags,
    elements: Sequence[str],
    numbers: Sequence[float],
    condition: int,
    latched: int,
    state: IntegratorState,
) -> SummedReading:
    """Return a sample of several elements: the ITEMS of the first, then OF_A_CHANNEL of each other one."""
    size = len(OF_A_CHANNEL)
    own = len(numbers) - size * (len(elements) - 1)
    of_main = dict(zip(ITEMS, numbers[:own], strict=False))
    groups = [[of_main[name] for name in OF_A_CHANNEL]]
    groups += [[*numbers[at : at + size]] for at in range(own, len(numbers), size)]
    raised = condition | latched
    channels = [
        _channel(element, values, raised)
        for element, values in zip(elements, groups, strict=True)
    ]
    main = numbers[:own]
    first = reading(monotonic_s, utc, flags, main, condition, latched, state)
    return summed(first, channels)


def _channel(element: str, values: Sequence[float], raised: int) -> Channel:
    voltage_v, current_a, apparent_va, power_w, power_factor, energy_wh = values
    return Channel(
        element=element,
        voltage_v=voltage_v,
        current_a=current_a,
        apparent_va=apparent_va,
        power_w=power_w,
        power_factor=power_factor,
        energy_wh=energy_wh,
        is_flagged=bool(raised & Flags.of((element,)).mask),
    )


def largest_peaks(answer: str, elements: int) -> Peaks:
    """Return the largest absolute peaks in an answer to `SampleForm.peak_question`."""
    found = [answers.value(part) for part in answers.parts(answer)]
    if len(found) != len(PEAKS) * elements:
        raise answers.strange(str(found), f"{len(PEAKS) * elements} peaks")
    # For each element: voltage up and down, current up and down.
    return Peaks(
        voltage_v=answers.largest(found[0::4] + found[1::4]),
        current_a=answers.largest(found[2::4] + found[3::4]),
    )
