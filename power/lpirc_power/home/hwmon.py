"""Current sensors on the board: INA219, INA226, INA3221 and similar chips, as on Jetson boards.

Linux shows them in two layouts (Documentation/hwmon/ina2xx, ina3221, sysfs-interface; and the older one of NVIDIA's own
driver, up to JetPack 4):

- `class/hwmon/hwmonN`: `name`, `in1_input` in mV, `curr1_input` in mA, `in1_label`, and for some chips
  `power1_input` in µW;
- `bus/i2c/drivers/ina3221x/B-00AA/iio:deviceN`: `in_voltage0_input` in mV, `in_current0_input` in mA,
  `in_power0_input` in mW, `rail_name_0`.
"""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterAddressError, MeterUnreachable
from lpirc_power.home import sysfs
from lpirc_power.home.meter import Sample, unofficial

CHANNELS: Final = (1, 2, 3)
"""Channels of a chip: an INA3221 has three.

Its in4 to in7 and curr4 are shunt voltages and sums, not the voltage and current of a channel.
"""
TOTALS: Final = ("VDD_IN", "POM_5V_IN")
"""Rails of Jetson modules that feed all the others."""
UNUSED: Final = "NC"
"""The label of a channel that is not connected (Jetson Orin)."""
_CHIP: Final = re.compile(r"ina\d+\w*", re.IGNORECASE)


@dataclass(frozen=True)
class Channel:
    """A rail: names of its chip and folder, its label, its files, and watts per unit of the power file."""

    chip: str
    place: str
    label: str
    voltage_mv: Path
    current_ma: Path
    power: Path | None
    unit_w: float

    def __str__(self) -> str:
        return f"{self.chip}/{self.label}"

    def answers_to(self, word: str) -> bool:
        """Return True if `word` names this rail: as `CHIP`, `CHIP/LABEL`, `LABEL`, or with the folder as chip.

        A folder's name is hwmon3 or 1-0040.
        """
        chip, _, label = word.casefold().partition("/")
        chips = (self.chip.casefold(), self.place.casefold())
        if label:
            return chip in chips and label == self.label.casefold()
        return chip in (*chips, self.label.casefold())

    def look(self) -> tuple[float, float, float]:
        """Return the present voltage, current and power."""
        voltage_v = sysfs.number(self.voltage_mv, _REMEDY) / 1e3
        current_a = sysfs.number(self.current_ma, _REMEDY) / 1e3
        if self.power is None:
            return voltage_v, current_a, voltage_v * current_a
        return voltage_v, current_a, sysfs.number(self.power, _REMEDY) * self.unit_w


_REMEDY: Final = "to allow that, run `sudo chmod a+r` on the file."


class Hwmon:
    """One channel, or the sum of several. Its energy is the sum of trapezoids between the readings of the sensor."""

    def __init__(self, choice: str, root: Path) -> None:
        """Find the channels that `choice` names, joined by `+`; no choice means the rail that feeds the others.

        `root` is where sysfs is mounted. Raises MeterError `meter-unreachable` (no sensors here),
        `meter-wrong-address` (no such channel, or more than one), `meter-permission`, `meter-lost`.
        """
        found = list(channels(root))
        self._channels = _chosen(choice, found, root)
        self._energy_wh = 0.0
        self._last: tuple[float, float] | None = None
        self.identity = unofficial(
            "hwmon", "+".join(_names(self._channels, found)), platform.release()
        )
        for channel in self._channels:
            channel.look()

    def look(self, now_s: float) -> Sample:
        """Return the present values of the channels; for a sum of channels, only the power is known."""
        voltages_v, currents_a, powers_w = zip(
            *(channel.look() for channel in self._channels), strict=True
        )
        power_w = math.fsum(powers_w)
        if self._last is not None:
            before_s, before_w = self._last
            self._energy_wh += (power_w + before_w) / 2 * (now_s - before_s) / 3600
        self._last = (now_s, power_w)
        voltage_v = math.nan
        current_a = math.nan
        if len(self._channels) == 1:
            (voltage_v,) = voltages_v
            (current_a,) = currents_a
        apparent_va = abs(voltage_v * current_a)
        return Sample(
            energy_wh=self._energy_wh,
            running_s=now_s,
            power_w=power_w,
            voltage_v=voltage_v,
            current_a=current_a,
            apparent_va=apparent_va,
            power_factor=power_w / apparent_va if apparent_va else math.nan,
        )


def channels(root: Path) -> Iterator[Channel]:
    """Yield every connected channel of an INA chip in a sysfs."""
    for folder in sysfs.folders(root / "class" / "hwmon", "hwmon*"):
        yield from _in_hwmon(folder)
    for folder in sysfs.folders(
        root / "bus" / "i2c" / "drivers" / "ina3221x", "*", "iio:device*"
    ):
        yield from _in_iio(folder)


def _in_hwmon(folder: Path) -> Iterator[Channel]:
    name = _optional(folder / "name", "")
    if not _CHIP.fullmatch(name):
        return
    for number in CHANNELS:
        voltage = folder / f"in{number}_input"
        current = folder / f"curr{number}_input"
        power = folder / f"power{number}_input"
        label = _optional(folder / f"in{number}_label", str(number))
        enabled = _optional(folder / f"in{number}_enable", "1") != "0"
        if (
            sysfs.exists(voltage)
            and sysfs.exists(current)
            and enabled
            and label != UNUSED
        ):
            has_power = power if sysfs.exists(power) else None
            yield Channel(name, folder.name, label, voltage, current, has_power, 1e-6)


def _in_iio(folder: Path) -> Iterator[Channel]:
    for number in (0, 1, 2):
        power = folder / f"in_power{number}_input"
        label = _optional(folder / f"rail_name_{number}", str(number))
        if sysfs.exists(power) and label != UNUSED:
            voltage = folder / f"in_voltage{number}_input"
            current = folder / f"in_current{number}_input"
            yield Channel(
                "ina3221", folder.parent.name, label, voltage, current, power, 1e-3
            )


def _optional(path: Path, otherwise: str) -> str:
    return sysfs.text(path, _REMEDY) if sysfs.exists(path) else otherwise


def _chosen(choice: str, found: list[Channel], root: Path) -> list[Channel]:
    if not found:
        raise MeterUnreachable(
            f"This machine shows no INA current sensor in {root / 'class' / 'hwmon'}: only Linux does; Jetson "
            "boards have one, others need an INA219 on their I2C bus."
        )
    if not choice:
        return [_one(found, found, "hwmon:")]
    chosen: list[Channel] = []
    for word in choice.split("+"):
        named = [channel for channel in found if channel.answers_to(word)]
        chosen.append(_one(named, found, f"hwmon:{word}"))
    if len(set(chosen)) < len(chosen):
        raise MeterAddressError(f"hwmon:{choice} would count one channel twice.")
    return chosen


def _one(candidates: list[Channel], found: list[Channel], said: str) -> Channel:
    totals = [channel for channel in candidates if channel.label in TOTALS]
    for likely in (candidates, totals):
        if len(likely) == 1:
            return likely[0]
    names = ", ".join(_names(found, found))
    wrong = "is not a channel" if not candidates else "may be any of several channels"
    raise MeterAddressError(
        f"{said} {wrong} of this machine; name one, or several joined by +, of {names}."
    )


def _names(chosen: list[Channel], found: list[Channel]) -> list[str]:
    """Return channel names that are unique in an address: with the folder's name if two chips share a name."""
    all_names = [str(channel) for channel in found]
    names: list[str] = []
    for channel in chosen:
        name = str(channel)
        if all_names.count(name) > 1:
            name = f"{channel.place}/{channel.label}"
        names.append(name)
    return names
