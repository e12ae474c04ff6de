"""Samples as the harness reads them: their lines, and the summaries of several. Pure.

The message formats are those of public logs (mlcommons/inference_results_v3.0) and of the harness
(mlcommons/power-dev). The values in an answer are in the order in which SPEC CPU2017's client reads them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lpirc_power.channels import Channel, channels_of
from lpirc_power.energy.accuracy_checks import LARGEST_UNCERTAINTY
from lpirc_power.energy.power_error_limit import Load, limit_of_load
from lpirc_power.meter import Limits, Reading, Setup
from lpirc_power.ptd.device import Device

QUANTITIES: Final = ("Watts", "Volts", "Amps", "PF")
UNKNOWN: Final = -1.0


@dataclass(frozen=True)
class Sample:
    """A sample: its known QUANTITIES, the limit of error as a part of the power (None: unknown), and its line.

    `channels` has the values of each channel as text, with its number; empty for a device with one. `is_bad` means that
    a value is missing, over range or clipped; of several channels, one of any.
    """

    values: dict[str, float]
    uncertainty: float | None
    line: str
    is_bad: bool
    channels: tuple[tuple[int, str], ...] = ()

    def logged(self, mark: str) -> str:
        """Return the line of the log file."""
        named = "".join(f",Ch{number},{text}" for number, text in self.channels)
        return f"{self.line},Mark,{mark}{named}"

    @property
    def with_channels(self) -> str:
        """The line of an answer: the sum, then each channel without its number."""
        return ",".join((self.line, *(text for _, text in self.channels)))


def sample_of(
    reading: Reading, device: Device, setup: Setup, limits: Limits | None
) -> Sample:
    """Return the sample of a reading of a device.

    As PTDaemon has it, the sum of several channels has a power alone, and -1 for all else.
    """
    channels = channels_of(reading, setup.element)
    texts = [_text(_of_channel(channel)) for channel in channels]
    values = _of_channel(channels[0])
    is_bad = len(values) < len(QUANTITIES)
    numbered: tuple[tuple[int, str], ...] = ()
    if device.is_multichannel:
        # A channel without a load has no power factor, which is no fault of the sum.
        is_bad = not all(channel.is_whole for channel in channels)
        values = {} if is_bad else {"Watts": reading.power_w}
        numbered = tuple(zip(device.numbers, texts, strict=True))
    limit = _limit(channels, setup, limits)
    line = f"Time,{stamp(reading.utc)},{_text(values)}"
    return Sample(values, limit, line, is_bad, numbered)


def _of_channel(channel: Channel) -> dict[str, float]:
    figures = (
        channel.power_w,
        channel.voltage_v,
        channel.current_a,
        channel.power_factor,
    )
    return _known(figures) if channel.is_whole else {}


def _limit(
    channels: Sequence[Channel], setup: Setup, limits: Limits | None
) -> float | None:
    """Return the sum of the channels' limits of error as a part of their power; None if one is unknown."""
    whole_w = 0.0
    power_w = sum(channel.power_w for channel in channels)
    for channel in channels:
        load = Load(
            channel.voltage_v, channel.current_a, channel.power_w, channel.apparent_va
        )
        found = limit_of_load(replace(setup, element=channel.element), limits, load)
        if found is None:
            return None
        whole_w += found.whole_w
    return whole_w / power_w if power_w > 0 else None


def _known(figures: Sequence[float]) -> dict[str, float]:
    named = zip(QUANTITIES, figures, strict=True)
    return {name: figure for name, figure in named if math.isfinite(figure)}


def _text(values: dict[str, float]) -> str:
    return ",".join(f"{name},{values.get(name, UNKNOWN):f}" for name in QUANTITIES)


def stamp(utc: datetime) -> str:
    """Return a time as the harness reads it."""
    return f"{utc:%m-%d-%Y %H:%M:%S}.{utc.microsecond // 1000:03}"


def listed(samples: Sequence[Sample], *, with_channels: bool) -> str:
    """Return the answer with samples: a line with their number, and one for each."""
    lines = [one.line for one in samples]
    if with_channels:
        lines = [one.with_channels for one in samples]
    return "\r\n".join((f"Last {len(samples)} samples", *lines))


def summary(name: str, samples: Sequence[Sample], missed: int) -> str:
    """Return mean, least and largest value of a quantity, or of the uncertainty, and the counts of samples."""
    if name in QUANTITIES:
        known = [sample.values[name] for sample in samples if name in sample.values]
        counts = [missed + len(samples) - len(known), len(known)]  # bad, good
    else:
        known = [
            sample.uncertainty for sample in samples if sample.uncertainty is not None
        ]
        above = sum(value > LARGEST_UNCERTAINTY for value in known)
        unknown = len(samples) - len(known)
        counts = [above, len(known) - above, unknown]  # bad, good, unknown
    known = known or [UNKNOWN]
    mean = statistics.fmean(known)
    figures = f"{name},{mean:f},{min(known):f},{max(known):f},{len(samples)}"
    return ",".join((figures, *map(str, counts)))
