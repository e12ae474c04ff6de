"""Arms a meter for a run, starts and samples it, reads its energy at the stop, and restores its settings."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterBusy, MeterError, PassingMeterError
from lpirc_power.meter import Identity, Meter, Reading, Setup, require_no_energy
from lpirc_power.sampling.armed_meter import require_setup, zero_failure
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.polling import RETRY_S, Idle, baseline, idle_readings, settle
from lpirc_power.sampling.sampling_thread import LinkEvent, Sampling, late_sentence

__all__ = ["Idle", "LinkEvent", "Sampler"]

_log: Final = logging.getLogger(__name__)

Answer = TypeVar("Answer")

FINAL_S: Final = 10.0
"""Time for which `stop` keeps trying to read the energy from the meter."""


class Sampler:
    """The link to one meter, from arming until the run's energy is read.

    A lock lets one thread at a time talk to the meter. One thread samples it, once per update. Another thread calls
    `on_reading` and `on_link` in order, so a slow callback never loses a reading; waiting calls are kept in memory. If
    a callback raises, the exception is logged and the next call is made. Neither callback may wait for a lock that the
    caller of `stop` holds, since `stop` waits up to ten seconds until all calls are made.

    `changes` holds the differences from the setup when `stop` read the meter. `ran_s` is the longest time that the
    integrator may have run: from before the start command until the meter confirmed the stop, or the timer's time after
    the meter confirmed the start. It is None if this sampler did not start the integrator or has not stopped it. The
    integrator starts between the command and the confirmation, about a quarter of a second later; `ran_s` includes that
    time, a window does not. `late_s` is how long the stop had to wait for a lost link. It is not part of `ran_s`:
    energy from that time is outside the run, and must show in its checks.

    A meter is started no earlier than `settle_s` after its ranges are set, and always after an update with data. Every
    pause is `wait(event, seconds)`.
    """

    def __init__(
        self,
        address: str,
        setup: Setup,
        on_reading: Callable[[Reading], None],
        monotonic: Callable[[], float],
        utcnow: Callable[[], datetime],
        *,
        on_link: Callable[[LinkEvent], None] | None = None,
        settle_s: float = 0.0,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        name: str = "",
    ) -> None:
        """Check the address without opening it; MeterError `meter-wrong-address` if it is not valid."""
        self._name = name
        self._setup = setup
        self._settle_s = settle_s
        self._on_reading = on_reading
        self._on_link = on_link
        self._wait = wait
        self._closing = threading.Event()
        self._clocks = Clocks(monotonic, utcnow, self._pause)
        self._session = MeterSession(address, setup.element, self._clocks)
        self._link_lock = threading.RLock()
        self._sampling: Sampling | None = None
        self.zero_error: MeterError | None = None
        self._has_locked = False
        self._forget_run()

    def _forget_run(self) -> None:
        if self._sampling is not None:
            self._sampling.close()
        self._sampling = None
        self.changes: tuple[str, ...] = ()
        self.ran_s: float | None = None
        self.late_s = 0.0
        self._end_s: float | None = None
        self._lost_at_end = self._has_stopped = False
        self._started = False
        self._begun_s: float | None = None
        self._longest_s = math.inf
        self._final: Reading | None = None

    @property
    def identity(self) -> Identity | None:
        """The identity of the armed or resumed meter."""
        return self._session.identity

    @property
    def last(self) -> Reading | None:
        """The newest reading of this run; after `stop`, the reading with the run's energy."""
        return self._final or self.last_sampled

    @property
    def last_sampled(self) -> Reading | None:
        """The newest reading of this run before its stop."""
        return self._sampling.last if self._sampling is not None else None

    @property
    def link_error(self) -> MeterError | None:
        """The failure that now keeps the sampling thread from the meter; None if the link works."""
        return self._sampling.link_error if self._sampling is not None else None

    @property
    def integrates_here(self) -> bool:
        """Return True if the meter's integrator is in this process, and ends with it."""
        return self._session.integrates_here

    def arm(
        self,
        *,
        take_over: bool = False,
        spare_energy: bool = False,
        zero: bool = False,
        inspect: Callable[[Meter], object] = lambda _meter: None,
    ) -> Identity:
        """Open, identify and set up the meter, wait until it has settled, and lock its panel.

        The integrator is reset. A meter that integrates is left unchanged (`meter-busy`) unless `take_over` is set,
        which stops it first. With `spare_energy`, a meter that has ended and still holds an energy is also left
        unchanged. `zero` compensates the zero level; `zero_error` says why that failed. `inspect` is called with the
        meter before anything is set, and may raise.
        """
        with self._link_lock:
            self._require_idle()
            self._restore_settings()
            self._forget_run()
            self._session.forget()
            meter = self._session.untouched()
            inspect(meter)
            if spare_energy and not take_over:
                require_no_energy(meter)
            self._session.configure(self._setup, take_over=take_over)
            if zero:
                self.zero_error = zero_failure(meter)
            self._make_ready(meter)
            return meter.identity

    def measure_idle(
        self, duration_s: float, require_going_on: Callable[[], object] = lambda: None
    ) -> Idle:
        """Measure the mean power for at least `duration_s` seconds, after `arm` and before `start`.

        `require_going_on` is called at each pause and may raise to end the measurement. Raises MeterError
        `meter-no-idle` if the readings show no idle power, `meter-busy` if the integrator runs, `meter-setup-changed`
        if settings were changed.
        """

        def pause(seconds: float) -> None:
            self._pause_or_end(seconds)
            require_going_on()

        with self._link_lock:
            self._require_idle()
            try:
                meter = self._session.meter()
                require_setup(meter, self._setup)
                found = baseline(
                    idle_readings(
                        meter, duration_s, self._setup.update_interval_s, pause
                    )
                )
                require_setup(meter, self._setup)
            except MeterError as error:
                self._drop_if_passing(error)
                raise
            return found

    def start(self) -> None:
        """Start the integrator, and start sampling once the meter has confirmed that it integrates."""
        with self._link_lock:
            self._require_idle()
            self._start_integrator()
            self._begin()

    def glance(self) -> Reading:
        """Return a reading without changing any setting: another program may be using the meter's integrator."""
        with self._link_lock:
            self._require_idle()
            meter = self._session.untouched()
            meter.look(self._setup.element)
            return meter.read()

    def expect(self, identity: str) -> None:
        """Accept only the meter with this identity (as `str` writes it); any other is neither read nor stopped."""
        self._session.identity = Identity.parse(identity)

    def resume(self) -> Identity:
        """Resume after a restart of the host: sample a meter that was started earlier, without changing it.

        The readings contain the integrator's state; RESET means that the meter was switched off in between.
        """
        with self._link_lock:
            self._require_idle()
            meter = self._session.meter()
            identity = meter.identity
            is_watched = False
            with contextlib.suppress(MeterError):
                # So the driver knows what to watch; the end compares again.
                meter.changes(self._setup)
                self._has_locked = True
                self._session.lock_panel()
                is_watched = True
            self._started = True
            self._begin(is_watched=is_watched)
            return identity

    def stop(self) -> Reading:
        """End sampling, stop the integrator if it still runs, and return the reading with the run's energy.

        If the link is lost, it tries for ten seconds and then raises the last failure. It may be called again after
        that and after `meter-held`, because a doubtful energy is not the run's energy. Once it has succeeded, it always
        returns the same reading.
        """
        if self._end_s is None:
            self._end_s = self._clocks.monotonic()
        if self._sampling is not None:
            self._sampling.end()
        try:
            with self._link_lock:
                return self._final or self._finish()
        finally:
            if self._sampling is not None:
                self._sampling.drain()

    def close(self, *, restore_settings: bool = True) -> None:
        """End sampling, close the link, and end the simulator of a `sim:` address.

        The settings of a meter that this sampler armed are restored if it was not started or if the run's energy has
        been read. Otherwise, and always without `restore_settings`, the meter and its integrator are left unchanged:
        restoring resets the integrator, and the run's energy may not have been stored yet.
        """
        self._closing.set()
        if self._sampling is not None:
            self._sampling.close()
        with self._link_lock:
            if restore_settings:
                self._restore_settings()
                # A meter that integrates again is locked for the run of another program.
                if self._has_locked and not self._session.integrates_again:
                    self.unlock_panel()
            self._session.close()

    def unlock_panel(self) -> None:
        """Unlock the meter's keys, even if an earlier process locked them; never raises."""
        self._has_locked = False
        self._session.unlock_panel()

    def _require_open(self) -> None:
        if self._closing.is_set():
            raise MeterError("meter-closed", "This sampler is closed; make a new one.")

    def _require_idle(self) -> None:
        self._require_open()
        if self._sampling is not None and self._sampling.is_running():
            raise MeterBusy("This sampler is sampling already; stop it first.")

    def _start_integrator(self) -> None:
        try:
            meter = self._session.meter()
            require_setup(meter, self._setup)
            self._start(meter)
        except MeterError as error:
            self._drop_if_passing(error)
            if not isinstance(error, PassingMeterError):
                raise
            # The command may have arrived before the link broke, so the integrator may be running: begin again.
            meter = self._session.meter()
            meter.stop()
            self._session.configure(self._setup)
            self._make_ready(meter)
            self._start(meter)

    def _make_ready(self, meter: Meter) -> None:
        try:
            if not settle(
                meter, self._settle_s, self._setup.update_interval_s, self._pause_or_end
            ):
                _log.warning(
                    "The meter %s shows no data yet; the run starts anyway.",
                    meter.identity,
                )
            self._has_locked = True
            self._session.lock_panel()
        except MeterError as error:
            self._drop_if_passing(error)
            raise

    def _pause_or_end(self, seconds: float) -> None:
        self._pause(seconds)
        self._require_open()

    def _start(self, meter: Meter) -> None:
        self._begun_s = self._clocks.monotonic()
        self._started = True
        meter.start()
        if self._setup.integrator_timer_s:
            start_s = self._clocks.monotonic() - self._begun_s
            self._longest_s = start_s + self._setup.integrator_timer_s

    def _begin(self, *, is_watched: bool = True) -> None:
        if self._sampling is not None:
            self._sampling.close()
        self._final = None
        self._sampling = Sampling(
            self._session,
            self._link_lock,
            self._setup,
            self._clocks,
            self._wait,
            self._on_reading,
            self._on_link,
            is_watched=is_watched,
            name=self._name,
        )

    def _finish(self) -> Reading:
        deadline_s = self._clocks.monotonic() + FINAL_S
        self._lost_at_end = self._lost_at_end or self.link_error is not None
        reached_s = self._insist(self._stop, deadline_s)
        # Only once: the integrator does not run during a second attempt.
        if not self._has_stopped:
            self._note_stop(reached_s)
        final = self._insist(lambda meter: meter.read_final(), deadline_s)
        self._require_alive(final)
        self._final = final
        # After the energy, which is safe even if the meter fails now; includes the changes that read_final undid.
        self.changes = self._changes(deadline_s)
        if self._sampling is not None:
            late = late_sentence(self.late_s, self._sampling.last, final)
            self._sampling.note_return(final, self.changes, late)
        self.unlock_panel()
        return final

    def _require_alive(self, final: Reading) -> None:
        try:
            if self._sampling is not None:
                self._sampling.require_alive(final)
        except MeterError:
            self.unlock_panel()  # its hold is to be ended there
            raise

    def _stop(self, meter: Meter) -> float:
        reached_s = self._clocks.monotonic()
        meter.stop()
        # Only now is it certain that the link was not lost in between.
        return reached_s

    def _note_stop(self, reached_s: float) -> None:
        self._has_stopped = True
        if self._lost_at_end and self._end_s is not None:
            self.late_s = reached_s - self._end_s
        if self._begun_s is not None:
            ran_s = self._clocks.monotonic() - self._begun_s - self.late_s
            self.ran_s = min(ran_s, self._longest_s)

    def _changes(self, deadline_s: float) -> tuple[str, ...]:
        try:
            return self._insist(lambda meter: meter.changes(self._setup), deadline_s)
        except MeterError as error:
            # The energy is still good, but the settings in use are unknown, which must be visible.
            _log.warning(
                "The meter's settings could not be read back: %s", error.sentence
            )
            return (f"the settings could not be read back ({error.sentence})",)

    def _insist(self, ask: Callable[[Meter], Answer], deadline_s: float) -> Answer:
        while True:
            self._require_open()
            try:
                return ask(self._session.meter())
            except MeterError as error:
                self._session.drop()
                self._lost_at_end = True
                if (
                    not isinstance(error, PassingMeterError)
                    or self._clocks.monotonic() >= deadline_s
                ):
                    raise
                self._pause(RETRY_S)

    def _restore_settings(self) -> None:
        if self._final is not None or not self._started:
            self._session.restore_settings(self._final)

    def _drop_if_passing(self, error: MeterError) -> None:
        if isinstance(error, PassingMeterError):
            self._session.drop()

    def _pause(self, seconds: float) -> object:
        return self._wait(self._closing, seconds)
