"""Values that no recording can have, though their types are right. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from lpirc_power.energy import Measurement
from lpirc_power.record.document import Record
from lpirc_power.record.setup_values import setup_problems

ROUNDING_S: Final = 1e-6
"""How far a time that is a difference of others may be below 0."""
_OF_IDLE: Final = ("duration_s", "readings", "spread_w", "standard_w", "freedom")


def implausible(record: Record) -> str:
    """Return the first value that cannot be, as a clause that names it; empty if there is none."""
    return next(_problems(record), "")


def _problems(record: Record) -> Iterator[str]:
    if record.budget_version < 1:
        yield f"budget_version is {record.budget_version}"
    for problem in setup_problems(record.setup):
        yield f"setup.{problem}"
    if record.started is not None:
        start_s = record.started.start.monotonic_s
        if not math.isfinite(start_s):
            yield f"started.start.monotonic_s is {start_s:g}"
        yield from _negative(record.started.idle, "started.idle", _OF_IDLE)
    if record.ended is not None:
        for problem in setup_problems(record.ended.measured.setup):
            yield f"ended.measured.setup.{problem}"
        yield from _of_times(record.ended.measured)
        yield from _negative(record.ended, "ended", ("readings", "rows", "marks_lost"))
        for mark in record.ended.marks:
            yield from _negative(mark, "ended.marks", ("doubt_s",))


def _negative(of: object, place: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the values that are below 0 though they count something or say how wide something is."""
    for name in names:
        value = getattr(of, name, 0.0)
        if value < 0:
            yield f"{place}.{name} is {value:g}"


def _of_times(measured: Measurement) -> Iterator[str]:
    place = "ended.measured"
    if not math.isfinite(measured.start_s) or not math.isfinite(measured.end_s):
        yield f"{place} begins at {measured.start_s:g} s and ends at {measured.end_s:g} s"
    elif measured.end_s < measured.start_s:
        yield f"{place} ends before it begins"
    for name in ("start_stop_s", "late_s"):
        value = getattr(measured, name)
        if value is not None and not -ROUNDING_S <= value < math.inf:
            yield f"{place}.{name} is {value:g}"
    if measured.integrator_s < 0:
        yield f"{place}.integrator_s is {measured.integrator_s:g}"
