"""A recording of which only the CSV file is left: what the readings alone tell of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np

from lpirc_power.energy import Measurement
from lpirc_power.energy.measurement import TIME_RESOLUTION_S
from lpirc_power.energy.power_error_limit import power_range_w
from lpirc_power.energy.reading_columns import ReadingColumns, column
from lpirc_power.meter import Identity, IntegratorState, Reading, Setup
from lpirc_power.presence import is_there
from lpirc_power.record.record_file import record_path, why_no_record
from lpirc_power.recording import NO_DATE, read_readings
from lpirc_power.report.recording_report import UNKNOWN, Recorded

NO_IDENTITY: Final = Identity(UNKNOWN, UNKNOWN, UNKNOWN, "")
"""Identity of the meter of a recording that has no record."""

CLOCK_STEP_S: Final = 1.0
"""Least difference between wall clock and monotonic clock that is a step, and not drift."""
_UNSAID: Final = ("range-changed", "official-meter")
"""Checks that need what a CSV file does not say: the setup, and which meter it is."""
_UNSAID_IN_2015: Final = (*_UNSAID, "integrator-stopped", "peak-clipping")
_FIRST_DATE: Final = NO_DATE + timedelta(days=365)
"""Recordings of 2015 count their seconds from `NO_DATE`; all others have dates of their own."""


def read_alone(path: Path) -> Recorded:
    """Return what a CSV file alone tells."""
    readings = read_readings(path, cut=True)
    last = readings[-1]
    unnamed = (
        f"{_why_alone(path)} The meter, its setup and its limits of error are unknown, so the energy has no "
        "uncertainty; start and end are estimated from the readings."
    )
    doubts = [unnamed]
    if last.state is IntegratorState.START:
        doubts.append(
            "The recording does not say that the meter was stopped: it may have been cut off."
        )
    doubts += clock_steps(readings)
    start_s = start_s_of(readings)
    measured = Measurement(
        integrator_wh=last.energy_wh,
        integrator_s=last.integrator_s,
        start_s=start_s,
        end_s=max(end_s_of(readings), start_s),
        setup=_setup(readings),
        model=UNKNOWN,
        limits=None,
        official=False,
    )
    is_of_2015 = readings[0].utc < _FIRST_DATE
    unsaid = _UNSAID_IN_2015 if is_of_2015 else _UNSAID
    return Recorded(
        NO_IDENTITY,
        measured,
        readings,
        None,
        (),
        str(path),
        len(readings),
        doubts=tuple(doubts),
        unnamed=unnamed,
        unanswered=(*unsaid, *unsaid_of_limits(measured, readings)),
    )


def unsaid_of_limits(
    measured: Measurement, readings: Sequence[Reading]
) -> tuple[str, ...]:
    """Return the checks that need limits of error or a range, where they are unknown.

    A reading of 0 stays a warning: it is too low for any range, or the load was off.
    """
    codes: list[str] = []
    if measured.limits is None:
        codes += ["accuracy", "negative-power"]
    names = ("voltage_v", "current_a", "power_w")
    has_zero = any(bool((column(readings, name) == 0.0).any()) for name in names)
    if power_range_w(measured.setup, measured.limits) is None and not has_zero:
        codes.append("low-load")
    return tuple(codes)


def _why_alone(path: Path) -> str:
    """Return why there is no record of a CSV file; of one that is there, what is wrong with it."""
    beside = record_path(path)
    if path.name and is_there(beside):
        return f"The readings of {path} are read alone: {why_no_record(beside)}"
    return f"There is no record {beside.name} beside {path}."


def clock_steps(readings: Sequence[Reading]) -> tuple[str, ...]:
    """Return a sentence if the host's wall clock was set between two readings."""
    columns = readings
    if not isinstance(columns, ReadingColumns):
        columns = ReadingColumns(readings)
    steps_s = np.diff(columns.utc_us) / 1e6 - np.diff(columns.monotonic_s)
    largest_s = float(max(steps_s, key=abs, default=0.0))
    return step_sentence(largest_s) if abs(largest_s) > CLOCK_STEP_S else ()


def step_sentence(step_s: float) -> tuple[str, ...]:
    """Return what a step of the wall clock means."""
    return (
        f"The host's wall clock was set by {step_s:+.1f} s during the recording: times of day are off by that much; "
        "the energy, the durations and the marks are not, they use the monotonic clock.",
    )


def start_s_of(readings: Sequence[Reading]) -> float:
    """Return about when the integrator started: TIME, in whole seconds, cannot be more than has passed since."""
    ran_s = column(readings, "integrator_s")
    is_running = column(readings, "state") == IntegratorState.START
    began_s = (column(readings, "monotonic_s") - ran_s)[np.isfinite(ran_s) & is_running]
    return float(np.min(began_s, initial=readings[0].monotonic_s))


def end_s_of(readings: Sequence[Reading]) -> float:
    """Return about when the integrator ended: at the last reading before the one of the stop."""
    if len(readings) > 1 and readings[-1].state is not IntegratorState.START:
        return readings[-2].monotonic_s
    return readings[-1].monotonic_s


def _setup(readings: Sequence[Reading]) -> Setup:
    """Return what the readings show of the setup: the ranges, if they never changed, and the update interval."""
    pauses_s = np.diff(column(readings, "monotonic_s")).tolist()
    return Setup(
        voltage_range_v=_constant(readings, "voltage_range_v"),
        current_range_a=_constant(readings, "current_range_a"),
        update_interval_s=(statistics.median(pauses_s) if pauses_s else 0.0)
        or TIME_RESOLUTION_S,
        integrator_timer_s=0,
    )


def _constant(readings: Sequence[Reading], name: str) -> float | None:
    values = column(readings, name)
    only = float(values[0])
    return only if math.isfinite(only) and bool((values == only).all()) else None
