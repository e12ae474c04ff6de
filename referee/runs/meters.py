"""The stations' meters: set up for an armed run, started for its window, read at its end."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from power.energy.continuity import began_anew, sums
from power.errors import MeterError
from power.meter import IntegratorState, Reading, Setup
from power.sampling.sampler import Sampler
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest
from referee.runs.recorder import EvidenceLog, note_event
from referee.store.records import ENERGY_MISSING, METER_START, OVER, Run, RunState

logger = logging.getLogger(__name__)

READ_LATER = (
    "The meter keeps it until its reset; it is read at the server's next start or the station's next arming."
)


@dataclass(frozen=True)
class RunMeter:
    """The meter of one run, and the log that its readings go to."""

    sampler: Sampler
    log: EvidenceLog
    setup: Setup

    @property
    def identity(self) -> str:
        """Who answered, as it is kept with the run."""
        return str(self.sampler.identity)

    def idle_power_w(self, duration_s: float | None) -> float | None:
        """The mean power of the board that is doing nothing yet, over so long; None if nothing is to be measured."""
        return None if duration_s is None else self.sampler.measure_idle(duration_s).power_w

    def leave(self) -> None:
        """Let go of the meter of a run that is not closed, as it is: its energy may be read, but it is not stored."""
        self.sampler.close(restore_settings=False)

    def close(self) -> None:
        """Let go of the meter: with its former settings if its energy has been read or it was never started."""
        self.sampler.close()


class StationMeters:
    """Keeps the meters of armed runs, and makes those of open ones. The caller holds the station's or team's turn."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._armed: dict[int, RunMeter] = {}
        self._retired: dict[str, RunMeter] = {}

    def set_up(self, station: Station) -> RunMeter:
        """A free station's meter, ready for a new run. Arming resets it: what it still holds is read before.

        Raises MeterError; a meter that integrates is stopped only if it can be the station's last run that left it so.
        """
        self._let_go(station.name)
        left_over = self.read_left_over(station)
        meter = self._new(station, station.setup(self._contest.config.window_s))
        try:
            meter.sampler.arm(take_over=left_over is not None)
        except BaseException:
            meter.close()
            raise
        return meter

    def keep(self, run: Run, meter: RunMeter) -> None:
        """Keep the meter of an armed run until it is started or forgotten."""
        self._armed[run.id] = meter

    def forget(self, run: int) -> None:
        """Let go of the meter of a run that will not be opened."""
        kept = self._armed.pop(run, None)
        if kept is not None:
            kept.close()

    def retire(self, run: Run, meter: RunMeter) -> None:
        """Keep the meter of a closed run until its station is armed anew, or the server ends.

        Letting go of it gives it its former settings back, which resets its integrator: until then its panel goes on
        showing the energy of record.
        """
        self._let_go(run.station)
        self._retired[run.station] = meter

    def _let_go(self, station: str) -> None:
        retired = self._retired.pop(station, None)
        if retired is not None:
            retired.close()

    def prepare(self, run: Run) -> None:
        """See that the armed run's meter is set up and answers; anew if it was armed by an earlier process.

        Raises MeterError.
        """
        if run.id in self._armed:
            return
        meter = self._of(run)
        try:
            meter.sampler.arm(take_over=self._was_started(run))
        except BaseException as error:
            meter.close()
            note_event(self._store, self._clock.utc(), run.id, "meter-failed", reason=str(error))
            raise
        self._armed[run.id] = meter

    def put_back(self, run: Run, meter: RunMeter) -> None:
        """Stop a meter that was started for a window that did not open; the next start sets it up anew."""
        reason = None
        try:
            meter.sampler.stop()
        except MeterError as error:
            reason = error.sentence
            logger.warning("run %d: its meter could not be stopped: %s", run.id, reason)
        finally:
            meter.close()
        note_event(self._store, self._clock.utc(), run.id, "start-undone", reason=reason)

    def started(self, run: Run) -> RunMeter:
        """The armed run's meter, confirmed to be integrating; set up anew if it was armed by an earlier process.

        Raises MeterError, and RefereeError `storage-failed` before the meter is started.
        """
        kept = self._armed.pop(run.id, None)
        started_before = self._was_started(run)
        try:
            # On record before it happens: a start that nobody lived to record leaves the integrator running.
            self._store.log_event(self._clock.utc(), run.id, METER_START)
            if kept is not None and self._starts(run, kept):
                return kept
        except BaseException:
            if kept is not None:
                kept.close()
            raise
        return self._started_anew(run, take_over=kept is not None or started_before)

    def _starts(self, run: Run, kept: RunMeter) -> bool:
        try:
            kept.sampler.start()
        except MeterError as error:
            logger.warning("run %d: the armed meter did not start (%s); set up anew", run.id, error.sentence)
            kept.close()
            return False
        return True

    def _started_anew(self, run: Run, *, take_over: bool) -> RunMeter:
        meter = self._of(run)
        try:
            meter.sampler.arm(take_over=take_over)
            meter.sampler.start()
        except BaseException as error:
            meter.close()
            note_event(self._store, self._clock.utc(), run.id, "meter-failed", reason=str(error))
            raise
        return meter

    def taken_up(self, run: Run, start_s: float) -> RunMeter:
        """The meter of a run that an earlier process opened; nothing is asked of it yet."""
        meter = self._of(run)
        if run.meter_identity:
            meter.sampler.expect(run.meter_identity)
        meter.log.begin(run.id, start_s)
        return meter

    def final_reading(self, run: Run, meter: RunMeter, before: Reading | None = None) -> Reading | None:
        """Stop the integrator and read the energy of record; None, with an event that says why, if there is none.

        `before` is a reading of the run, where the integrator may have begun anew since.
        """
        try:
            reading = meter.sampler.stop()
        except MeterError as error:
            reason = f"{error.sentence} {READ_LATER}"
        else:
            found = _not_the_runs(run, meter, reading, before) or _not_finite(reading)
            if found is None:
                return reading
            reason = found
        self._note_missing(run, reason)
        return None

    def _note_missing(self, run: Run, reason: str) -> None:
        logger.error("run %d: no energy of record: %s", run.id, reason)
        note_event(self._store, self._clock.utc(), run.id, ENERGY_MISSING, reason=reason)

    def read_left_over(self, station: Station) -> Run | None:
        """Read the energy of the station's last run if it is missing, since the meter keeps it until its reset.

        Returns that last run if its meter was started, its energy had not been read, and nobody else uses it now. A
        meter that was reset since is left alone: what it holds, and what integrates in it, is somebody else's. The
        integrator's own time goes on record with the energy, so that the check `integrator-time` tells when it covers
        more than the run.
        """
        last = next(reversed(self._store.runs(station=station.name)), None)
        if (
            last is None
            or last.state not in OVER
            or last.energy_wh is not None
            or not self._was_started(last)
            or self._is_lost(last)
        ):
            return None
        if last.start_s is None:
            return last
        meter = self._of(last)
        try:
            before = next(reversed(self._store.readings(last.id, 0.0)), None)
            reason = _not_the_runs(last, meter, meter.sampler.glance(), before)
            if reason is not None:
                self._note_missing(last, reason)
                return None
            meter.sampler.resume()
            final = self.final_reading(last, meter, before)
        except MeterError as error:
            logger.warning("run %d: its energy is still missing: %s", last.id, error.sentence)
            return None  # nobody knows whose it is now
        finally:
            meter.close()
        if final is not None:
            figures = {"energy_wh": final.energy_wh, "integrator_s": final.integrator_s}
            # A run that was judged without it waits for its judgement again.
            state = RunState.CLOSED if last.state is RunState.JUDGED else last.state
            changes = meter.sampler.changes
            self._store.change_run(
                last.id, (last.state,), state=state.value, meter_changes=changes, **figures
            )
            note_event(self._store, self._clock.utc(), last.id, "energy-read", **figures)
            logger.info("run %d of %s: its energy is read now: %.6g Wh", last.id, last.team, final.energy_wh)
        return last

    def close(self) -> None:
        """Let go of the meters of all armed and closed runs."""
        for run in list(self._armed):
            self.forget(run)
        for station in list(self._retired):
            self._let_go(station)

    def _was_started(self, run: Run) -> bool:
        return any(event["kind"] == METER_START for event in self._store.events(run.id))

    def _is_lost(self, run: Run) -> bool:
        reasons = [one["reason"] for one in self._store.events(run.id) if one["kind"] == ENERGY_MISSING]
        return bool(reasons) and not reasons[-1].endswith(READ_LATER)

    def _of(self, run: Run) -> RunMeter:
        """A run's meter, set up as the run was armed: the configuration may have changed since."""
        return self._new(self._contest.station(run.station), run.setup)

    def _new(self, station: Station, setup: Setup) -> RunMeter:
        log = EvidenceLog(self._store)
        sampler = Sampler(
            station.meter, setup, log.reading, self._clock.monotonic_s, self._clock.utc, on_link=log.link
        )
        return RunMeter(sampler, log, setup)


def _not_the_runs(run: Run, meter: RunMeter, reading: Reading, before: Reading | None = None) -> str | None:
    """Why what a meter holds is not the run's energy; `before` is a reading of the run."""
    if meter.identity != run.meter_identity:
        return f"Another meter answers: {meter.identity}, not {run.meter_identity}. {READ_LATER}"
    if reading.state is IntegratorState.RESET:
        return "The meter's integrator was reset or the meter switched off after the run had started."
    if before is not None and (before.state is IntegratorState.RESET or began_anew(before, reading)):
        return f"The meter's integrator began anew after the run ({sums(before)}, then {sums(reading)})."
    return None


def _not_finite(reading: Reading) -> str | None:
    if not (math.isfinite(reading.energy_wh) and math.isfinite(reading.integrator_s)):
        return f"The meter gives {reading.energy_wh} Wh in {reading.integrator_s} s. {READ_LATER}"
    return None
