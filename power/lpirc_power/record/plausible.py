"""Values that no recording can have, though their types are right. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lpirc_power.energy import Measurement
from lpirc_power.record.document import Record
from lpirc_power.record.setup_values import setup_problems


def implausible(record: Record) -> str:
    """Return the first value that cannot be, as a clause that names it; empty if there is none."""
    return next(_problems(record), "")


def _problems(record: Record) -> Iterator[str]:
    for problem in setup_problems(record.setup):
        yield f"setup.{problem}"
    if record.started is not None:
        start_s = record.started.start.monotonic_s
        if not math.isfinite(start_s):
            yield f"started.start.monotonic_s is {start_s:g}"
    if record.ended is not None:
        for problem in setup_problems(record.ended.measured.setup):
            yield f"ended.measured.setup.{problem}"
        yield from _of_times(record.ended.measured)


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
