"""Packed rows: seven little-endian float32 each, 28 bytes, for boards where formatting numbers costs energy.

float32 has 24 bits of precision: whole numbers are exact below 2^24. An id from there on could be rounded to its
neighbour, so it is refused.
"""

from __future__ import annotations

import numpy as np

from referee.detections.checking import bad_rows
from referee.detections.rows import ProblemList, Rows, plain

ROW_BYTES = 28
FIRST_INEXACT = 2.0**24


def parse_packed(body: bytes) -> Rows:
    """Read packed rows. Raises RefereeError `bad-rows` for a cut row."""
    count, left_over = divmod(len(body), ROW_BYTES)
    if left_over:
        problems = ProblemList()
        problems.add(count + 1, f"a packed row is {ROW_BYTES} bytes, the last one has {left_over}")
        raise bad_rows(problems)
    rows = Rows.numbered(np.frombuffer(body, "<f4").astype(np.float64).reshape(-1, 7))
    inexact = np.flatnonzero(
        ((rows.values[:, :2] >= FIRST_INEXACT) & np.isfinite(rows.values[:, :2])).any(axis=1)
    )
    for row in inexact:
        number = plain(rows.values[row, :2].max())
        rows.unreadable.add(int(row) + 1, f"{number} is not exact in float32; send such ids as text or JSON")
    return rows
