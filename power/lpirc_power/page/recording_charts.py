"""The charts of a recording: its power and its energy over time, with marks, pauses and flags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.reading_columns import column
from lpirc_power.meter import Reading
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.page.traces import Floats, Span, Trace, pauses_of, spans_where
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded

OVER_RANGE = "over range"
CLIPPED = "clipped at a peak"


@dataclass(frozen=True)
class Columns:
    """Readings as arrays: times in s, powers in W, energies in Wh, and which are over range or clipped."""

    times_s: Floats
    power_w: Floats
    energy_wh: Floats
    over_range: NDArray[np.bool_]
    clipped: NDArray[np.bool_]


def columns_of(readings: Sequence[Reading]) -> Columns:
    """Return readings as arrays."""
    is_voltage = column(readings, "voltage_peak_over")
    is_current = column(readings, "current_peak_over")
    return Columns(
        times_s=column(readings, "monotonic_s"),
        power_w=column(readings, "power_w"),
        energy_wh=column(readings, "energy_wh"),
        over_range=column(readings, "over_range"),
        clipped=is_voltage | is_current,
    )


@dataclass(frozen=True)
class Charts:
    """The charts of a recording, and sentences that say what is marked in them."""

    power: TimeChart
    energy: TimeChart
    sentences: Sequence[str]


def power_trace(recorded: Recorded, columns: Columns, name: str = "power") -> Trace:
    """Return the power over time; a pause that is a gap by the checks breaks it."""
    longest_s = recorded.measured.longest_pause_s
    return Trace(name, columns.times_s, columns.power_w, longest_s)


def trace_from_start(recorded: Recorded, name: str) -> Trace:
    """Return the power over the time since the start, which several recordings have in common."""
    trace = power_trace(recorded, columns_of(recorded.readings), name)
    times_s = np.asarray(trace.times_s - recorded.measured.start_s)
    return Trace(name, times_s, trace.values, trace.longest_pause_s)


def ends_of(recorded: Recorded) -> tuple[float, float]:
    """Return the window, in seconds; that of the readings if it has no length."""
    measured = recorded.measured
    if measured.elapsed_s > 0:
        return measured.start_s, measured.end_s
    return recorded.readings[0].monotonic_s, recorded.readings[-1].monotonic_s


def charts_of(recorded: Recorded) -> Charts:
    """Return the charts of a recording."""
    columns = columns_of(recorded.readings)
    begin_s, end_s = ends_of(recorded)
    power = power_trace(recorded, columns)
    energy = Trace("energy", columns.times_s, columns.energy_wh, power.longest_pause_s)
    pauses = _within(pauses_of(power), begin_s, end_s)
    flags = _flags(recorded, columns)
    marks = mark_spans(recorded)
    return Charts(
        TimeChart(_power_label(columns), "W", [power], begin_s, end_s, marks, pauses, flags),
        TimeChart(
            f"Energy over time, up to {figure(recorded.readings[-1].energy_wh, 'Wh')}.",
            "Wh", [energy], begin_s, end_s, marks, pauses,
        ),
        _sentences(marks, pauses, flags),
    )  # fmt: skip


def mark_spans(recorded: Recorded) -> list[Span]:
    """Return the marks in the order of their beginnings; one that was never closed reaches to the end."""
    _, last_s = ends_of(recorded)
    spans = []
    for one in sorted(recorded.marks, key=lambda mark: mark.begin_s):
        end_s = last_s if one.end_s is None else one.end_s
        spans.append(Span(one.name, one.begin_s, end_s))
    return spans


def _within(spans: Sequence[Span], begin_s: float, end_s: float) -> list[Span]:
    return [one for one in spans if one.end_s > begin_s and one.begin_s < end_s]


def _flags(recorded: Recorded, columns: Columns) -> list[Span]:
    interval_s = recorded.measured.setup.update_interval_s
    begin_s, end_s = ends_of(recorded)
    found = spans_where(columns.times_s, columns.over_range, OVER_RANGE, interval_s)
    found += spans_where(columns.times_s, columns.clipped, CLIPPED, interval_s)
    return _within(found, begin_s, end_s)


def _power_label(columns: Columns) -> str:
    known = columns.power_w[np.isfinite(columns.power_w)]
    if not known.size:
        return "Power over time: no reading has a power."
    least = float(known.min())
    most = float(known.max())
    words = (
        f"Power over time, between {figure(least, 'W', 4)} and {figure(most, 'W', 4)}"
    )
    return f"{words}, in {len(columns.power_w)} readings."


def _sentences(
    marks: Sequence[Span], pauses: Sequence[Span], flags: Sequence[Span]
) -> list[str]:
    found = []
    if marks:
        found.append("Numbered bands are the marks below.")
    if pauses:
        lasted_s = math.fsum(one.end_s - one.begin_s for one in pauses)
        found.append(
            f"Grey: no reading, {_times(len(pauses))}, {lasted_s:.1f} s in all; the meter's integrator may have gone "
            "on."
        )
    if flags:
        kinds = sorted({one.name.partition(":")[0] for one in flags})
        found.append(f"Red above the chart: readings {' or '.join(kinds)}.")
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
