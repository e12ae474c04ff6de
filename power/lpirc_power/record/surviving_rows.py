"""The rows that are left of a recording's CSV file after something else has cut it, or has written to it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lpirc_power.energy.reading_columns import ReadingColumns
from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading
from lpirc_power.recording import reading_of


def surviving(
    lines: Iterable[bytes], from_s: float = -math.inf, to_s: float = math.inf
) -> ReadingColumns:
    """Return the readings whose rows are whole, in order, and within a span of the monotonic clock."""
    found = ReadingColumns()
    last_s = from_s
    for line in lines:
        one = _reading(line)
        if one is not None and last_s <= one.monotonic_s <= to_s:
            found.append(one)
            last_s = one.monotonic_s
    return found


def _reading(line: bytes) -> Reading | None:
    if not line.endswith(b"\n") or b"\0" in line:
        return None
    try:
        return reading_of(line.decode("utf-8").strip())
    except (MeterError, ValueError):
        return None
