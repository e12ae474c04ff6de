"""Records what happens in a run beside its detections: meter readings, the meter's link, events."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.sampling.sampler import LinkEvent
from referee.clock import Clock
from referee.errors import RefereeError
from referee.store import Store

logger = logging.getLogger(__name__)


class EvidenceLog:
    """Collects readings, from the sampler's thread, and stores them.

    Readings that come before the window's start is known wait for `begin`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._run: tuple[int, float] | None = None
        self._readings: list[Reading] = []
        self._doubts: frozenset[str] = frozenset()
        self._warned: set[str] = set()
        self._link: list[LinkEvent] = []

    @property
    def warnings(self) -> list[str]:
        """What was warned of since the window opened."""
        return sorted(self._warned)

    def begin(self, run: int, start_s: float) -> None:
        """Set the run and the monotonic start of its window."""
        with self._lock:
            self._run = (run, start_s)

    def reading(self, reading: Reading) -> None:
        """Record one reading of the meter; if storing fails, that is logged, and the next reading tries again."""
        with self._lock:
            self._readings.append(reading)
        self._warn(reading)
        self._try_to_flush()

    def link(self, event: LinkEvent) -> None:
        """Record that the link to the meter was lost, or is back."""
        with self._lock:
            self._link.append(event)
        self._try_to_flush()

    def end(self) -> None:
        """As `flush`; a reading that comes later is not stored: the run's close binds those that are."""
        with self._flushing:
            self._flush()
            self._run = None

    def flush(self) -> None:
        """Store what is waiting, served images too. Raises RefereeError `storage-failed`, and then keeps it."""
        with self._flushing:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._run is None:
                return
            run, start_s = self._run
            readings, link = self._readings.copy(), self._link.copy()
        if link:
            self._store.append_events(run, [_link_event(start_s, event) for event in link])
            with self._lock:
                del self._link[: len(link)]
        if readings:
            self._store.append_readings(run, start_s, readings)
            with self._lock:
                del self._readings[: len(readings)]
        self._store.flush_served()

    def _warn(self, reading: Reading) -> None:
        """Warn, once each, of a changed setting, and of what else two readings in a row show and fails a check."""
        # The reading of record alone is taken after the stop, so two in a row are in the window.
        found = frozenset(_doubts(reading))
        lasting, self._doubts = found & self._doubts, found
        if reading.changed:  # the sampler has asked twice, and does not ask again with every reading
            lasting |= {f"the meter is not set up as for the run ({reading.changed})"}
        begun = self._run
        if begun is None:
            return
        run, start_s = begun
        for doubt in sorted(lasting - self._warned):
            self._warned.add(doubt)
            logger.warning(
                "run %d, %.1f s into its window: %s. The run goes on, and will need review.",
                run,
                reading.monotonic_s - start_s,
                doubt,
            )

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except RefereeError as error:
            logger.warning("readings wait in memory: %s", error.sentence)


def _doubts(reading: Reading) -> list[str]:
    found = []
    if reading.state not in (IntegratorState.START, IntegratorState.TIMEUP):
        found.append(f"the meter's integrator does not run ({reading.state.value})")
    if reading.over_range:
        found.append("the meter is over range")
    if reading.voltage_peak_over or reading.current_peak_over:
        found.append("peaks are clipped, the power reads too low")
    return found


def _link_event(start_s: float, event: LinkEvent) -> tuple[datetime, str, dict[str, object]]:
    detail: dict[str, object] = {"elapsed_s": event.monotonic_s - start_s, "sentence": event.sentence}
    if event.changes:
        detail["changes"] = list(event.changes)
    return event.utc, event.kind, detail


def note_event(store: Store, clock: Clock, run: int | None, kind: str, **detail: object) -> None:
    """Log an event, but only warn if that fails: what happened must not be undone for lack of its record."""
    try:
        store.log_event(clock.utc(), run, kind, **detail)
    except RefereeError as error:
        logger.warning("run %s: the event %s %s is not on record: %s", run, kind, detail, error.sentence)
