"""The energy of a window in steps: what WH rose by from reading to reading, and how late a reading may be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from lpirc_power.energy.integral import UNSEEN_UPDATES
from lpirc_power.energy.measurement import Measurement
from lpirc_power.energy.reading_columns import Column, column
from lpirc_power.meter import Reading

JOULES: Final = 3600.0
LATE_QUANTILE: Final = 0.99
"""Part of the readings that are as punctual as is assumed of all; the rest are single delays of a busy host."""
FELLOWS: Final = 8
"""Readings before and after one that tell when its update ended."""
NEAR: Final = 2
"""Readings at an end of the window whose powers may be that at the end."""


@dataclass(frozen=True)
class Steps:
    """Steps of a window: the N + 1 times that delimit them, and N energies.

    `most_wh` (N,) is the most that a part of a step can take: the rise of WH, or what the reading's power says if that
    is more, as with a counter of coarse steps. A time is in truth anywhere from `earliest_s` to `latest_s` (N + 1,),
    since a reading comes after its update, and a counter's values may be older still. `ends_w` are the largest powers
    near the start and near the end of the window.
    """

    times_s: Column
    energies_wh: Column
    most_wh: Column
    earliest_s: Column
    latest_s: Column
    ends_w: tuple[float, float] = (0.0, 0.0)


def steps_of(readings: Sequence[Reading], measured: Measurement) -> Steps:
    """Return the steps, from the readings in the window that have a power; without steps if none has."""
    times_s = column(readings, "monotonic_s")
    powers_w = column(readings, "power_w")
    is_inside = (measured.start_s < times_s) & (times_s <= measured.end_s)
    columns = (times_s, powers_w, column(readings, "energy_wh"))
    table = np.column_stack(columns)[is_inside & np.isfinite(powers_w)]
    if not len(table):
        nothing = np.zeros(0)
        start_s = np.array([measured.start_s])
        return Steps(start_s, nothing, nothing, start_s, start_s)
    if not np.isfinite(table[:, 2]).all():
        pauses_s = np.diff(table[:, 0], prepend=measured.start_s)
        table[:, 2] = np.cumsum(table[:, 1] * pauses_s) / JOULES
    return _made(table, measured, measured.age_s(readings))


def _made(table: Column, measured: Measurement, age_s: float) -> Steps:
    """Return the steps of the times, powers and sums (N, 3); the values may be `age_s` older than their times."""
    interval_s = measured.setup.update_interval_s
    lates_s = _lates_s(table[:, 0], measured)
    ends_s = _ends_s(table[:, 0], lates_s, measured)
    lates_s += age_s
    rows: list[_Row] = []
    before = _Row(measured.start_s, 0.0, 0.0, measured.start_s, measured.start_s)
    before_wh = 0.0
    columns = np.column_stack((table, ends_s, lates_s))
    for read_s, power_w, sum_wh, at_s, late_s in columns.tolist():
        grown_wh = sum_wh - before_wh
        pause_s = at_s - before.at_s
        last_wh = power_w * interval_s / JOULES
        rest_s = pause_s - interval_s
        if read_s - before.latest_s > UNSEEN_UPDATES * interval_s and rest_s > 0.0:
            rest_wh = grown_wh - last_wh
            # What the powers contradict is one step: WH alone says its energy.
            if 0.0 <= JOULES * rest_wh / rest_s <= measured.most_w:
                latest_s = read_s - interval_s
                early_s = latest_s - late_s
                middle_s = at_s - interval_s
                rows.append(_Row(middle_s, rest_wh, rest_wh, early_s, latest_s))
                grown_wh = last_wh
        most_wh = max(abs(grown_wh), abs(last_wh) * min(pause_s / interval_s, 1.0))
        before = _Row(at_s, grown_wh, most_wh, read_s - late_s, read_s)
        rows.append(before)
        before_wh = sum_wh
    return _steps(rows, measured, table[:, 1], before_wh)


def _steps(
    rows: list[_Row], measured: Measurement, powers_w: Column, before_wh: float
) -> Steps:
    """Return the steps of the readings, and the one behind them."""
    before_s = rows[-1].at_s
    near_w = np.abs(powers_w)
    last_w = float(near_w[-NEAR:].max())
    if measured.end_s > before_s:
        tail = _tail(measured, before_s, before_wh, float(powers_w[-1]))
        rows.append(tail)
        lasted_s = tail.at_s - before_s
        if lasted_s > UNSEEN_UPDATES * measured.setup.update_interval_s:
            last_w = max(last_w, JOULES * tail.grown_wh / lasted_s)
    start_s = measured.start_s
    first = _Row(start_s, 0.0, 0.0, start_s, start_s)
    times_s, grown_wh, most_wh, early_s, latest_s = np.array([first, *rows]).T
    ends_w = (float(near_w[:NEAR].max()), last_w)
    return Steps(times_s, grown_wh[1:], most_wh[1:], early_s, latest_s, ends_w)


class _Row(NamedTuple):
    """A step: its end, its energy, the most that a part of it can take, and from when to when its end may be."""

    at_s: float
    grown_wh: float
    most_wh: float
    earliest_s: float
    latest_s: float


def _tail(
    measured: Measurement, before_s: float, before_wh: float, power_w: float
) -> _Row:
    """Return the step from the last reading to the end of the integral, which may have come after the window."""
    until_s = measured.end_s + measured.late_s
    grown_wh = measured.integrator_wh - before_wh
    if not grown_wh >= 0.0:
        grown_wh = power_w * (until_s - before_s) / JOULES
    return _Row(until_s, grown_wh, abs(grown_wh), until_s, until_s)


def _lates_s(times_s: Column, measured: Measurement) -> Column:
    """Return by how much each reading may be late (N,), from how far pauses are from whole updates.

    After missed updates it may be late by a whole one.
    """
    interval_s = measured.setup.update_interval_s
    pauses_s = np.diff(times_s, prepend=measured.start_s)
    updates = np.round(pauses_s / interval_s)
    off_s = np.abs(pauses_s - updates * interval_s)
    between_s = off_s[1:]
    usual_s = interval_s
    if len(between_s):
        usual_s = float(np.quantile(between_s, LATE_QUANTILE))
    has_missed = pauses_s > UNSEEN_UPDATES * interval_s
    return np.where(has_missed, interval_s, usual_s)


def _ends_s(times_s: Column, lates_s: Column, measured: Measurement) -> Column:
    """Return when each update ended, as well as the readings near it tell: none of them came before its update."""
    interval_s = measured.setup.update_interval_s
    is_next = np.diff(times_s) <= UNSEEN_UPDATES * interval_s
    found = times_s.copy()
    farthest = min(FELLOWS, len(times_s) - 1)
    for away in range(1, farthest + 1):
        # Readings with no update missed between them.
        windows = np.lib.stride_tricks.sliding_window_view(is_next, away)
        is_near = windows.all(axis=1)
        apart_s = away * interval_s
        later_s = np.where(is_near, times_s[away:] - apart_s, np.inf)
        earlier_s = np.where(is_near, times_s[:-away] + apart_s, np.inf)
        found[:-away] = np.minimum(found[:-away], later_s)
        found[away:] = np.minimum(found[away:], earlier_s)
    earliest_s = np.maximum(times_s - lates_s, measured.start_s)
    found = np.maximum(found, earliest_s)
    return np.maximum.accumulate(found)
