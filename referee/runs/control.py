"""RunControl: arms, opens, closes and voids runs; the only writer of a run's state while a contest is served."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

from power.errors import MeterError
from power.meter import Reading
from referee.clock import Clock
from referee.contest import Contest, require_place, require_same_test_set
from referee.errors import RefereeError, WindowClosed
from referee.runs.arming import Arming, Turns
from referee.runs.heats import (
    StartBoard,
    StartedMeter,
    not_started,
    require_joinable,
    runs_to_start,
    start_meters,
    undo,
)
from referee.runs.meters import RunMeter, StationMeters
from referee.runs.open_run import LiveRun, same_body, window_closed
from referee.runs.recorder import note_event
from referee.runs.recovery import resume_sampling
from referee.runs.window import Phase, Window, elapsed_s, phase_at, window_of
from referee.store.records import Post, Run, RunState

logger = logging.getLogger(__name__)
CLOSING_PATIENCE_S = 30.0  # how long a log-in waits for the team's former run to be closed
CLOSE_RETRY_S = 2.0


class RunControl:
    """The runs of one contest. Call `recover` once before serving and `shutdown` after.

    Locks, always taken in this order: a heat's turn (arm, start), a team's turn (arm, log in, void; several only for a
    start, by name), a live run's `closing`, a station's turn (whatever frees the station or takes it). Only these may
    be held while a meter is asked; `_lock` guards the tables here and is never held long.

    `board` is where teams wait for a heat's start signal.
    """

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._meters = StationMeters(contest, clock)
        self.board = StartBoard()
        self._lock = threading.Lock()
        self._turns = Turns()
        self._arming = Arming(contest, clock, self._meters, self._turns)
        self._live: dict[int, LiveRun] = {}
        self._is_down = False

    # Arming and opening

    def arm(self, team: str, station_name: str, heat: str | None = None) -> Run:
        """Prepare a run: its meter set up, its image order fixed. With a `heat`, it is opened by the heat's `start`.

        Raises RefereeError `team-unknown`, `station-unknown`, `station-busy`, `team-busy`, `heat-started`,
        `bad-request` for a heat's name that cannot be one; MeterError.
        """
        station = self._contest.station(station_name)
        if self._store.password_hash(team) is None:
            raise RefereeError("team-unknown", f"There is no team {team!r}; see: referee team list")
        with ExitStack() as turns:
            if heat is not None:
                turns.enter_context(self._turns.of(f"heat {heat}"))
                require_joinable(self._store, heat)
            turns.enter_context(self._turns.of(f"team {team}"))
            return self._arming.arm(team, station, heat)

    def login(self, team: str, address: str | None = None) -> LiveRun:
        """The team's open run: the one that is open, or its armed one, opened now; asked for from `address`.

        Raises RefereeError `not-armed`, `station-busy`, `wrong-address`, and `not-started` for a run that waits for
        its heat's signal; MeterError when the meter does not start, and then the window has not opened.
        """
        with self._turns.of(f"team {team}"):
            live = self._live_of(team)
            if live is not None and phase_at(live.window, self._clock.monotonic_s()) is Phase.OPEN:
                require_place(self._contest.station(live.run.station), address)
                return live
            if live is not None:
                self._await_end(live)
            run = self._arming.armed_run(team, address)
            require_place(self._contest.station(run.station), address)
            if run.heat is not None:
                if self.board.ask(run.id, self._clock.monotonic_s()):
                    self._note(run.id, "waiting", heat=run.heat, address=address)
                    logger.info("run %d: %s waits for the signal of heat %s", run.id, team, run.heat)
                raise not_started(run)
            return self._open(run)

    def start(self, heat: str, *, absent_too: bool = False) -> list[Run]:
        """Give a heat's start signal: its runs open together, with one start and so one deadline.

        Every meter integrates before the start is taken. If one does not start, nothing opens and all stay armed.
        Raises RefereeError `heat-unknown`, `heat-started`, `heat-alone`, `heat-uneven`, `testset-changed`,
        `team-absent` unless every team waits for it or `absent_too`; MeterError.
        """
        with self._turns.of(f"heat {heat}"), ExitStack() as turns:
            for team in sorted({run.team for run in self._store.runs(heat=heat)}):
                turns.enter_context(self._turns.of(f"team {team}"))
            runs = runs_to_start(self._store, heat)
            for run in runs:
                require_same_test_set(self._contest, run)
            for run in [] if absent_too else self.board.absent(runs, self._clock.monotonic_s()):
                raise RefereeError(
                    "team-absent",
                    f"{run.team} is not waiting for the signal: it has not logged in.",
                    run=run.id,
                )
            opened = self._open_together(runs, start_meters(self._meters, runs, self._clock))
        self.board.signal()
        return opened

    def _open_together(self, runs: Sequence[Run], started: dict[int, StartedMeter]) -> list[Run]:
        start_s = self._clock.monotonic_s()
        try:
            opened = self._store.open_runs(
                {run.id: started[run.id].meter.identity for run in runs},
                opened_utc=self._clock.utc().isoformat(),
                start_s=start_s,
                boot_id=self._clock.boot_id(),
            )
        except BaseException:
            undo(self._meters, runs, started)
            raise
        failures = []
        for run in opened:
            meter = started[run.id].meter
            meter.log.begin(run.id, start_s)
            try:
                self._go_live(run, Window(start_s, run.window_s), meter, samples=True)
            except RefereeError as error:  # one that goes wrong must not keep the others from their window
                failures.append(error)
        for failure in failures:
            raise failure
        return opened

    def _await_end(self, live: LiveRun) -> None:
        if not self._clock.wait(live.done, self._clock.monotonic_s() + CLOSING_PATIENCE_S):
            raise WindowClosed(f"Run {live.run.id} is still being closed; log in again.", run=live.run.id)

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
        self._tell_of_window(run, window.end_s - self._clock.monotonic_s(), is_new=samples)
        return live

    def _tell_of_window(self, run: Run, left_s: float, *, is_new: bool) -> None:
        if is_new:
            self._note(run.id, "open", remaining_s=left_s)
            logger.info("run %d of %s is open at %s for %g s", run.id, run.team, run.station, run.window_s)
        elif left_s > 0:
            self._note(run.id, "resumed", remaining_s=left_s)
            logger.info("run %d of %s goes on at %s: %.0f s left", run.id, run.team, run.station, left_s)
        else:
            self._note(run.id, "found-over", ended_s_ago=-left_s)
            logger.info("run %d of %s was found over: it ended %.0f s ago", run.id, run.team, -left_s)

    def _register(self, live: LiveRun) -> None:
        with self._lock:
            if self._is_down:
                raise RefereeError("shutting-down", "The referee is shutting down; log in again later.")
            self._live[live.run.id] = live

    # Lookups

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
                "run-state",
                f"Run {run} is {found.state}, but not in this server's hands; "
                f'void it: referee run void {run} --reason "..."',
                run=run,
            )
        return found

    def _close(self, live: LiveRun, window: Window) -> None:
        self._note_end(live, window)
        final = self._meters.final_reading(live.run, live.meter)
        live.meter.log.flush()
        # Closed, the station is free: nobody may arm it before its meter is where arming looks for it.
        with self._turns.of(f"station {live.run.station}"):
            # It is on record already where what came after that failed, and is done again.
            if self._store.run(live.run.id).state is RunState.OPEN:
                self._record_close(live, elapsed_s(window, window.end_s), final)
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
        found = self._store.run(run)
        with self._turns.of(f"team {found.team}"):
            with self._lock:
                is_live = run in self._live
            if is_live:
                self.close(run, "operator")
            # An open run that no server could take up has no other way out.
            voidable = (RunState.ARMED, RunState.OPEN, RunState.CLOSED, RunState.JUDGED)
            holds_station = found.state in (RunState.ARMED, RunState.OPEN)
            with self._turns.of(f"station {found.station}") if holds_station else nullcontext():
                voided = self._store.change_run(run, voidable, state=RunState.VOID.value, void_reason=reason)
                self._meters.forget(run)
        self.board.signal()
        self._note(run, "void", reason=reason)
        logger.info("run %d of %s is void: %s", run, found.team, reason)
        return voided

    def _see_to_the_end(self, live: LiveRun, samples: bool) -> None:
        if not samples:
            resume_sampling(live, self._clock)
        self._clock.wait(live.ending, live.window.deadline_s)
        while not live.done.is_set():
            try:
                self.close(live.run.id, "deadline")
            except Exception:
                logger.exception("run %d could not be closed; it is tried again", live.run.id)
                self._clock.wait(live.done, self._clock.monotonic_s() + CLOSE_RETRY_S)

    def _record_close(self, live: LiveRun, ended_s: float, final: Reading | None) -> None:
        sampler = live.meter.sampler
        energy_wh = None if final is None else final.energy_wh
        start_stop_s = None if final is None or sampler.ran_s is None else sampler.ran_s - ended_s
        self._store.change_run(
            live.run.id,
            (RunState.OPEN,),
            state=RunState.CLOSED.value,
            closed_utc=self._clock.utc().isoformat(),
            closed_by=live.closed_by,
            elapsed_s=ended_s,
            energy_wh=energy_wh,
            integrator_s=None if final is None else final.integrator_s,
            meter_changes=None if final is None else sampler.changes,
        )
        figures = {"elapsed_s": ended_s, "energy_wh": energy_wh, "start_stop_s": start_stop_s}
        self._note(live.run.id, "closed", by=live.closed_by, **figures)
        energy = "no energy yet" if energy_wh is None else f"{energy_wh:.6g} Wh"
        closed = (live.run.id, live.run.team, live.closed_by, ended_s, energy)
        logger.info("run %d of %s was closed by %s after %.3f s: %s", *closed)

    # The life of the host

    def recover(self) -> None:
        """Take up what an earlier process left: open runs go on, those past their deadline are closed.

        The energy of a closed run whose meter did not answer at its end is read now, if no run followed at its
        station. An open run that cannot go on, its station gone or its test set exchanged, is left for the operator to
        void, with the event `not-resumed`.
        """
        # One moment for all: the windows of a heat stay equal after a reboot, too.
        now_s, now_utc, boot_id = self._clock.monotonic_s(), self._clock.utc(), self._clock.boot_id()
        for run in self._store.runs(RunState.OPEN):
            try:
                self._take_up(run, window_of(run, now_s, now_utc, boot_id))
            except (RefereeError, MeterError) as error:
                logger.error("run %d cannot go on: %s", run.id, error.sentence)  # noqa: TRY400 - its words suffice
                self._note(run.id, "not-resumed", reason=error.sentence)
        for station in self._contest.config.stations:
            with self._turns.of(f"station {station.name}"):
                self._meters.read_left_over(station)

    def _take_up(self, run: Run, window: Window) -> None:
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
        self.board.signal()
        for live in lives:
            with live.closing:  # a run that is being closed is closed first
                live.done.set()
                live.ending.set()
            live.meter.leave()
            try:
                live.meter.log.flush()
            except RefereeError as error:
                logger.error("run %d: readings are lost: %s", live.run.id, error.sentence)  # noqa: TRY400
        self._meters.close()

    def _note(self, run: int, kind: str, **detail: object) -> None:
        note_event(self._store, self._clock.utc(), run, kind, **detail)
