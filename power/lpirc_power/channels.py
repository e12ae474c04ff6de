"""Readings of several input elements at once: each element is a channel, and the reading is their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.meter import Reading

JOINT: Final = "+"
"""Joins elements to the element of a setup: "1+3" measures the elements 1 and 3, and reads each with every sample."""


@dataclass(frozen=True)
class Channel:
    """Values of one element in a sample: volts, amperes, voltamperes, watts, watt-hours.

    NaN means that the meter had no data, infinity that it was over range. `is_flagged` means over range or clipped.
    """

    element: str
    voltage_v: float
    current_a: float
    apparent_va: float
    power_w: float
    power_factor: float
    energy_wh: float
    is_flagged: bool

    @property
    def is_whole(self) -> bool:
        """True if the values are those of the signal: all are numbers, and no flag is raised."""
        values = (self.voltage_v, self.current_a, self.power_w)
        return not self.is_flagged and all(map(math.isfinite, values))


@dataclass(frozen=True)
class SummedReading(Reading):
    """A reading of several channels: voltage and current are their means, all other values their sums."""

    channels: tuple[Channel, ...] = ()


def channels_of(reading: Reading, element: str) -> tuple[Channel, ...]:
    """Return the channels of a reading; `element` is that of a reading with one alone."""
    if isinstance(reading, SummedReading):
        return reading.channels
    raised = (reading.over_range, reading.voltage_peak_over, reading.current_peak_over)
    alone = Channel(
        element=element,
        voltage_v=reading.voltage_v,
        current_a=reading.current_a,
        apparent_va=reading.apparent_va,
        power_w=reading.power_w,
        power_factor=reading.power_factor,
        energy_wh=reading.energy_wh,
        is_flagged=any(raised),
    )
    return (alone,)


def joined(elements: Sequence[str]) -> str:
    """Return the element of a setup that measures each of `elements`: "1+2", or "1" for one alone."""
    return JOINT.join(elements)


def summed(first: Reading, channels: Sequence[Channel]) -> SummedReading:
    """Return the reading of several channels; flags, states and time are those of `first`."""
    values = replace(
        first,
        voltage_v=_mean([channel.voltage_v for channel in channels]),
        current_a=_mean([channel.current_a for channel in channels]),
        apparent_va=sum(channel.apparent_va for channel in channels),
        power_w=sum(channel.power_w for channel in channels),
        energy_wh=sum(channel.energy_wh for channel in channels),
        over_range=first.over_range or _is_over(channels),
    )
    factor = math.nan
    if values.apparent_va and math.isfinite(values.apparent_va):
        factor = values.power_w / values.apparent_va
    named = {**vars(values), "power_factor": factor}
    return SummedReading(**named, channels=tuple(channels))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _is_over(channels: Sequence[Channel]) -> bool:
    values = [
        (channel.voltage_v, channel.current_a, channel.power_w) for channel in channels
    ]
    return any(math.inf in one for one in values)
