"""RunControl: arms, opens, closes and voids runs; the only writer of a run's state while a contest is served."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from power.errors import MeterError
from power.meter import Reading, Setup
from power.sampler import Sampler
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest
from referee.errors import RefereeError
from referee.evidence_log import EvidenceLog
from referee.image_order import image_order
from referee.live_run import LiveRun, window_closed
from referee.records import Run, RunState
from referee.window import Phase, Window, elapsed_s, phase_at

logger = logging.getLogger(__name__)
NOT_YET_STORED = 0


class RunControl:
    """The runs of one contest. Call `recover` once before serving and `shutdown` after."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._lock = threading.RLock()
        self._turns: dict[str, threading.Lock] = {}
        self._live: dict[int, LiveRun] = {}
        self._armed: dict[int, tuple[Sampler, EvidenceLog]] = {}

    # Arming and opening

    def arm(self, team: str, station_name: str) -> Run:
        """Prepare a run: its meter set up, its image order fixed.

        Raises RefereeError `team-unknown`, `station-unknown`, `station-busy`, `team-busy`; MeterError.
        """
        station = self._contest.station(station_name)
        if self._store.password_hash(team) is None:
            raise RefereeError("team-unknown", f"There is no team {team!r}; see: referee team list")
        with self._turn(f"station {station.name}"):
            self._require_free(team, station)
            return self._arm(team, station)

    def _arm(self, team: str, station: Station) -> Run:
        sampler, log = self._new_sampler(station)
        try:
            identity = sampler.arm()
            run = self._store.arm_run(self._new_run(team, station, str(identity)), self._clock.utc())
            order = image_order(
                self._contest.secret, run.id, run.images, shuffle=self._contest.config.shuffle
            )
            self._store.set_image_order(run.id, order)
        except BaseException:
            sampler.close()
            raise
        self._armed[run.id] = (sampler, log)
        self._store.log_event(self._clock.utc(), run.id, "armed", meter=str(identity), station=station.name)
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
                live.closed.wait()
            return self._open(self._armed_run(team))

    def _armed_run(self, team: str) -> Run:
        for run in self._store.runs(RunState.ARMED, team=team):
            return run
        if not self._contest.config.auto_arm:
            raise RefereeError("not-armed", f"No run is armed for {team}; ask the operator.", team=team)
        for station in self._contest.config.stations:
            if self._occupant(station) is not None:
                continue
            try:
                return self.arm(team, station.name)
            except RefereeError as error:
                if error.code != "station-busy":
                    raise
        raise RefereeError("station-busy", "Every station is in use; log in again when one is free.")

    def _open(self, run: Run) -> LiveRun:
        sampler, log = self._started_meter(run)
        start_s = self._clock.monotonic_s()
        try:
            run = self._store.change_run(
                run.id,
                (RunState.ARMED,),
                state=RunState.OPEN.value,
                opened_utc=self._clock.utc().isoformat(),
                start_s=start_s,
                boot_id=self._clock.boot_id(),
            )
        except BaseException:
            sampler.close()
            raise
        log.begin(run.id, start_s)
        return self._go_live(run, Window(start_s, run.window_s), sampler, log)

    def _started_meter(self, run: Run) -> tuple[Sampler, EvidenceLog]:
        """The run's meter, confirmed to be integrating; set up anew if it was armed by an earlier process."""
        kept = self._armed.pop(run.id, None)
        started_before = any(event["kind"] == "meter-start" for event in self._store.events(run.id))
        self._store.log_event(self._clock.utc(), run.id, "meter-start")
        if kept is not None:
            try:
                kept[0].start()
            except MeterError as error:
                kept[0].close()
                logger.warning(
                    "run %d: the armed meter did not start (%s); set up anew", run.id, error.sentence
                )
            else:
                return kept
        sampler, log = self._new_sampler(self._contest.station(run.station))
        try:
            # A start of this very run that nobody lived to record has left the integrator running.
            sampler.arm(take_over=kept is not None or started_before)
            sampler.start()
        except BaseException as error:
            sampler.close()
            self._store.log_event(self._clock.utc(), run.id, "meter-failed", reason=str(error))
            raise
        return sampler, log

    def _go_live(self, run: Run, window: Window, sampler: Sampler, log: EvidenceLog) -> LiveRun:
        live = LiveRun(run, window, self._store.image_order(run.id), sampler, log, self._store, self._clock)
        with self._lock:
            self._live[run.id] = live
        threading.Thread(
            target=self._close_at_deadline, args=(live,), name=f"deadline-{run.id}", daemon=True
        ).start()
        self._store.log_event(
            self._clock.utc(), run.id, "open", remaining_s=window.end_s - self._clock.monotonic_s()
        )
        return live

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

        A run that is closed already is returned as it is. Raises RefereeError `run-unknown`, `storage-failed`.
        """
        live = self._claim(run)
        if live is None:
            return self._store.run(run)
        window = live.end()
        final = self._final_reading(live.run, live.sampler)
        ended_s = elapsed_s(window, window.end_s)
        try:
            live.log.flush()
            closed = self._record_close(live.run, closed_by, ended_s, final)
        finally:
            live.sampler.close()
            with self._lock:
                self._live.pop(run, None)
            live.closed.set()
        return closed

    def void(self, run: int, reason: str) -> Run:
        """Take a run out of the contest, from whatever state; what is stored of it stays."""
        if self._store.run(run).state is RunState.OPEN:
            self.close(run, "operator")
        kept = self._armed.pop(run, None)
        if kept is not None:
            kept[0].close()
        voidable = (RunState.ARMED, RunState.CLOSED, RunState.JUDGED)
        voided = self._store.change_run(run, voidable, state=RunState.VOID.value, void_reason=reason)
        self._store.log_event(self._clock.utc(), run, "void", reason=reason)
        return voided

    def _claim(self, run: int) -> LiveRun | None:
        """The live run, for the one caller that will close it; the others wait until it is closed."""
        with self._lock:
            live = self._live.get(run)
            if live is None:
                return None
            mine = not live.ending.is_set()
            live.ending.set()
        if mine:
            return live
        live.closed.wait()
        return None

    def _close_at_deadline(self, live: LiveRun) -> None:
        if self._clock.wait(live.ending, live.window.deadline_s):
            return
        try:
            self.close(live.run.id, "deadline")
        except RefereeError:
            logger.exception("run %d could not be closed at its deadline", live.run.id)

    def _final_reading(self, run: Run, sampler: Sampler) -> Reading | None:
        try:
            return sampler.stop()
        except MeterError as error:
            logger.error("run %d: no energy of record: %s", run.id, error.sentence)  # noqa: TRY400 - no traceback
            self._store.log_event(self._clock.utc(), run.id, "energy-missing", reason=error.sentence)
            return None

    def _record_close(self, run: Run, closed_by: str, ended_s: float, final: Reading | None) -> Run:
        now = self._clock.utc()
        closed = self._store.change_run(
            run.id,
            (RunState.OPEN,),
            state=RunState.CLOSED.value,
            closed_utc=now.isoformat(),
            closed_by=closed_by,
            elapsed_s=ended_s,
            energy_wh=None if final is None else final.energy_wh,
            integrator_s=None if final is None else final.integrator_s,
        )
        self._store.log_event(
            now, run.id, "closed", by=closed_by, elapsed_s=ended_s, energy_wh=closed.energy_wh
        )
        return closed

    # The life of the host

    def recover(self) -> None:
        """Take up what an earlier process left: open runs go on, those past their deadline are closed."""
        for run in self._store.runs(RunState.OPEN):
            window = self._window_now(run)
            sampler, log = self._new_sampler(self._contest.station(run.station))
            log.begin(run.id, window.start_s)
            try:
                sampler.resume()
            except MeterError as error:
                logger.warning("run %d: its meter does not answer yet: %s", run.id, error.sentence)
            self._go_live(run, window, sampler, log)

    def shutdown(self) -> None:
        """Let go of the meters; open runs stay open, their integrators running, for the next start."""
        with self._lock:
            lives, self._live = list(self._live.values()), {}
        for live in lives:
            live.ending.set()
            live.sampler.close()
            live.log.flush()
        for sampler, _ in self._armed.values():
            sampler.close()

    def _window_now(self, run: Run) -> Window:
        """The run's window on this boot's monotonic clock; after a reboot only the wall clock links the two."""
        now_s = self._clock.monotonic_s()
        if run.start_s is not None and run.boot_id is not None and run.boot_id == self._clock.boot_id():
            return Window(run.start_s, run.window_s)
        opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
        return Window(now_s - (self._clock.utc() - opened).total_seconds(), run.window_s)

    def _new_sampler(self, station: Station) -> tuple[Sampler, EvidenceLog]:
        setup = Setup(
            voltage_range_v=station.voltage_range_v,
            current_range_a=station.current_range_a,
            update_interval_s=station.update_interval_s,
            integrator_timer_s=self._contest.config.window_s,
            mode=station.mode,
        )
        log = EvidenceLog(self._store)
        return Sampler(station.meter, setup, log.reading, self._clock.monotonic_s, self._clock.utc), log

    def _new_run(self, team: str, station: Station, identity: str) -> Run:
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
            update_interval_s=station.update_interval_s,
            meter_identity=identity,
        )
