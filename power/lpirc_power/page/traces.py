"""What a chart over time shows: traces, and the spans that are marked in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COLUMNS: Final = 1000
"""Columns that a trace is thinned to; a screen or a sheet shows hardly more."""


@dataclass(frozen=True)
class Trace:
    """A value over time: times in seconds, ascending, and as many values; NaN or infinite where there is none.

    No line is drawn over a pause longer than `longest_pause_s`.
    """

    name: str
    times_s: Floats
    values: Floats
    longest_pause_s: float = float("inf")


@dataclass(frozen=True)
class Span:
    """A part of the time axis, in seconds, and the words for it."""

    name: str
    begin_s: float
    end_s: float


def thinned(
    trace: Trace, begin_s: float, end_s: float, columns: int = COLUMNS
) -> list[tuple[Floats, Floats]]:
    """Return a trace from `begin_s` to `end_s` as unbroken lines: arrays of times and of values.

    Of each of `columns` equal parts of the time, every line keeps its first, least, largest and last value, so no peak
    is lost, and the line enters and leaves the part where the whole one does.
    """
    inside = (trace.times_s >= begin_s) & (trace.times_s <= end_s)
    times = trace.times_s[inside]
    values = trace.values[inside]
    known = np.isfinite(values)
    breaks = np.flatnonzero(~known)
    pauses = np.flatnonzero(np.diff(times) > trace.longest_pause_s) + 1
    cuts = np.unique(np.concatenate((breaks, breaks + 1, pauses)))
    edges = [0, *cuts.tolist(), len(times)]
    lines = []
    for first, last in pairwise(edges):
        if first < last and known[first]:
            part = slice(first, last)
            width_s = (end_s - begin_s) / columns or 1.0
            kept = _kept(times[part], values[part], begin_s, width_s)
            lines.append((times[part][kept], values[part][kept]))
    return lines


def _kept(
    times: Floats, values: Floats, begin_s: float, width_s: float
) -> NDArray[np.intp]:
    """Return the places of the values to draw."""
    count = len(times)
    if count <= 4:
        return np.arange(count)
    column = ((times - begin_s) // width_s).astype(np.intp)
    firsts = np.flatnonzero(np.diff(column, prepend=-1))
    lasts = np.append(firsts[1:], count) - 1
    by_value = np.lexsort((values, column))
    # Sorted by value within a column, the first place holds its least and the last its largest.
    chosen = (firsts, lasts, by_value[firsts], by_value[lasts])
    return np.unique(np.concatenate(chosen))


def pauses_of(trace: Trace) -> list[Span]:
    """Return the pauses without a reading that the trace is broken at."""
    found = []
    places = np.flatnonzero(np.diff(trace.times_s) > trace.longest_pause_s)
    for place in places.tolist():
        begin_s = float(trace.times_s[place])
        end_s = float(trace.times_s[place + 1])
        found.append(Span(f"no reading for {end_s - begin_s:.1f} s", begin_s, end_s))
    return found


def merged(spans: Sequence[Span], nearest_s: float) -> list[Span]:
    """Return spans by name, those of one name that overlap or are closer than `nearest_s` as one.

    So a million marks are no more bands than the chart has columns for each name.
    """
    latest: dict[str, Span] = {}
    found: list[Span] = []
    for one in sorted(spans, key=lambda span: span.begin_s):
        before = latest.get(one.name)
        if before is not None and one.begin_s - before.end_s < nearest_s:
            end_s = max(before.end_s, one.end_s)
            latest[one.name] = replace(before, end_s=end_s)
            continue
        if before is not None:
            found.append(before)
        latest[one.name] = one
    return sorted([*found, *latest.values()], key=lambda span: span.begin_s)


def spans_where(
    times_s: Floats,
    flags: NDArray[np.bool_],
    name: str,
    interval_s: float,
) -> list[Span]:
    """Return the spans of flagged readings, each of which stands for the interval before its time.

    Spans closer than a column of the chart are one, so that there are never more than columns.
    """
    if not flags.any():
        return []
    begin_s = float(times_s[0])
    nearest_s = max((float(times_s[-1]) - begin_s) / COLUMNS, interval_s) * 1.5
    flagged_s = times_s[flags]
    cuts = np.flatnonzero(np.diff(flagged_s) > nearest_s) + 1
    spans = []
    for part in np.split(flagged_s, cuts):
        first_s = float(part[0]) - interval_s
        words = (
            f"{name}: {len(part)} readings" if len(part) > 1 else f"{name}: 1 reading"
        )
        spans.append(Span(words, first_s, float(part[-1])))
    return spans
