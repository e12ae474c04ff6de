"""Describes the measured device: processor, governor, temperature, throttling, as far as Linux knows."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

PROCESSOR_THERMOMETERS = ("x86_pkg_temp", "cpu", "soc", "coretemp", "package")


def device_facts(core: int | None, root: Path = Path("/")) -> dict[str, Any]:
    """Describe the device; None for unknown values. `root` holds its /proc and /sys."""
    return {
        "host": platform.node(),
        "machine": platform.machine(),
        "processor": _processor(root),
        "cores": os.cpu_count(),
        "governor": _governor(core or 0, root),
        "os": platform.platform(),
        "python": platform.python_version(),
    }


def temperature_c(root: Path = Path("/")) -> float | None:
    """Return the hottest processor sensor, else the hottest of all sensors; None without any."""
    zones: list[tuple[str, float]] = []
    for folder in sorted((root / "sys/class/thermal").glob("thermal_zone*")):
        kind = _line(folder / "type")
        millidegrees = _line(folder / "temp")
        if (
            kind is not None
            and millidegrees is not None
            and millidegrees.lstrip("-").isdigit()
        ):
            zones.append((kind.lower(), int(millidegrees) / 1000))
    of_processor = [
        value for kind, value in zones if kind.startswith(PROCESSOR_THERMOMETERS)
    ]
    return max(of_processor or [value for _, value in zones], default=None)


def throttle_count(root: Path = Path("/")) -> int | None:
    """Return how often cores were throttled for heat since boot; None where Linux does not count it (all but x86)."""
    files = (root / "sys/devices/system/cpu").glob(
        "cpu*/thermal_throttle/core_throttle_count"
    )
    counts = [
        int(text)
        for file in files
        if (text := _line(file)) is not None and text.isdigit()
    ]
    return sum(counts) if counts else None


def _processor(root: Path) -> str | None:
    board = _line(root / "proc/device-tree/model")
    if board:
        return board.rstrip("\0")
    try:
        lines = (root / "proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    for key in ("model name", "Model", "Hardware"):
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    return platform.processor() or None


def _governor(core: int, root: Path) -> str | None:
    return _line(root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")


def _line(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None
