"""RunControl: arms, opens, closes and voids runs; the only writer of a run's state while a contest is served."""

from __future__ import annotations

import hashlib
import logging
import threading
from datetime import datetime
from functools import partial

from power.errors import MeterError
from power.meter import Reading
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest, require_same_test_set
from referee.errors import RefereeError
from referee.evidence_log import note_event
from referee.image_order import image_order
from referee.live_run import LiveRun, same_body, window_closed
from referee.records import Post, Run, RunState
from referee.station_meters import RunMeter, StationMeters
from referee.window import Phase, Window, elapsed_s, phase_at

logger = logging.getLogger(__name__)
NOT_YET_STORED = 0
CLOSING_PATIENCE_S = 30.0  # how long a log-in waits for the team's former run to be closed
CLOSE_RETRY_S = 2.0
RESUME_RETRY_S = 1.0


class RunControl:
    """The runs of one contest. Call `recover` once before serving and `shutdown` after.

    Locks, always taken in this order: a team's turn (arm, log in, void), a station's turn (arm), a live run's
    `closing`. Only these may be held while a meter is asked; `_lock` guards the tables here and is never held long.
    """

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._meters = StationMeters(contest, clock)
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._live: dict[int, LiveRun] = {}
        self._is_down = False

    # Arming and opening

    def arm(self, team: str, station_name: str) -> Run:
        """Prepare a run: its meter set up, its image order fixed.

        Raises RefereeError `team-unknown`, `station-unknown`, `station-busy`, `team-busy`; MeterError.
        """
        station = self._contest.station(station_name)
        if self._store.password_hash(team) is None:
            raise RefereeError("team-unknown", f"There is no team {team!r}; see: referee team list")
        with self._turn(f"team {team}"):
            return self._arm(team, station)

    def _arm(self, team: str, station: Station) -> Run:
        with self._turn(f"station {station.name}"):
            self._require_free(team, station)
            meter = self._meters.set_up(station)
            try:
                order = partial(
                    image_order,
                    self._contest.secret,
                    images=len(self._contest.test_set.images),
                    shuffle=self._contest.config.shuffle,
                )
                new = self._new_run(team, station, meter)
                run = self._store.arm_run(new, self._clock.utc(), order)
            except BaseException:
                meter.close()
                raise
            self._meters.keep(run, meter)
        self._note(run.id, "armed", meter=meter.identity, station=station.name)
        return run

    def login(self, team: str) -> LiveRun:
        """The team's open run: the one that is open, or its armed one, opened now.

        Raises RefereeError `not-armed` or `station-busy`; MeterError when the meter does not start, and then the
        window has not opened.
        """
        with self._turn(f"team {team}"):
            live = self._live_of(team)
            if live is not None and phase_at(live.window, self._clock.monotonic_s()) is Phase.OPEN:
                return live
            if live is not None:
                self._await_end(live)
            return self._open(self._armed_run(team))

    def _await_end(self, live: LiveRun) -> None:
        if not self._clock.wait(live.done, self._clock.monotonic_s() + CLOSING_PATIENCE_S):
            raise RefereeError(
                "window-closed", f"Run {live.run.id} is still being closed; log in again.", run=live.run.id
            )

    def _armed_run(self, team: str) -> Run:
        for run in self._store.runs(RunState.ARMED, team=team):
            return run
        if not self._contest.config.auto_arm:
            raise RefereeError("not-armed", f"No run is armed for {team}; ask the operator.", team=team)
        for station in self._contest.config.stations:
            if self._occupant(station) is not None:
                continue
            try:
                return self._arm(team, station)
            except RefereeError as error:
                if error.code != "station-busy":
                    raise
        raise RefereeError("station-busy", "Every station is in use; log in again when one is free.")

    def _open(self, run: Run) -> LiveRun:
        require_same_test_set(self._contest, run)
        meter = self._meters.started(run)
        start_s = self._clock.monotonic_s()
        try:
            run = self._store.change_run(
                run.id,
                (RunState.ARMED,),
                state=RunState.OPEN.value,
                opened_utc=self._clock.utc().isoformat(),
                start_s=start_s,
                boot_id=self._clock.boot_id(),
                meter_identity=meter.identity,
            )
        except BaseException:
            # The integrator runs on: the next log-in, or the next run of the station, takes it over.
            meter.close()
            raise
        meter.log.begin(run.id, start_s)
        return self._go_live(run, Window(start_s, run.window_s), meter, samples=True)

    def _go_live(self, run: Run, window: Window, meter: RunMeter, *, samples: bool) -> LiveRun:
        try:
            live = LiveRun(run, window, self._store.image_order(run.id), meter, self._store, self._clock)
            self._register(live)
        except BaseException:
            meter.close()
            raise
        threading.Thread(
            target=self._see_to_the_end, args=(live, samples), name=f"deadline-{run.id}", daemon=True
        ).start()
        self._note(
            run.id, "open" if samples else "resumed", remaining_s=window.end_s - self._clock.monotonic_s()
        )
        return live

    def _register(self, live: LiveRun) -> None:
        with self._lock:
            if self._is_down:
                raise RefereeError("shutting-down", "The referee is shutting down; log in again later.")
            self._live[live.run.id] = live

    # Lookups

    def _turn(self, name: str) -> threading.Lock:
        """One lock a team and one a station: a dead meter at one station keeps nobody else waiting."""
        with self._lock:
            return self._turns.setdefault(name, threading.Lock())

    def live(self, run: int) -> LiveRun:
        """The open run of that number. Raises RefereeError `window-closed` when it is over, `run-unknown`."""
        with self._lock:
            live = self._live.get(run)
        if live is None:
            raise window_closed(self._store.run(run))
        return live

    def _live_of(self, team: str) -> LiveRun | None:
        with self._lock:
            return next((live for live in self._live.values() if live.run.team == team), None)

    def _occupant(self, station: Station) -> Run | None:
        taken = [run for state in (RunState.ARMED, RunState.OPEN) for run in self._store.runs(state)]
        return next((run for run in taken if run.station == station.name), None)

    def _require_free(self, team: str, station: Station) -> None:
        occupant = self._occupant(station)
        if occupant is not None:
            raise RefereeError(
                "station-busy",
                f"Station {station.name} has run {occupant.id} ({occupant.state}) of {occupant.team}; end it first.",
            )
        for state in (RunState.ARMED, RunState.OPEN):
            for run in self._store.runs(state, team=team):
                raise RefereeError(
                    "team-busy", f"{team} has run {run.id} ({state}) at {run.station}; void it first."
                )

    # Closing

    def close(self, run: int, closed_by: str) -> Run:
        """End an open run: results first, then the integrator, then the energy is read; returns it closed.

        A run that is closed already is returned as it is. When storing fails, the run stays ended but not closed,
        and closing is tried again until it succeeds. Raises RefereeError `run-unknown`, `run-state`,
        `storage-failed`.
        """
        with self._lock:
            live = self._live.get(run)
        if live is not None:
            window = live.end(closed_by)
            with live.closing:
                if not live.done.is_set():
                    self._close(live, window)
        found = self._store.run(run)
        if found.state in (RunState.ARMED, RunState.OPEN):
            raise RefereeError(
                "run-state", f"Run {run} is {found.state}, but not in this server's hands.", run=run
            )
        return found

    def _close(self, live: LiveRun, window: Window) -> None:
        self._note_end(live, window)
        final = self._meters.final_reading(live.run, live.meter)
        live.meter.log.flush()
        self._record_close(live, elapsed_s(window, window.end_s), final, live.meter.sampler.changes)
        self._meters.retire(live.run, live.meter)
        with self._lock:
            self._live.pop(live.run.id, None)
        live.done.set()

    def _note_end(self, live: LiveRun, window: Window) -> None:
        """Put the end on record before the meter is asked, which may take long: a restart must not reopen the run."""
        figures = {"closed_by": live.closed_by, "elapsed_s": elapsed_s(window, window.end_s)}
        try:
            self._store.change_run(live.run.id, (RunState.OPEN,), **figures)
        except RefereeError as error:
            # The integrator must be stopped all the same; the close that follows tells.
            logger.warning("run %d: its end is not on record yet: %s", live.run.id, error.sentence)

    def void(self, run: int, reason: str) -> Run:
        """Take a run out of the contest, from whatever state; what is stored of it stays.

        Raises RefereeError `run-unknown`, `run-state` when it is void already, `storage-failed`.
        """
        reason = reason.encode("utf-8", "replace").decode()
        with self._turn(f"team {self._store.run(run).team}"):
            with self._lock:
                is_live = run in self._live
            if is_live:
                self.close(run, "operator")
            # An open run that no server could take up has no other way out.
            voidable = (RunState.ARMED, RunState.OPEN, RunState.CLOSED, RunState.JUDGED)
            voided = self._store.change_run(run, voidable, state=RunState.VOID.value, void_reason=reason)
            self._meters.forget(run)
        self._note(run, "void", reason=reason)
        return voided

    def _see_to_the_end(self, live: LiveRun, samples: bool) -> None:
        if not samples:
            self._resume_sampling(live)
        self._clock.wait(live.ending, live.window.deadline_s)
        while not live.done.is_set():
            try:
                self.close(live.run.id, "deadline")
            except Exception:
                logger.exception("run %d could not be closed; it is tried again", live.run.id)
                self._clock.wait(live.done, self._clock.monotonic_s() + CLOSE_RETRY_S)

    def _resume_sampling(self, live: LiveRun) -> None:
        """Sample the meter of a run that was taken up, as soon as it answers within the window."""
        window, warned = live.window, False
        while phase_at(window, self._clock.monotonic_s()) is Phase.OPEN:
            with live.closing:
                if live.ending.is_set() or live.done.is_set():
                    return
                try:
                    live.meter.sampler.resume()
                except MeterError as error:
                    if not warned:
                        logger.warning(
                            "run %d: its meter does not answer yet: %s", live.run.id, error.sentence
                        )
                    warned = True
                else:
                    return
            again_s = self._clock.monotonic_s() + RESUME_RETRY_S
            self._clock.wait(live.ending, min(again_s, window.deadline_s))

    def _record_close(
        self, live: LiveRun, ended_s: float, final: Reading | None, changes: tuple[str, ...]
    ) -> None:
        energy_wh = None if final is None else final.energy_wh
        self._store.change_run(
            live.run.id,
            (RunState.OPEN,),
            state=RunState.CLOSED.value,
            closed_utc=self._clock.utc().isoformat(),
            closed_by=live.closed_by,
            elapsed_s=ended_s,
            energy_wh=energy_wh,
            integrator_s=None if final is None else final.integrator_s,
            meter_changes=None if final is None else changes,
        )
        self._note(live.run.id, "closed", by=live.closed_by, elapsed_s=ended_s, energy_wh=energy_wh)

    # The life of the host

    def recover(self) -> None:
        """Take up what an earlier process left: open runs go on, those past their deadline are closed.

        The energy of a closed run whose meter did not answer at its end is read now, if no run followed at its
        station. An open run that cannot go on, its station gone or its test set exchanged, is left for the operator to
        void, with the event `not-resumed`.
        """
        for run in self._store.runs(RunState.OPEN):
            try:
                self._take_up(run)
            except (RefereeError, MeterError) as error:
                logger.error("run %d cannot go on: %s", run.id, error.sentence)  # noqa: TRY400 - its words suffice
                self._note(run.id, "not-resumed", reason=error.sentence)
        for station in self._contest.config.stations:
            with self._turn(f"station {station.name}"):
                self._meters.read_left_over(station)

    def _take_up(self, run: Run) -> None:
        window = self._window_now(run)
        if run.closed_by is None and phase_at(window, self._clock.monotonic_s()) is Phase.OPEN:
            require_same_test_set(self._contest, run)
        meter = self._meters.taken_up(run, window.start_s)
        self._go_live(run, window, meter, samples=False)

    def receipt(self, run: int, body: bytes, key: str | None) -> Post | None:
        """The receipt that this body got under this key, for one who asks again after the run has closed.

        Raises RefereeError `key-reused` when the key came with another body.
        """
        earlier = self._store.find_post(run, key) if key else None
        return None if earlier is None else same_body(earlier, hashlib.sha256(body).hexdigest())

    def shutdown(self) -> None:
        """Let go of the meters; open runs stay open, their integrators running, for the next start."""
        with self._lock:
            self._is_down = True
            lives, self._live = list(self._live.values()), {}
        for live in lives:
            with live.closing:  # a run that is being closed is closed first
                live.done.set()
                live.ending.set()
            live.meter.close()
            try:
                live.meter.log.flush()
            except RefereeError as error:
                logger.error("run %d: readings are lost: %s", live.run.id, error.sentence)  # noqa: TRY400
        self._meters.close()

    def _window_now(self, run: Run) -> Window:
        """The run's window on this boot's monotonic clock; after a reboot only the wall clock links the two."""
        now_s = self._clock.monotonic_s()
        if run.start_s is not None and run.boot_id is not None and run.boot_id == self._clock.boot_id():
            return _window(run, run.start_s)
        opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
        # A wall clock that was set back must not put the start into the future.
        passed_s = max((self._clock.utc() - opened).total_seconds(), 0.0)
        return _window(run, now_s - passed_s)

    def _note(self, run: int, kind: str, **detail: object) -> None:
        note_event(self._store, self._clock.utc(), run, kind, **detail)

    def _new_run(self, team: str, station: Station, meter: RunMeter) -> Run:
        test_set = self._contest.test_set
        return Run(
            id=NOT_YET_STORED,
            team=team,
            station=station.name,
            state=RunState.ARMED,
            armed_utc="",
            testset_digest=test_set.digest,
            images=len(test_set.images),
            window_s=float(self._contest.config.window_s),
            setup=meter.setup,
            meter_identity=meter.identity,
            idle_power_w=meter.idle_power_w(self._contest.config.idle_baseline_s),
        )


def _window(run: Run, start_s: float) -> Window:
    """The run's window; one whose end is on record has ended there."""
    ended_s = None if run.closed_by is None or run.elapsed_s is None else start_s + run.elapsed_s
    return Window(start_s, run.window_s, ended_s)
