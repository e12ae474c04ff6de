"""The facts in the store that decide the state of a run's figures: newest readings, lost energy, newest figures."""

from __future__ import annotations

from datetime import datetime

from lpirc_power.meter import Reading
from referee.judging.figure_state import FigureState, Readings, figure_state
from referee.store import Store
from referee.store.lost_energy import energy_lost
from referee.store.records import Run, RunState

LATE_S = 10.0
"""If an open run has no new figures for this long, the process that computes them has ended or hangs."""


def state_of(
    store: Store,
    run: Run,
    now: datetime,
) -> FigureState | None:
    """Return the state of the figures at `now`, UTC, of a run without a current judgement.

    Return None, so that there is no score, if the run has no figures or is open and its figures are no longer renewed.
    """
    state = measured_state(store, run, now)
    is_open = run.state is RunState.OPEN
    if state is FigureState.FRESH and is_open and not _is_renewed(store, run, now):
        return None
    return state


def _is_renewed(
    store: Store,
    run: Run,
    now: datetime,
) -> bool:
    newest = store.provisional.of_run(run.id)
    if newest is None:
        return True
    age = now - datetime.fromisoformat(newest.utc)
    age_s = age.total_seconds()
    return age_s <= (newest.pause_s or 0.0) + LATE_S


def measured_state(
    store: Store,
    run: Run,
    now: datetime,
) -> FigureState | None:
    """Return the state of the figures according to the meter alone, for the process that computes the figures."""
    return figure_state(
        run.state,
        is_lost=energy_lost(store.log.of_run(run.id)) is not None,
        has_energy=run.energy_wh is not None,
        readings=_readings(store, run, now),
        update_interval_s=run.setup.update_interval_s,
    )


def _readings(
    store: Store,
    run: Run,
    now: datetime,
) -> Readings:
    if run.state is not RunState.OPEN:
        return Readings(0.0, 0.0, None)
    newest = store.readings.newest(run.id)
    with_energy = store.readings.newest(run.id, with_energy=True)
    opened = now
    if run.opened_utc is not None:
        opened = datetime.fromisoformat(run.opened_utc)
    return Readings(
        _age_s(newest, opened, now),
        _age_s(with_energy, opened, now),
        None if newest is None else newest.state,
    )


def _age_s(
    reading: Reading | None,
    opened: datetime,
    now: datetime,
) -> float:
    since = opened
    if reading is not None:
        since = reading.utc
    age = now - since
    return age.total_seconds()
