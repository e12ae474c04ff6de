"""The stations' meters: set up when a run is armed, started for its window, read at its end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from lpirc_power.addresses.meter_address import standing
from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.sampling.sampler import Sampler
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest
from referee.errors import RefereeError
from referee.runs.meter_trouble import MeterTroubles, after_the_run
from referee.runs.missing_energy import (
    Missing,
    foreign,
    in_doubt,
    lost_before,
    unreachable,
)
from referee.runs.run_recorder import EvidenceLog, note_event
from referee.runs.zero_levels import ZeroLevels
from referee.store.held_stations import was_started
from referee.store.lost_energy import energy_lost
from referee.store.records import (
    ENERGY_MISSING,
    METER_START,
    Run,
    RunState,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunMeter:
    """The meter of one run, and the log that records its readings."""

    sampler: Sampler
    log: EvidenceLog
    setup: Setup
    station: Station
    official_makers: tuple[str, ...]

    @property
    def identity(self) -> str:
        """The identity of the meter that answered, in the form stored with the run."""
        return str(self.sampler.identity)

    @property
    def standing(self) -> Standing | None:
        """The standing of that meter: whether its measurements are accepted. None before a meter has answered."""
        identity = self.sampler.identity
        station = self.station
        if identity is None:
            return None
        return standing(
            identity,
            station.meter,
            loopback_meter=station.loopback_meter,
            official_makers=self.official_makers,
        )

    def foreign_to(
        self,
        run: Run,
        reading: Reading,
        before: Reading | None,
    ) -> Missing | None:
        """Return why the energy in the meter is not the run's, or None; `before` is an earlier reading of the run."""
        is_simulated = self.station.is_simulated
        return foreign(run, self.identity, reading, before, is_simulated=is_simulated)


class StationMeters:
    """Makes the meters of runs, and keeps the meters of armed and of closed runs.

    The caller holds the lock of the station, or of the armed run's team.
    """

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._note = partial(note_event, contest.store, clock)
        self._armed: dict[int, RunMeter] = {}
        self._retired: dict[str, RunMeter] = {}
        self._zeros = ZeroLevels()
        self._troubles = MeterTroubles()

    def of(self, run: Run) -> RunMeter:
        """Return an unopened meter for the run, with the setup that the run was armed with.

        The configuration may have changed since then. The meter's log goes on from the run's stored readings and energy
        loss.
        """
        station = self._contest.station(run.station)
        meter = self._new(station, run.setup, run.official_makers)
        found = energy_lost(self._store.log.of_run(run.id))
        past = self._store.readings.of_run(run.id, 0.0)
        meter.log.remember(
            None if found is None else found.loss,
            past[-1] if past else None,
        )
        return meter

    def _new(
        self,
        station: Station,
        setup: Setup,
        official_makers: tuple[str, ...],
    ) -> RunMeter:
        log = EvidenceLog(self._store)
        clock = self._clock
        sampler = Sampler(
            station.meter,
            setup,
            log.reading,
            clock.monotonic_s,
            clock.utc,
            on_link=log.link,
            settle_s=station.settle_s,
        )
        return RunMeter(sampler, log, setup, station, official_makers)

    # Armed

    def set_up(
        self,
        station: Station,
        window_s: int,
        *,
        take_over: bool,
        spare_energy: bool,
    ) -> RunMeter:
        """Return a free station's meter, reset and ready for a new run; `take_over` allows stopping its integration.

        With `spare_energy` a meter that holds any energy is refused. Raises MeterError.
        """
        makers = self._contest.config.official_makers
        meter = self._new(station, station.setup(window_s), makers)
        try:
            self._arm(meter, take_over=take_over, spare_energy=spare_energy)
        except BaseException:
            meter.sampler.close()
            raise
        return meter

    def keep(self, run: Run, meter: RunMeter) -> None:
        """Keep the meter of an armed run until `started` or `forget`."""
        self._armed[run.id] = meter

    def is_ready(self, station: str) -> bool:
        """Return True if a meter of the station is set up for an armed run."""
        return any(
            meter.station.name == station for meter in list(self._armed.values())
        )

    def lost(self, station: str) -> str | None:
        """Return what is wrong with a station's meter: it did not start for the armed run, or the last run lost it.

        None if it started and answered, or was asked since.
        """
        trouble = self._troubles.of(station)
        if trouble is not None:
            return trouble.sentence
        retired = self._retired.get(station)
        error = None if retired is None else retired.sampler.link_error
        return None if error is None else after_the_run(error)

    def forget(self, run: Run) -> None:
        """Close the meter of a run that will not be opened.

        If an earlier process armed the run, the meter's panel is unlocked first.
        """
        self._troubles.end(run)
        kept = self._armed.pop(run.id, None)
        if kept is not None:
            kept.sampler.close()
        elif run.state is RunState.ARMED:
            with suppress(
                MeterError,
                RefereeError,
            ):  # a removed station has no meter to free
                self._free(self.of(run))

    @staticmethod
    def _free(meter: RunMeter) -> None:
        if not meter.station.is_simulated:
            meter.sampler.unlock_panel()
        meter.sampler.close()

    def prepare(self, run: Run) -> None:
        """Set up the armed run's meter again if an earlier process had armed it. Raises MeterError."""
        if run.id not in self._armed:
            self._armed[run.id] = self._set_up_again(
                run,
                take_over=was_started(self._store, run),
            )
            self._troubles.end(run)

    def _set_up_again(self, run: Run, *, take_over: bool) -> RunMeter:
        meter = self.of(run)
        with self._failure_noted(run, meter):
            self._arm(meter, take_over=take_over, spare_energy=False)
        return meter

    def _arm(self, meter: RunMeter, *, take_over: bool, spare_energy: bool) -> None:
        due = self._zeros.is_due(meter.station, self._clock.monotonic_s())
        meter.sampler.arm(take_over=take_over, spare_energy=spare_energy, zero=due)
        if due:
            done = meter.sampler.zero_error is None
            self._zeros.tried(
                meter.station,
                meter.identity,
                self._clock.monotonic_s(),
                done=done,
            )

    def zero_age_s(self, meter: RunMeter) -> float | None:
        """Return the seconds since a meter's zero level was compensated; None if that is not known."""
        return self._zeros.age_s(
            meter.station,
            meter.identity,
            self._clock.monotonic_s(),
        )

    @contextmanager
    def _failure_noted(self, run: Run, meter: RunMeter) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            meter.sampler.close()
            if isinstance(error, MeterError):
                self._troubles.note(run, error)
            self._note(run.id, "meter-failed", reason=str(error))
            raise

    # Started

    def started(self, run: Run) -> RunMeter:
        """Start the armed run's meter and return it once it integrates; set it up again if an earlier process armed it.

        Raises MeterError, and RefereeError `storage-failed` before the meter is started.
        """
        kept = self._armed.pop(run.id, None)
        take_over = kept is not None or was_started(self._store, run)
        try:
            # Recorded before the start, since a process that dies right after it leaves the integrator running.
            self._store.log.append(self._clock.utc(), run.id, METER_START)
            if kept is not None:
                kept.sampler.start()
                self._troubles.end(run)
                return kept
        except BaseException as error:
            if kept is not None:
                kept.sampler.close()
            if not isinstance(error, MeterError):
                raise
            logger.warning(
                "run %d: the armed meter did not start (%s); it has been set up again",
                run.id,
                error.sentence,
            )
        meter = self._set_up_again(run, take_over=take_over)
        with self._failure_noted(run, meter):
            meter.sampler.start()
        self._troubles.end(run)
        return meter

    def put_back(self, started: dict[int, RunMeter]) -> None:
        """Stop meters that were started for windows that did not open. The next start sets them up again."""
        for run, meter in started.items():
            reason = None
            try:
                meter.sampler.stop()
            except MeterError as error:
                reason = error.sentence
                logger.warning(
                    "run %d: its meter could not be stopped: %s",
                    run,
                    reason,
                )
            finally:
                meter.sampler.close()
            self._note(run, "start-undone", reason=reason)

    # Ended

    def reading_of_record(self, run: Run, meter: RunMeter) -> Reading | None:
        """Return the final reading of a run, or None. It works even if nothing was read since a server restart.

        A meter that was used for something else meanwhile is left alone. Raises RefereeError `storage-failed`.
        """
        past = (
            ()
            if meter.sampler.last is not None
            else self._store.readings.of_run(run.id, 0.0)
        )
        with suppress(MeterError):  # asked again below, and then recorded
            if past and not self.holds_energy_of(run, meter, past[-1]):
                return None
        return self.final_reading(run, meter, past)

    def final_reading(
        self,
        run: Run,
        meter: RunMeter,
        past: Sequence[Reading] = (),
    ) -> Reading | None:
        """Stop the integrator and return the reading with the run's energy, or None after an event with the reason.

        `past` are the run's readings by an earlier sampler, which show whether the integrator was restarted since.
        """
        try:
            reading = meter.sampler.stop()
        except MeterError as error:
            missing = lost_before(meter.log.loss) or unreachable(error)
            self._note_missing(run, missing)
            return None
        before = past[-1] if past else meter.sampler.last_sampled
        doubt = (
            meter.foreign_to(run, reading, before)
            or lost_before(meter.log.loss)
            or in_doubt(reading, past)
        )
        if doubt is None:
            return reading
        self._note_missing(run, doubt)
        return None

    def holds_energy_of(
        self,
        run: Run,
        meter: RunMeter,
        before: Reading | None,
    ) -> bool:
        """Return True if the energy in the meter can be the run's. If not, an event records why. Raises MeterError."""
        missing = meter.foreign_to(run, meter.sampler.glance(), before)
        if missing is not None:
            self._note_missing(run, missing)
        return missing is None

    def _note_missing(self, run: Run, missing: Missing) -> None:
        code, reason = missing
        logger.error("run %d: no valid energy: %s", run.id, reason)
        self._note(run.id, ENERGY_MISSING, code=code, reason=reason)

    def retire(self, run: Run, meter: RunMeter) -> None:
        """Keep the meter of a closed run until its station is armed again or the server ends.

        Closing a meter restores its settings, which resets its integrator. Until then its panel still shows the energy.
        """
        self.release(run.station)
        self._retired[run.station] = meter

    def release(self, station: str) -> None:
        """Close the meter of the station's last run."""
        retired = self._retired.pop(station, None)
        if retired is not None:
            retired.sampler.close()

    def close(self) -> None:
        """Close the meters of all armed and closed runs."""
        for kept in [self._armed.pop(run) for run in list(self._armed)]:
            kept.sampler.close()
        for station in list(self._retired):
            self.release(station)
