"""Meters asked by processes of their own: one that hangs holds up a page, never the referee."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.config import Station
from referee.errors import RefereeError
from referee.findings.meter_findings import CLOSE_TIMEOUT_S, TRIAL_S, Trial
from referee.findings.meter_look import LOOK, TRIAL
from referee.seams import Finding

LOOK_PROGRAM = "from referee.findings.meter_look import main; main()"
PROGRAM = "from lpirc_power.cli.main import main; main()"
LONGEST_S = 60.0
"""Longest ranging run of a page."""
MARGIN_S = 45.0
"""Time that VISA may take to find, open and restore a meter."""
TRIAL_MARGIN_S = MARGIN_S + CLOSE_TIMEOUT_S


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


def look_at_station(folder: Path, station: str) -> list[Finding]:
    """Return what doctor finds at the meter of a station in contest.toml. Raises RefereeError `meter-timeout`."""
    return list(_looked(LOOK, folder, station, MARGIN_S).findings)


def trial_at_station(folder: Path, station: str) -> Trial:
    """Measure the idle board of a station in contest.toml; see `trial_run`. Raises RefereeError `meter-timeout`."""
    return _looked(TRIAL, folder, station, TRIAL_S + TRIAL_MARGIN_S)


def _looked(what: str, folder: Path, station: str, timeout_s: float) -> Trial:
    called = [LOOK_PROGRAM, what, str(folder), station]
    answer = _answer(called, timeout_s)
    findings = tuple(Finding(*one) for one in answer["findings"])
    return Trial(findings, answer.get("energy_wh"), answer.get("mean_power_w"))


def _asked(command: str, *words: str, timeout_s: float) -> dict[str, Any]:
    if words and words[0].startswith("-"):  # it would be taken for an option
        raise RefereeError("meter-wrong-address", f"{words[0]!r} is not an address.")
    return _answer([PROGRAM, command, *words, "--json"], timeout_s)


def _answer(called: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """Run a program of ours, and return the JSON document that it prints."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", *called],
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
        sentence = said or f"The command broke off ({ended.returncode})."
        raise RefereeError("meter-refused", sentence) from error
    return answer
