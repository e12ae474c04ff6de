"""What a long recording costs: processor time beside a meter in another process, and memory after many readings."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench.figures import as_markdown, peak_memory_mb, replace_part, row, show
from bench.power import simulator
from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.meter import Identity, IntegratorState, Reading, Setup
from lpirc_power.recording_run.logbook import Logbook
from lpirc_power.report.recording_report import Recorded, recorded_facts

UPDATE_S: Final = 0.1
SHORT_S: Final = 60
LONG_S: Final = 300
HOUR: Final = 36_000
BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
SETUP: Final = Setup(150.0, 0.5, UPDATE_S, 0)
DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "lab.md"
BEGIN: Final = '<!-- recording: make bench ARGS="recording --save" -->'
END: Final = "<!-- end of recording -->"


def measure() -> list[dict[str, Any]]:
    """Measure and show the figures."""
    share, fixed_s, rows = _processor()
    ends_s, more = _memory()
    # The end of an hour has more to check than that of a minute.
    hour = share + (fixed_s + ends_s[0]) / 3600.0
    what = "an hour at 10 Hz with its end, extrapolated, % of a core"
    rows = [*rows, row(what, 100 * hour, 1.5), *more]
    show("a long recording", rows)
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Put the figures into the page."""
    replace_part(DOCUMENT, BEGIN, f"\n{as_markdown(rows)}\n", END)


def _processor() -> tuple[float, float, list[dict[str, Any]]]:
    """Record twice with the command itself; what the longer one costs more is what recording costs."""
    with simulator() as (address, _), tempfile.TemporaryDirectory() as folder:
        short = _recorded(address, SHORT_S, folder)
        long = _recorded(address, LONG_S, folder)
    share = (long["cpu_s"] - short["cpu_s"]) / (LONG_S - SHORT_S)
    fixed_s = short["cpu_s"] - share * SHORT_S
    rows = [
        row("processor time while recording at 10 Hz, % of a core", 100 * share, 1.5),
        row("start and end of a short recording, s", fixed_s),
        row(f"readings in {LONG_S} s", long["readings"], LONG_S / UPDATE_S),
        row(f"largest memory of the command in {LONG_S} s, MB", long["memory_mb"]),
    ]
    return share, fixed_s, rows


def _recorded(address: str, seconds: int, folder: str) -> dict[str, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(  # noqa: S603  our own command
        [
            *(sys.executable, "-m", "lpirc_power", "record", address, "--force"),
            *("-o", str(Path(folder, "run.csv")), "--duration", str(seconds)),
            *("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1"),
            "--json",
        ],
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    facts = json.loads(ended.stdout)
    return {
        "cpu_s": used_s,
        "readings": facts["readings"],
        "memory_mb": after.ru_maxrss / 1024.0,
    }


def _memory() -> tuple[list[float], list[dict[str, Any]]]:
    """Take many readings as fast as they can be made; each number in a process of its own."""
    rows = []
    ends_s = []
    for count, name in ((HOUR, "1 h"), (10 * HOUR, "10 h")):
        with get_context("spawn").Pool(1) as process:
            found = process.apply(_many, (count,))
        ends_s.append(found["end_s"])
        rows += [
            row(
                f"memory that {name} adds while it is recorded, MB",
                found["taken_mb"],
                1,
            ),
            row(f"memory that the end of {name} adds, MB", found["end_mb"]),
            row(f"processor time of the end of {name}, s", found["end_s"]),
        ]
    return ends_s, rows


def _many(count: int) -> dict[str, float]:
    os.nice(19)  # this computes, and may wait
    limits = limits_of("WT310")
    start_mb = peak_memory_mb()
    with tempfile.TemporaryDirectory() as folder:
        logbook = Logbook(Path(folder, "run.csv"), force=False)
        with logbook.opened():
            for number in range(1, count + 1):
                logbook.take(_reading(number))
            taken_mb = peak_memory_mb()
        begun_s = time.process_time()
        lasted_s = count * UPDATE_S
        last = _reading(count)
        measured = Measurement(
            last.energy_wh, last.integrator_s, 0.0, lasted_s, SETUP, "WT310", limits
        )
        identity = Identity("YOKOGAWA", "WT310", "S1", "F1")
        recorded_facts(
            Recorded(identity, measured, logbook.readings, None, (), "run.csv", count)
        )
    return {
        "taken_mb": taken_mb - start_mb,
        "end_mb": peak_memory_mb() - taken_mb,
        "end_s": time.process_time() - begun_s,
    }


def _reading(number: int) -> Reading:
    at_s = number * UPDATE_S
    power_w = 36.0 + 3.0 * math.sin(at_s)
    energy_wh = (36.0 * at_s + 3.0 * (1.0 - math.cos(at_s))) / 3600.0
    return Reading(
        monotonic_s=at_s,
        utc=BEGAN + timedelta(seconds=at_s),
        voltage_v=120.0,
        current_a=power_w / 120.0,
        apparent_va=power_w,
        power_w=power_w,
        power_factor=1.0,
        energy_wh=energy_wh,
        integrator_s=float(int(at_s)),
        state=IntegratorState.START,
        over_range=False,
        voltage_peak_over=False,
        current_peak_over=False,
        voltage_range_v=150.0,
        current_range_a=0.5,
    )
