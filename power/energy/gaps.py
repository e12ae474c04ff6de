"""Checks of what is missing among the readings: pauses, and readings without data. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement
from power.meter import Reading

SHORTEST_GAP_S: Final = 2.0
"""A pause between readings that is never called a gap."""
LEAST_PART: Final = 0.9
"""Of the updates outside gaps: a busy host misses some, without a pause that is long enough to be a gap."""
SPARED_UPDATES: Final = 2.0
SPARED_S: Final = 0.5
"""What no window need have: updates at its edges, and those while the meter hears nothing after its start."""


def _pauses_s(inside: Sequence[Reading], measured: Measurement, longer_than_s: float) -> list[float]:
    times = [measured.start_s, *sorted(reading.monotonic_s for reading in inside), measured.end_s]
    return [later - earlier for earlier, later in pairwise(times) if later - earlier > longer_than_s]


def reading_gaps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`reading-gaps`: no pause longer than three updates and two seconds, and outside of them few updates missed."""
    limit_s = longest_pause_s(measured)
    found_s = _pauses_s(inside, measured, limit_s)
    longest_s = max(found_s, default=0.0)
    expected = max(measured.elapsed_s - sum(found_s), 0.0) / measured.setup.update_interval_s
    spared = SPARED_UPDATES + SPARED_S / measured.setup.update_interval_s
    missed = len(inside) < LEAST_PART * expected - spared
    sentences = []
    if found_s:
        sentences.append(
            f"Gaps in the readings: {len(found_s)}, {sum(found_s):.1f} s in all, the longest {longest_s:.1f} s."
        )
    if missed:
        sentences.append(
            f"{len(inside)} readings of about {expected:.0f} updates outside gaps: some were missed."
        )
    if not sentences:
        sentences.append(
            f"No pause between readings is longer than {limit_s:.3g} s, and few updates were missed."
        )
    figures: dict[str, float | int | None] = {
        "gaps": len(found_s),
        "longest_s": longest_s,
        "limit_s": limit_s,
        "readings": len(inside),
        "expected": round(expected),
    }
    return Check("reading-gaps", not (found_s or missed), "warning", " ".join(sentences), figures)


def no_data(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`no-data`: every reading carries data, once the meter has had time to measure."""
    # Just after the start the meter has not measured yet; that is how it should be.
    settled_s = measured.start_s + max(2.0 * measured.setup.update_interval_s, TIME_RESOLUTION_S)
    empty = [r for r in inside if math.isnan(r.power_w) and r.monotonic_s > settled_s]
    finite = sum(math.isfinite(reading.power_w) for reading in inside)
    if not finite:
        sentence = f"No reading carries a power, of {len(inside)} in all; the energy cannot be cross-checked."
    elif empty:
        sentence = f"Readings without data: {len(empty)} of {len(inside)}."
    else:
        sentence = f"Every reading carries data once the meter had measured, of {len(inside)} in all."
    return Check(
        "no-data",
        bool(finite) and not empty,
        "warning" if finite else "error",
        sentence,
        {"empty": len(empty), "finite": finite, "readings": len(inside)},
    )


def longest_pause_s(measured: Measurement) -> float:
    """Return the longest pause between two readings that is not called a gap."""
    return max(3.0 * measured.setup.update_interval_s, SHORTEST_GAP_S)
