"""The sampling thread: readings as the meter makes them, losses of the link, and the energy of record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final

from power.addresses import MeterAddress
from power.clocks import Clocks
from power.errors import MeterError
from power.meter import Identity, IntegratorState, Meter, Reading, Setup

_log: Final = logging.getLogger(__name__)

RETRY_S: Final = 0.25
"""Pause between attempts to reach a lost meter."""
FINAL_S: Final = 10.0
"""How long `stop` goes on trying to reach the meter for its energy."""
JOIN_S: Final = 10.0
POLLS_PER_UPDATE: Final = 10
EXPECTED_PART: Final = 0.85
"""Part of an update interval that surely passes before the next update: no need to ask earlier."""
OVERDUE_UPDATES: Final = 1.5
"""After so many intervals without news, a sample is recorded as it is: the meter may be on hold."""
PASSING: Final = frozenset(
    {"meter-lost", "meter-unreachable", "meter-timeout", "meter-locked", "meter-answer"}
)


class Sampler:
    """Owns the link to one meter from arming to the energy of record.

    One lock lets one thread at a time talk to the meter. `on_reading` is called from the sampling thread,
    outside that lock, once per update of the meter. If it raises, the exception is logged and kept in
    `consumer_error`, and sampling goes on: the meter still integrates, and the missing readings show in the
    check `reading-gaps`. It must not wait for a lock that the caller of `stop` holds, since `stop` waits for
    it to return.
    """

    def __init__(
        self,
        address: str,
        setup: Setup,
        on_reading: Callable[[Reading], None],
        monotonic: Callable[[], float],
        utcnow: Callable[[], datetime],
    ) -> None:
        """Check the address; nothing is opened yet. MeterError `meter-wrong-address` if it can be none."""
        self.last: Reading | None = None
        self.identity: Identity | None = None
        self.link_error: MeterError | None = None
        self.losses = 0
        self.consumer_error: Exception | None = None
        self._place = MeterAddress(address)
        self._setup = setup
        self._on_reading = on_reading
        self._monotonic = monotonic
        self._ending = threading.Event()
        self._closing = threading.Event()
        self._clocks = Clocks(monotonic, utcnow, self._closing.wait)
        self._link_lock = threading.RLock()
        self._meter: Meter | None = None
        self._thread: threading.Thread | None = None
        self._final: Reading | None = None

    def arm(self, *, take_over: bool = False) -> Identity:
        """Open, identify, set up, and reset the integrator.

        A meter that integrates is left alone (`meter-busy`), unless `take_over` says to stop it first.
        """
        with self._link_lock:
            self._require_idle()
            self._drop()
            self.identity = self._final = None
            meter = self._connected()
            if take_over:
                meter.stop()
            meter.configure(self._setup)
            return meter.identity

    def start(self) -> None:
        """Start the integrator, and sampling once the meter has said that it integrates."""
        with self._link_lock:
            self._require_idle()
            self._start_integrator()
            self._begin()

    def resume(self) -> Identity:
        """Go on after a restart of the host: sample a meter that was started earlier, without touching it.

        The integrator's state is in the readings: RESET means that the meter was switched off in between.
        """
        with self._link_lock:
            self._require_idle()
            identity = self._connected().identity
            self._begin()
            return identity

    def stop(self) -> Reading:
        """End sampling, stop the integrator if it still runs, and return the reading of record.

        Goes on trying for ten seconds if the link is lost; then raises what stood in the way, and may be
        called again. Once it has succeeded it returns the same reading.
        """
        self._end_sampling()
        with self._link_lock:
            if self._final is None:
                self._final = self.last = self._read_final()
            return self._final

    def close(self) -> None:
        """End sampling and close the link, and the simulator of `sim:`; the integrator is left as it is."""
        self._closing.set()
        self._end_sampling()
        with self._link_lock:
            self._drop()
            self._place.close()

    def _require_idle(self) -> None:
        if self._closing.is_set():
            raise MeterError("meter-closed", "This sampler is closed; make a new one.")
        if self._thread is not None and self._thread.is_alive():
            raise MeterError("meter-busy", "This sampler is sampling already; stop it first.")

    def _connected(self) -> Meter:
        if self._meter is not None:
            return self._meter
        meter = self._place.connect(self._clocks)
        try:
            if self.identity is not None and meter.identity != self.identity:
                raise _other_meter(meter.identity, self.identity)  # noqa: TRY301  the link is closed below
            meter.attach()
        except BaseException:
            meter.close()
            raise
        self._meter, self.identity = meter, meter.identity
        return meter

    def _drop(self) -> None:
        meter, self._meter = self._meter, None
        if meter is not None:
            meter.close()

    def _start_integrator(self) -> None:
        try:
            meter = self._connected()
            self._require_setup(meter)
            meter.start()
        except MeterError as error:
            self._drop()
            if error.code not in PASSING:
                raise
            # The command may have arrived before the link broke: look before starting again.
            meter = self._connected()
            if meter.state() is not IntegratorState.START:
                meter.start()

    def _require_setup(self, meter: Meter) -> None:
        """Somebody may have turned a knob since the meter was armed."""
        changes = meter.changes(self._setup)
        if changes:
            raise MeterError(
                "meter-setup-changed",
                f"The meter {meter.identity} is not set up as it was armed: {'; '.join(changes)}. Arm it again.",
            )

    def _begin(self) -> None:
        self._ending.clear()
        self._final = None
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)
        self._thread.start()

    def _end_sampling(self) -> None:
        self._ending.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)

    def _read_final(self) -> Reading:
        deadline_s = self._monotonic() + FINAL_S
        while True:
            try:
                meter = self._connected()
                meter.stop()
                return meter.read_final()
            except MeterError as error:
                self._drop()
                if error.code not in PASSING or self._monotonic() >= deadline_s or self._closing.is_set():
                    raise
                self._closing.wait(RETRY_S)

    def _sample(self) -> None:
        interval_s = self._setup.update_interval_s
        delivered_s = -interval_s
        while not self._ending.is_set():
            taken = self._try_to_read()
            if taken is None:
                self._ending.wait(RETRY_S)
                continue
            reading, is_new = taken
            if is_new or reading.monotonic_s - delivered_s > OVERDUE_UPDATES * interval_s:
                delivered_s = reading.monotonic_s
                self._deliver(reading)
                self._ending.wait(interval_s * EXPECTED_PART)
            else:
                self._ending.wait(interval_s / POLLS_PER_UPDATE)

    def _try_to_read(self) -> tuple[Reading, bool] | None:
        with self._link_lock:
            try:
                reopened = self._meter is None
                meter = self._connected()
                if reopened and self.link_error is not None:
                    self._note_return(meter)
                taken = meter.read_update()
            except MeterError as error:
                self._drop()
                self._note_loss(error)
                return None
            self.link_error = None
            return taken

    def _note_loss(self, error: MeterError) -> None:
        if self.link_error is None:
            self.losses += 1
            _log.warning("%s", error.sentence)
        self.link_error = error

    def _note_return(self, meter: Meter) -> None:
        _log.warning("The meter %s is back.", meter.identity)
        for change in meter.changes(self._setup):
            _log.warning("After the loss of the link, the meter %s differs: %s.", meter.identity, change)

    def _deliver(self, reading: Reading) -> None:
        self.last = reading
        try:
            self._on_reading(reading)
        except Exception as error:  # noqa: BLE001  the consumer's code, whatever it raises
            _log.exception("A reading could not be recorded; sampling goes on.")
            self.consumer_error = self.consumer_error or error


def _other_meter(found: Identity, expected: Identity) -> MeterError:
    return MeterError(
        "meter-changed",
        f"Another meter answers: {found}, not {expected}. Put the right one back.",
        expected=str(expected),
        found=str(found),
    )
