"""What a meter at home measures with: something that is looked at, and counts energy from look to look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from power.meter import UNOFFICIAL, Identity


@dataclass(frozen=True)
class Sample:
    """What a sensor shows at one moment; NaN where it does not know.

    `energy_wh` and `running_s` count on from look to look; only their differences mean something. `ended` says that
    nothing will come any more.
    """

    energy_wh: float
    running_s: float
    power_w: float = math.nan
    voltage_v: float = math.nan
    current_a: float = math.nan
    apparent_va: float = math.nan
    power_factor: float = math.nan
    over_range: bool = False
    voltage_peak_over: bool = False
    current_peak_over: bool = False
    ended: bool = False


def unofficial(model: str, serial: str, firmware: str) -> Identity:
    """Return the identity of a meter at home; blanks become _, since an identity is written with blanks between."""
    return Identity(UNOFFICIAL, model, "_".join(serial.split()), "_".join(firmware.split()))


class Sensor(Protocol):
    """A place to look at. Every call can raise MeterError; times are seconds of one monotonic clock."""

    @property
    def identity(self) -> Identity:
        """The meter that it makes: maker UNOFFICIAL, the kind, what was chosen, what it rests on."""
        ...

    def begin(self, now_s: float) -> None:
        """Take note that an integral begins; only a recording has to."""
        ...

    def look(self, now_s: float) -> Sample:
        """Return what there is now."""
        ...
