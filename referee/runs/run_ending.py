"""Records the end of a run, with its time and cause, and the return of a void run to the contest."""

from __future__ import annotations

import logging
from typing import Any

from lpirc_power.meter import Reading
from referee.clock import Clock
from referee.errors import RefereeError
from referee.runs.open_run import OpenRun
from referee.runs.run_window import Window, elapsed_s
from referee.store import Event, Store
from referee.store.acts import Act
from referee.store.records import RUN_CLOSED, Run, RunState

logger = logging.getLogger(__name__)


def note_end(store: Store, live: OpenRun, window: Window) -> None:
    """Store the end before the meter is asked, which may take long, so that a restart does not reopen the run."""
    figures = {
        "closed_by": live.closed_by,
        "elapsed_s": elapsed_s(window, window.end_s),
    }
    try:
        store.runs.change_all({live.run.id: figures}, (RunState.OPEN,))
    except RefereeError as error:
        # The integrator must be stopped anyway; the close that follows raises the error.
        logger.warning(
            "run %d: its end could not be recorded yet: %s",
            live.run.id,
            error.sentence,
        )


def record_close(
    store: Store,
    clock: Clock,
    live: OpenRun,
    ended_s: float,
    final: Reading | None,
    act: Act | None,
) -> None:
    """Store the end and, in the same transaction, its event, which covers all records of the run."""
    run = live.run.id
    utc = clock.utc().isoformat()
    sampler = live.meter.sampler
    energy_wh = None
    of_record: dict[str, Any] = {"integrator_s": None, "meter_changes": None}
    start_stop_s = None
    if final is not None:
        energy_wh = final.energy_wh
        of_record = {
            "integrator_s": final.integrator_s,
            "meter_changes": sampler.changes,
        }
        if sampler.ran_s is not None:
            start_stop_s = sampler.ran_s - ended_s

    changes = {
        "state": RunState.CLOSED.value,
        "closed_utc": utc,
        "closed_by": live.closed_by,
        "elapsed_s": ended_s,
        "energy_wh": energy_wh,
        **of_record,
    }
    detail = {
        "by": live.closed_by,
        "elapsed_s": ended_s,
        "energy_wh": energy_wh,
        "start_stop_s": start_stop_s,
        "late_s": sampler.late_s,
        **of_record,
        **store.closings.evidence(run),
    }
    event = Event(utc, run, RUN_CLOSED, detail)
    store.runs.change_all({run: changes}, (RunState.OPEN,), event, act)

    energy = "no valid energy" if energy_wh is None else f"{energy_wh:.6g} Wh"
    closed = (run, live.run.team, live.closed_by, ended_s, energy)
    logger.info("run %d of %s was closed by %s after %.3f s: %s", *closed)


def count_again(store: Store, run: int, act: Act | None) -> Run:
    """Return a void run to the contest, closed or judged as it was before. Raises RefereeError `run-state`."""
    found = store.runs.get(run)
    if found.state is RunState.VOID and found.closed_utc is None:
        sentence = f"Run {run} was voided before it was closed, so nothing can be judged; arm a new run."
        raise RefereeError("run-state", sentence, run=run)
    judged = store.scores.latest(run)
    is_judged = judged is not None and judged.energy_wh == found.energy_wh
    state = RunState.JUDGED if is_judged else RunState.CLOSED
    back = store.runs.change(
        run,
        (RunState.VOID,),
        act=act,
        state=state.value,
        void_reason=None,
    )
    logger.info(
        "run %d of %s is no longer void: its state is %s", run, found.team, state
    )
    return back
