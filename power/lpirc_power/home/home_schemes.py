"""The schemes `rapl:` and `hwmon:`: meters for rehearsing at home, made of this machine's own sensors."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import Final

from lpirc_power.clocks import Clocks
from lpirc_power.home.hwmon import Hwmon
from lpirc_power.home.meter import HomeMeter, Sensor
from lpirc_power.home.rapl import Rapl
from lpirc_power.scheme import Scheme

SYSFS: Final = Path("/sys")
SYSFS_VARIABLE: Final = "METER_SYSFS"
"""Environment variable for the mount point of sysfs, if not /sys: a container may see the host's sysfs elsewhere."""


class HomeAddress(Scheme):
    """Sensors of this machine, and the integrator that adds up what they count, from link to link."""

    def __init__(self, rest: str) -> None:
        """Take the choice of sensors; they are looked for by the first link."""
        super().__init__(rest)
        self._meter: HomeMeter | None = None

    @abstractmethod
    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen sensors."""

    def connect(self, clocks: Clocks) -> HomeMeter:
        """Return the one meter of this address."""
        if self._meter is None:
            sysfs = Path(os.environ.get(SYSFS_VARIABLE) or SYSFS)
            self._meter = HomeMeter(self.sensor(sysfs), clocks)
        return self._meter

    def close(self) -> None:
        """Forget the integrator."""
        self._meter = None

    @staticmethod
    def is_simulated(rest: str) -> bool:
        """Return True: a meter for rehearsals never counts."""
        return True


class RaplAddress(HomeAddress):
    """Energy counters of the processor, as `rapl:package-0+dram`."""

    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen counters."""
        return Rapl(self.rest, sysfs)


class HwmonAddress(HomeAddress):
    """Current sensors on the board, as `hwmon:ina3221/VDD_IN`."""

    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen channels."""
        return Hwmon(self.rest, sysfs)
