"""Energy counters of the processor: RAPL, as shown by Linux powercap (Documentation/power/powercap), AMD's included.

A zone is a folder `class/powercap/intel-rapl:N` with `name` (package-0, psys) and a counter `energy_uj` that wraps
after `max_energy_range_uj`; the folders `intel-rapl:N:M` are its parts (core, uncore, dram). Linux lets only root read
the counters, since they reveal what the processor computes (CVE-2020-8694).
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterAddressError, MeterUnreachable
from lpirc_power.home import sysfs
from lpirc_power.home.meter import Sample, unofficial

UWS_PER_WH: Final = 3.6e9
SHORTEST_MEAN_S: Final = 0.005
"""Shortest time for a mean power: the counters change about once a millisecond, so a shorter mean is noise."""
OUTSIDE: Final = "dram"
"""The part of a package whose energy the package's counter does not include."""


@dataclass(frozen=True)
class Zone:
    """A counter: its name (prefixed by its package if it is a part of one) and its folder."""

    name: str
    owner: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}" if self.owner else self.name


class Rapl:
    """The sum of some counters: their energy, and the mean power since the previous look."""

    def __init__(self, choice: str, root: Path) -> None:
        """Find the zones that `choice` names, joined by `+`; no choice means every package.

        `root` is where sysfs is mounted. Raises MeterError `meter-unreachable` (no counters here),
        `meter-wrong-address` (no such zone, or one inside another), `meter-permission`, `meter-lost`.
        """
        self._zones = _chosen(choice, zones(root), root)
        self._remedy = _remedy(root)
        self._ranges_uj = [
            self._number(zone, "max_energy_range_uj") for zone in self._zones
        ]
        self._counts_uj = self._counts()
        self._total_uj = 0
        self._power_w = float("nan")
        self._mean_from: tuple[float, int] | None = None
        self.identity = unofficial(
            "rapl", "+".join(map(str, self._zones)), platform.release()
        )

    def look(self, now_s: float) -> Sample:
        """Return the energy and the mean power; at the first look the power is unknown."""
        counts_uj = self._counts()
        self._total_uj += sum(
            map(counted_uj, self._counts_uj, counts_uj, self._ranges_uj)
        )
        self._counts_uj = counts_uj
        if self._mean_from is None:
            self._mean_from = (now_s, self._total_uj)
        elif now_s - self._mean_from[0] >= SHORTEST_MEAN_S:
            self._power_w = (
                (self._total_uj - self._mean_from[1])
                / 1e6
                / (now_s - self._mean_from[0])
            )
            self._mean_from = (now_s, self._total_uj)
        return Sample(
            energy_wh=self._total_uj / UWS_PER_WH,
            running_s=now_s,
            power_w=self._power_w,
        )

    def _counts(self) -> list[int]:
        return [self._number(zone, "energy_uj") for zone in self._zones]

    def _number(self, zone: Zone, file: str) -> int:
        return sysfs.number(zone.folder / file, self._remedy)


def counted_uj(before_uj: int, after_uj: int, range_uj: int) -> int:
    """Return the count between two looks at a counter that wrapped at most once.

    The kernel states the largest value instead of the range, so each wrap loses one step, some 15 to 61 µJ. A package
    at 200 W takes 20 minutes to wrap.
    """
    counted = after_uj - before_uj
    return counted if counted >= 0 else counted + range_uj


def zones(root: Path) -> list[Zone]:
    """Return the zones of a sysfs, packages before their parts; `intel-rapl-mmio` counts the same and is left out."""
    found: dict[str, Zone] = {}
    for folder in sysfs.folders(root / "class" / "powercap", "intel-rapl:*"):
        above, _, _ = folder.name.rpartition(":")
        owner = found.get(above)
        package = str(owner) if owner else ""
        name = sysfs.text(folder / "name", _remedy(root))
        found[folder.name] = Zone(name, package, folder)
    return list(found.values())


def _chosen(choice: str, found: list[Zone], root: Path) -> list[Zone]:
    names = ", ".join(map(str, found))
    if not found:
        raise MeterUnreachable(
            f"This machine shows no energy counters in {root / 'class' / 'powercap'}: only Linux does, and a "
            "virtual machine has none; elsewhere `modprobe intel_rapl_msr` may bring them."
        )
    if not choice:
        packages = [
            zone for zone in found if not zone.owner and zone.name.startswith("package")
        ]
        if not packages:
            raise MeterAddressError(
                f"This machine has no package counter; after `rapl:` give one of {names}."
            )
        return packages
    chosen: list[Zone] = []
    for word in choice.split("+"):
        named = [zone for zone in found if word in (zone.name, str(zone))]
        if not named:
            raise MeterAddressError(
                f"There is no energy counter {word!r} here; after `rapl:` give one of {names}."
            )
        chosen += named
    _require_apart(chosen)
    return chosen


def _require_apart(chosen: list[Zone]) -> None:
    names = [str(zone) for zone in chosen]
    for index, zone in enumerate(chosen):
        within = zone.owner in names and zone.name != OUTSIDE
        # psys is the whole machine, packages included.
        if (
            within
            or str(zone) in names[:index]
            or (zone.name == "psys" and len(chosen) > 1)
        ):
            raise MeterAddressError(
                f"rapl:{'+'.join(names)} counts energy twice: "
                "psys includes all other zones, and a package includes its core and uncore."
            )


def _remedy(root: Path) -> str:
    counters = root / "class" / "powercap" / "intel-rapl:*" / "*energy*"
    rule = (
        'SUBSYSTEM=="powercap", KERNEL=="intel-rapl:*", '
        """RUN+="/bin/sh -c 'chmod a+r /sys%p/*energy*'\""""
    )
    return (
        f"`sudo chmod a+r {counters}` allows it until the machine restarts. To allow it permanently, put the udev rule "
        f"{rule} into /etc/udev/rules.d/70-rapl.rules. Any user can then watch what the processor does."
    )
