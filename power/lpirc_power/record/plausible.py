"""Values that no recording can have, though their types are right. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lpirc_power.energy import Measurement
from lpirc_power.meter import CREST_FACTORS, MODES, Setup
from lpirc_power.record.document import Record

SHORTEST_UPDATE_S: Final = 1e-4
LONGEST_UPDATE_S: Final = 1e6


def implausible(record: Record) -> str:
    """Return the first value that cannot be, as a clause that names it; empty if there is none."""
    return next(_problems(record), "")


def _problems(record: Record) -> Iterator[str]:
    yield from _of_setup(record.setup, "setup")
    if record.started is not None:
        start_s = record.started.start.monotonic_s
        if not math.isfinite(start_s):
            yield f"started.start.monotonic_s is {start_s:g}"
    if record.ended is not None:
        yield from _of_setup(record.ended.measured.setup, "ended.measured.setup")
        yield from _of_times(record.ended.measured)


def _of_setup(setup: Setup, place: str) -> Iterator[str]:
    interval_s = setup.update_interval_s
    if not SHORTEST_UPDATE_S <= interval_s <= LONGEST_UPDATE_S:
        yield f"{place}.update_interval_s is {interval_s:g}"
    if setup.crest_factor not in CREST_FACTORS:
        yield f"{place}.crest_factor is {setup.crest_factor}"
    if setup.mode not in MODES:
        yield f"{place}.mode is {setup.mode!r}"
    for name in ("voltage_range_v", "current_range_a"):
        value = getattr(setup, name)
        if value is not None and not 0 < value < math.inf:
            yield f"{place}.{name} is {value:g}"
    if setup.integrator_timer_s < 0:
        yield f"{place}.integrator_timer_s is {setup.integrator_timer_s}"
    if not 0 <= setup.ambient_change_c < math.inf:
        yield f"{place}.ambient_change_c is {setup.ambient_change_c:g}"


def _of_times(measured: Measurement) -> Iterator[str]:
    place = "ended.measured"
    if not math.isfinite(measured.start_s) or not math.isfinite(measured.end_s):
        yield f"{place} begins at {measured.start_s:g} s and ends at {measured.end_s:g} s"
    elif measured.end_s < measured.start_s:
        yield f"{place} ends before it begins"
    for name in ("start_stop_s", "late_s"):
        value = getattr(measured, name)
        if value is not None and not math.isfinite(value):
            yield f"{place}.{name} is {value:g}"
