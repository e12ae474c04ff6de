"""The schemes `rapl:` and `hwmon:`: rehearsal meters made of this machine's own sensors."""

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
"""Environment variable with the mount point of sysfs, by default /sys; a container may mount the host's elsewhere."""


class HomeAddress(Scheme):
    """An address of this machine's sensors; its integrator keeps its sums when a link is closed and reopened."""

    def __init__(self, rest: str) -> None:
        """Store the choice of sensors; the first `connect` looks for them."""
        super().__init__(rest)
        self._meter: HomeMeter | None = None

    @abstractmethod
    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen sensors."""

    def connect(self, clocks: Clocks) -> HomeMeter:
        """Return the address's only meter."""
        if self._meter is None:
            sysfs = Path(os.environ.get(SYSFS_VARIABLE) or SYSFS)
            self._meter = HomeMeter(self.sensor(sysfs), clocks)
        return self._meter

    def close(self) -> None:
        """Discard the integrator."""
        self._meter = None

    @staticmethod
    def is_simulated(rest: str) -> bool:
        """Return True: results of a rehearsal meter are never official."""
        return True


class RaplAddress(HomeAddress):
    """Energy counters of the processor, for example `rapl:package-0+dram`."""

    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen counters."""
        return Rapl(self.rest, sysfs)


class HwmonAddress(HomeAddress):
    """Current sensors on the board, for example `hwmon:ina3221/VDD_IN`."""

    def sensor(self, sysfs: Path) -> Sensor:
        """Return the chosen channels."""
        return Hwmon(self.rest, sysfs)
