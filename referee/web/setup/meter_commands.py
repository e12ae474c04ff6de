"""The command `meter` in a process of its own: a meter that hangs holds up a page, never the referee."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from referee.config import Station
from referee.errors import RefereeError

PROGRAM = "from lpirc_power.cli.main import main; main()"
LONGEST_S = 60.0
"""Longest ranging run of a page."""
MARGIN_S = 45.0
"""Time that VISA may take to find, open and restore a meter."""


@dataclass(frozen=True)
class Ranges:
    """Fixed ranges that a ranging run proposes, with the reasons; None if no range is large enough."""

    voltage_v: float | None
    current_a: float | None
    reasons: tuple[str, ...]
    again: str | None
    """Why the ranging run must be repeated, or None."""


def find_meters() -> list[dict[str, Any]]:
    """Return what answers on USB, on the network and at serial ports. Raises RefereeError `meter-not-found`."""
    found = _asked("find", timeout_s=MARGIN_S)
    return list(found["found"])


def probe_meter(address: str) -> dict[str, Any]:
    """Return identity, settings and a reading of a meter, without changing it. Raises RefereeError."""
    return _asked("probe", address, timeout_s=MARGIN_S)


def range_meter(station: Station, seconds: float) -> Ranges:
    """Watch a station's load for some seconds with automatic ranges, and propose fixed ones. Raises RefereeError."""
    found = _asked(
        "range",
        station.meter,
        "--duration",
        f"{seconds:g}",
        "--crest-factor",
        str(station.crest_factor),
        "--mode",
        station.mode,
        "--element",
        station.element,
        timeout_s=seconds + MARGIN_S,
    )
    return Ranges(
        found["voltage_range_v"],
        found["current_range_a"],
        tuple(found["reasons"]),
        found["run_again"],
    )


def _asked(command: str, *words: str, timeout_s: float) -> dict[str, Any]:
    if words and words[0].startswith("-"):  # it would be taken for an option
        raise RefereeError("meter-wrong-address", f"{words[0]!r} is not an address.")
    called = [sys.executable, "-P", "-c", PROGRAM, command, *words, "--json"]
    try:
        ended = subprocess.run(  # noqa: S603 - our own program
            called,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        sentence = f"The meter has not answered within {timeout_s:.0f} s; check its cable and its address."
        raise RefereeError("meter-timeout", sentence) from error
    try:
        answer: dict[str, Any] = json.loads(ended.stdout)
    except ValueError as error:
        said = ended.stderr.strip().rpartition("\n")[2].removeprefix("meter: ")
        sentence = said or f"The command meter broke off ({ended.returncode})."
        raise RefereeError("meter-refused", sentence) from error
    return answer
