"""RunControl: arms, opens, closes and voids runs; the only writer of a run's state while a contest is served."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack, nullcontext, suppress
from functools import partial

from referee.auth.client_addresses import require_admitted
from referee.clock import Clock
from referee.contest import Contest, require_same_test_set
from referee.errors import RefereeError, WindowClosed
from referee.runs.arming import Arming
from referee.runs.heat_making import HeatMaking
from referee.runs.heats import (
    StartBoard,
    not_started,
    require_joinable,
    runs_to_start,
    start_meters,
)
from referee.runs.idle_station import IdleStations
from referee.runs.live_runs import LiveRuns
from referee.runs.meter_state import MeterState, state_of
from referee.runs.open_run import OpenRun
from referee.runs.run_ending import count_again, note_end, record_close
from referee.runs.run_recorder import note_event
from referee.runs.run_recovery import read_all_left_over, take_up_runs
from referee.runs.run_window import Phase, Window, elapsed_s, phase_at, window_closed
from referee.runs.start_checks import Found, StartChecks
from referee.runs.station_meters import RunMeter, StationMeters
from referee.store.acts import Act
from referee.store.records import Run, RunState

logger = logging.getLogger(__name__)
CLOSING_TIMEOUT_S = 30.0  # how long a log-in waits until the team's last run is closed
CLOSE_RETRY_S = 2.0


class RunControl:
    """The runs of one contest. Call `recover` once before serving, and `shutdown` at the end.

    Locks, always taken in this order: a heat's (arm, make, start), a team's (arm, log in, void; several to make or
    start a heat, ordered by name), a live run's `closing`, a station's (any operation that frees or takes the station;
    several to make a heat, ordered by name). No other locks may be held while a meter is asked.

    `board` is where teams wait for a heat's start signal, `heats` makes heats, `idle` keeps stations free while their
    meters are asked. No run is armed or opened until
    `checks`, if any, have passed.
    """

    def __init__(
        self,
        contest: Contest,
        clock: Clock,
        checks: StartChecks | None = None,
    ) -> None:
        self._contest = contest
        self._checks = checks or StartChecks(Found.SOUND)
        self._store = contest.store
        self._clock = clock
        self._meters = StationMeters(contest, clock)
        self.board = StartBoard()
        self._locks: dict[str, threading.Lock] = {}
        self.idle = IdleStations(contest.store, clock, self._lock_of)
        self._arming = Arming(contest, clock, self._meters, self._lock_of, self.idle)
        self.heats = HeatMaking(
            contest, clock, self._checks, self._arming, self._lock_of
        )
        self._note = partial(note_event, contest.store, clock)
        self._live = LiveRuns(contest, clock)

    def _lock_of(self, name: str) -> threading.Lock:
        """Return the lock of one heat, team or station. With separate locks a dead meter delays nobody else."""
        return self._locks.setdefault(name, threading.Lock())  # atomic

    # Arming and opening

    def arm(
        self,
        team: str,
        station_name: str,
        heat: str | None = None,
        *,
        extra_s: int | None = None,
        beyond_attempts: bool = False,
        act: Act | None = None,
    ) -> Run:
        """Prepare a run: set up its meter and fix its image order. With a `heat`, the heat's `start` opens it.

        Its window is longer by `extra_s`; `beyond_attempts` allows a run for a team that has used its attempts. Raises
        RefereeError `attempts-used`, `team-unknown`, `station-unknown`, `station-busy`, `team-busy`, `heat-started`,
        `no-room`, `bad-request` for a bad name of a heat; MeterError.
        """
        station = self._contest.station(station_name)
        self._store.teams.require(team)
        self._checks.require_sound(self._clock)
        with ExitStack() as held:
            if heat is not None:
                held.enter_context(self._lock_of(f"heat {heat}"))
                require_joinable(self._store, heat)
            held.enter_context(self._lock_of(f"team {team}"))
            return self._arming.arm(
                team,
                station,
                heat,
                extra_s=extra_s,
                beyond_attempts=beyond_attempts,
                act=act,
            )

    def login(self, team: str, address: str | None = None) -> OpenRun:
        """Return the team's open run, or open its armed run, for a request from `address`.

        Raises RefereeError `not-armed`, `station-busy`, `wrong-address`, `no-room`, and `not-started` for a run that
        waits for its heat's signal; MeterError if the meter does not start, in which case the window has not opened.
        """
        with self._lock_of(f"team {team}"):
            live = self._live.of_team(team)
            now_s = self._clock.monotonic_s()
            if live is not None and phase_at(live.window, now_s) is Phase.OPEN:
                require_admitted(self._contest.station(live.run.station), address)
                return live
            if live is not None and not self._clock.wait(
                live.done,
                now_s + CLOSING_TIMEOUT_S,
            ):
                raise WindowClosed(
                    f"Run {live.run.id} is still being closed; log in again.",
                    run=live.run.id,
                )
            self._checks.require_sound(self._clock)
            run = self._arming.armed_run(team, address)
            require_admitted(self._contest.station(run.station), address)
            if run.heat is not None:
                if self.board.ask(run.id, self._clock.monotonic_s()):
                    self._note(run.id, "waiting", heat=run.heat, address=address)
                    logger.info(
                        "run %d: %s waits for the start of heat %s",
                        run.id,
                        team,
                        run.heat,
                    )
                raise not_started(run)
            require_same_test_set(self._contest, run)
            self._store.posts.require_room(0)
            return self._open({run.id: self._meters.started(run)})[0]

    def start(
        self,
        heat: str,
        *,
        absent_too: bool = False,
        act: Act | None = None,
    ) -> list[Run]:
        """Give a heat's start signal: its runs open together, with one start and one deadline.

        Every meter integrates before the start time is taken. If one does not start, nothing opens and all runs stay
        armed. Raises RefereeError `heat-unknown`, `heat-started`, `heat-alone`, `heat-uneven`, `testset-changed`,
        `no-room`, and MeterError. Raises `team-absent` if a team is not waiting, unless `absent_too`.
        """
        self._checks.require_sound(self._clock)
        with self._lock_of(f"heat {heat}"), ExitStack() as held:
            for team in sorted({run.team for run in self._store.runs.find(heat=heat)}):
                held.enter_context(self._lock_of(f"team {team}"))
            runs = runs_to_start(self._contest, heat)
            if not absent_too:
                self.board.require_all(runs, self._clock.monotonic_s())
            self._store.posts.require_room(0)
            opened = self._open(start_meters(self._meters, runs, self._clock), act)
        self.board.signal()
        return [live.run for live in opened]

    def _open(
        self,
        started: dict[int, RunMeter],
        act: Act | None = None,
    ) -> list[OpenRun]:
        """Open the armed runs of these meters, all or none, with one start."""
        start_s = self._clock.monotonic_s()
        opened_utc = self._clock.utc().isoformat()
        boot_id = self._clock.boot_id()
        common = {
            "state": RunState.OPEN.value,
            "opened_utc": opened_utc,
            "start_s": start_s,
            "boot_id": boot_id,
        }
        try:
            changes = {
                run: common
                | {"meter_identity": meter.identity, "meter_standing": meter.standing}
                for run, meter in started.items()
            }
            opened = self._store.runs.change_all(changes, (RunState.ARMED,), act=act)
        except BaseException:
            self._meters.put_back(started)
            raise
        lives = []
        failures = []
        for run in opened:
            meter = started[run.id]
            window = Window(start_s, run.window_s)
            meter.log.begin(run.id, start_s)
            try:
                lives.append(self._go_live(run, window, meter))
            except RefereeError as error:  # the other runs keep their windows
                failures.append(error)
                continue
            self._note(
                run.id,
                "open",
                remaining_s=window.end_s - self._clock.monotonic_s(),
            )
            logger.info(
                "run %d of %s is open at %s for %g s",
                run.id,
                run.team,
                run.station,
                run.window_s,
            )
        for failure in failures:
            raise failure
        return lives

    def _go_live(self, run: Run, window: Window, meter: RunMeter) -> OpenRun:
        try:
            live = self._live.add(run, window, meter)
        except BaseException:
            meter.sampler.close()
            raise
        name = f"deadline-{run.id}"
        threading.Thread(
            target=self._close_at_end,
            args=(live,),
            name=name,
            daemon=True,
        ).start()
        return live

    def slots_of(self, team: str) -> threading.BoundedSemaphore:
        """Return the semaphore that limits how many requests of a team's runs may be in progress."""
        return self._live.slots_of(team)

    def live(self, run: int) -> OpenRun:
        """Return the open run of that number. Raises RefereeError `window-closed` if it has ended, `run-unknown`."""
        live = self._live.runs.get(run)
        if live is None:
            raise window_closed(self._store.runs.get(run).id)
        return live

    def find_live(self, run: int) -> OpenRun | None:
        """Return the open run of that number, or None."""
        return self._live.runs.get(run)

    # Closing

    def close(self, run: int, closed_by: str, act: Act | None = None) -> Run:
        """End an open run and return it closed: first its results are completed, then its meter is stopped and read.

        A run that is already closed is returned unchanged. If storing fails, the run has ended but is not closed, and
        closing is retried until it succeeds. Raises RefereeError `run-unknown`, `run-state`, `storage-failed`.
        """
        live = self._live.runs.get(run)
        if live is not None:
            window = live.end(closed_by)
            with live.closing:
                if not live.done.is_set():
                    self._close(live, window, act)
        found = self._store.runs.get(run)
        if found.state in (RunState.ARMED, RunState.OPEN):
            void = f'referee run void {run} --reason "..."'
            sentence = f"Run {run} is {found.state}, but this server has not resumed it; void the run: {void}"
            raise RefereeError("run-state", sentence, run=run)
        return found

    def _close(self, live: OpenRun, window: Window, act: Act | None) -> None:
        note_end(self._store, live, window)
        final = self._meters.reading_of_record(live.run, live.meter)
        live.meter.log.end()
        # Closing the run frees its station, which must not be armed before its meter is retired as well.
        with self._lock_of(f"station {live.run.station}"):
            # An earlier attempt may have failed after this.
            if self._store.runs.get(live.run.id).state is RunState.OPEN:
                ended_s = elapsed_s(window, window.end_s)
                record_close(self._store, self._clock, live, ended_s, final, act)
            self._meters.retire(live.run, live.meter)
        with suppress(OSError):
            self._live.marks_path(live.run).unlink()
        self._live.remove(live.run.id)
        live.done.set()

    def void(self, run: int, reason: str, act: Act | None = None) -> Run:
        """Take a run out of the contest, from any state; its stored data stays.

        The operator's act is logged as the event `void`.

        Raises RefereeError `run-unknown`, `run-state` if it is already void, `storage-failed`.
        """
        reason = reason.encode("utf-8", "replace").decode()
        found = self._store.runs.get(run)
        with self._lock_of(f"team {found.team}"):
            if self._live.runs.get(run) is not None:
                self.close(run, "operator")
            # This includes an open run that no server could take up.
            voidable = (RunState.ARMED, RunState.OPEN, RunState.CLOSED, RunState.JUDGED)
            holds_station = found.state in (RunState.ARMED, RunState.OPEN)
            with (
                self._lock_of(f"station {found.station}")
                if holds_station
                else nullcontext()
            ):
                voided = self._store.runs.change(
                    run,
                    voidable,
                    act=act,
                    state=RunState.VOID.value,
                    void_reason=reason,
                )
                self._meters.forget(found)
        self.board.signal()
        logger.info("run %d of %s is void: %s", run, found.team, reason)
        return voided

    def unvoid(self, run: int, act: Act | None = None) -> Run:
        """Take a void run back into the contest, closed or judged as before.

        Raises RefereeError `run-unknown`, `run-state` if it is not void or was voided before it was closed.
        """
        team = self._store.runs.get(run).team
        with self._lock_of(f"team {team}"):
            return count_again(self._store, run, act)

    def meter_state(self, station: str) -> tuple[MeterState, str | None]:
        """Return the last known state of a station's meter and a sentence about its problem; the meter is not asked."""
        live = self._live.at_station(station)
        if live is not None:
            return state_of(live, self._clock.monotonic_s())
        if self._meters.is_ready(station):
            return MeterState.READY, None
        lost = self._meters.lost(station)
        if lost is not None:
            return MeterState.LOST, lost
        return MeterState.IDLE, self.idle.being_asked(station)

    def live_runs(self) -> dict[int, OpenRun]:
        """The open runs by number."""
        return self._live.by_number()

    def _close_at_end(self, live: OpenRun) -> None:
        if (
            self._clock.wait(live.ending, live.window.deadline_s)
            and live.run.closed_by is None
        ):
            # The caller that ended it closes it, in the record of an operator's act.
            self._clock.wait(live.done, self._clock.monotonic_s() + CLOSE_RETRY_S)
        while not live.done.is_set():
            try:
                self.close(live.run.id, "deadline")
            except Exception as error:
                is_unexpected = not isinstance(error, RefereeError)
                said = "run %d could not be closed and is tried again: %s"
                logger.error(said, live.run.id, error, exc_info=is_unexpected)  # noqa: TRY400
                self._clock.wait(live.done, self._clock.monotonic_s() + CLOSE_RETRY_S)

    # The server's start and end

    def recover(self) -> None:
        """Resume the open runs that an earlier process left."""
        take_up_runs(self._contest, self._clock, self._meters, self._go_live)

    def read_left_over(self) -> None:
        """Read the energies that closed runs left in their meters; a meter that does not answer takes seconds."""
        read_all_left_over(
            self._contest, self._clock, self._meters, self._lock_of, self.idle
        )

    def shutdown(self) -> None:
        """Close the links to the meters. Open runs stay open for the next start, with their integrators running."""
        lives = self._live.take_all()
        self.board.signal()
        for live in lives:
            with live.closing:  # waits for a close in progress
                live.done.set()
                live.ending.set()
            live.meter.sampler.close(
                restore_settings=False
            )  # its energy may have been read, but is not stored
            try:
                live.meter.log.flush()
            except RefereeError as error:
                logger.error(  # noqa: TRY400
                    "run %d: readings are lost: %s",
                    live.run.id,
                    error.sentence,
                )
        self._meters.close()
