"""Recovery after an earlier process: resumes open runs, and reads energies that were not read when their run ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict

from lpirc_power.errors import MeterError
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest, require_same_test_set
from referee.errors import RefereeError
from referee.runs.idle_station import IdleStations
from referee.runs.open_run import OpenRun
from referee.runs.run_recorder import note_event
from referee.runs.run_window import (
    Phase,
    Reboot,
    Window,
    phase_at,
    reboot_of,
    remaining_s,
    window_of,
)
from referee.runs.station_meters import RunMeter, StationMeters
from referee.store import Event
from referee.store.held_stations import may_be_unread
from referee.store.records import (
    REBOOTED,
    Run,
    RunState,
)

logger = logging.getLogger(__name__)
RESUME_RETRY_S = 1.0
START_S = 0.0  # readings of a finished run are only compared with each other


def take_up_runs(
    contest: Contest,
    clock: Clock,
    meters: StationMeters,
    go_live: Callable[[Run, Window, RunMeter], OpenRun],
) -> None:
    """Resume the open runs by calling `go_live`, which closes those past their deadline.

    A run that cannot be resumed, because its station is gone or its test set was exchanged, gets the event
    `not-resumed`, and the operator has to void it.
    """
    # The same time for all, so that the windows of a heat stay equal after a reboot.
    now_s = clock.monotonic_s()
    now_utc = clock.utc()
    boot_id = clock.boot_id()
    for run in contest.store.runs.find(RunState.OPEN):
        reboot = reboot_of(
            run,
            now_s,
            now_utc,
            boot_id,
            contest.store.runs.last_record(run.opened_utc),
        )
        window = window_of(run, now_s, reboot)
        try:
            if run.closed_by is None and phase_at(window, now_s) is Phase.OPEN:
                require_same_test_set(contest, run)
            if reboot is not None and run.closed_by is None and run.boot_id != boot_id:
                run = _of_this_boot(contest, clock, run, window, reboot)
            contest.store.readings.head(run.id)  # computed now, for the next receipt
            live = go_live(run, window, _meter_of(run, window, meters))
        except (RefereeError, MeterError) as error:
            logger.error("run %d cannot continue: %s", run.id, error.sentence)  # noqa: TRY400 - its words suffice
            note_event(
                contest.store,
                clock,
                run.id,
                "not-resumed",
                reason=error.sentence,
            )
        else:
            name = f"resume-{run.id}"
            threading.Thread(
                target=_resume_sampling,
                args=(live, clock),
                name=name,
                daemon=True,
            ).start()
            _note_taken_up(contest, clock, live)


def _of_this_boot(
    contest: Contest,
    clock: Clock,
    run: Run,
    window: Window,
    reboot: Reboot,
) -> Run:
    """Return the run with its start converted to this boot's clock, which is stored for further restarts.

    An event records the reboot; the judge reads it.
    """
    left_s = remaining_s(window, clock.monotonic_s())
    contest.store.log.append(
        clock.utc(),
        run.id,
        REBOOTED,
        **asdict(reboot),
        remaining_s=left_s,
    )
    logger.warning(
        "run %d: the host was restarted during its window, or is a different host; the run will need review",
        run.id,
    )
    return contest.store.runs.change(
        run.id,
        (RunState.OPEN,),
        start_s=window.start_s,
        boot_id=clock.boot_id(),
    )


def _meter_of(run: Run, window: Window, meters: StationMeters) -> RunMeter:
    meter = meters.of(run)
    if run.meter_identity:
        meter.sampler.expect(run.meter_identity)
    meter.log.begin(run.id, window.start_s)
    return meter


def _note_taken_up(contest: Contest, clock: Clock, live: OpenRun) -> None:
    run = live.run
    left_s = live.window.end_s - clock.monotonic_s()
    if left_s > 0:
        note_event(contest.store, clock, run.id, "resumed", remaining_s=left_s)
        logger.info(
            "run %d of %s continues at %s: %.0f s left",
            run.id,
            run.team,
            run.station,
            left_s,
        )
    else:
        note_event(contest.store, clock, run.id, "found-over", ended_s_ago=-left_s)
        logger.info(
            "run %d of %s had already ended %.0f s ago",
            run.id,
            run.team,
            -left_s,
        )


def _resume_sampling(live: OpenRun, clock: Clock) -> None:
    """Resume sampling the run's meter, retrying until it answers.

    It also returns when the window is over, or the run is closed or left to the next process.
    """
    window = live.window
    warned = False
    while phase_at(window, clock.monotonic_s()) is Phase.OPEN:
        with live.closing:
            if live.ending.is_set() or live.done.is_set():
                return
            try:
                live.meter.sampler.resume()
            except MeterError as error:
                if not warned:
                    logger.warning(
                        "run %d: its meter does not answer yet: %s",
                        live.run.id,
                        error.sentence,
                    )
                warned = True
            else:
                return
        clock.wait(
            live.ending,
            min(clock.monotonic_s() + RESUME_RETRY_S, window.deadline_s),
        )


def read_all_left_over(
    contest: Contest,
    clock: Clock,
    meters: StationMeters,
    lock_of: Callable[[str], threading.Lock],
    idle: IdleStations,
) -> None:
    """Read the unread energy at every station, each under its lock; failures are logged."""
    for station in contest.config.stations:
        try:
            with lock_of(f"station {station.name}"):
                idle.require_not_asked(station.name)
                read_left_over(contest, clock, meters, station)
        except RefereeError as error:
            # It is tried again before the station is armed.
            message = "the energy still stored in the meter of %s could not be read: %s"
            logger.error(message, station.name, error.sentence)  # noqa: TRY400


def read_left_over(
    contest: Contest,
    clock: Clock,
    meters: StationMeters,
    station: Station,
) -> bool:
    """Read the energy of the station's last run if it is missing; the meter keeps it until its reset.

    Return True if that run was the last to use the meter, so that an ongoing integration may be stopped. A meter that
    was reset since is not touched, because its energy belongs to something else. The integrator's own time is stored
    with the energy, and the check `integrator-time` fails if it covers more than the run. The caller holds the
    station's lock.
    """
    meters.release(station.name)
    last = _unread(contest, station)
    if last is None:
        return False
    if last.start_s is None:
        return True  # it never opened
    meter = meters.of(last)
    try:
        past = contest.store.readings.of_run(last.id, START_S)
        if not meters.holds_energy_of(last, meter, past[-1] if past else None):
            return False
        meter.sampler.resume()
        final = meters.final_reading(last, meter, past)
    except MeterError as error:
        logger.warning(
            "run %d: its energy is still missing: %s",
            last.id,
            error.sentence,
        )
        return False  # it is not known whose energy the meter holds
    finally:
        meter.sampler.close()
    if final is not None:
        figures = {"energy_wh": final.energy_wh, "integrator_s": final.integrator_s}
        # A run that was judged without its energy waits to be judged again.
        state = RunState.CLOSED if last.state is RunState.JUDGED else last.state
        changes = meter.sampler.changes
        event = Event(clock.utc().isoformat(), last.id, "energy-read", figures)
        values = {"state": state.value, "meter_changes": changes, **figures}
        contest.store.runs.change_all({last.id: values}, (last.state,), event)
        logger.info(
            "run %d of %s: its energy has now been read: %.6g Wh",
            last.id,
            last.team,
            final.energy_wh,
        )
    return True


def energy_may_be_held(contest: Contest, station: Station) -> bool:
    """Return True if the meter may hold the unread energy of the station's last run, which a reset would destroy.

    A void run's energy need not be kept.
    """
    last = _unread(contest, station)
    return (
        last is not None
        and last.start_s is not None
        and last.state is not RunState.VOID
    )


def _unread(contest: Contest, station: Station) -> Run | None:
    last = next(reversed(contest.store.runs.find(station=station.name)), None)
    return last if last is not None and may_be_unread(contest.store, last) else None
