"""What is recorded beside the detections of a run: meter readings, the meter's link, served images, events."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from power.meter import Reading
from power.sampler import LinkEvent
from referee.errors import RefereeError
from referee.store import Store

logger = logging.getLogger(__name__)


class EvidenceLog:
    """Collects readings (from the sampler's thread) and served images (from the web's), and stores them.

    Readings that come before the window's start is known wait for `begin`. Served images wait for the next reading,
    so that logging an image costs its request nothing: collecting never waits for the database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._run: tuple[int, float] | None = None
        self._readings: list[Reading] = []
        self._served: list[tuple[int, float, int]] = []
        self._link: list[LinkEvent] = []

    def begin(self, run: int, start_s: float) -> None:
        """The run and the monotonic start of its window."""
        with self._lock:
            self._run = (run, start_s)

    def reading(self, reading: Reading) -> None:
        """Take one reading of the meter; a database that fails is logged and tried again with the next reading."""
        with self._lock:
            self._readings.append(reading)
        self._flush_or_warn()

    def link(self, event: LinkEvent) -> None:
        """Take note that the link to the meter was lost, or is back."""
        with self._lock:
            self._link.append(event)
        self._flush_or_warn()

    def served(self, image: int, elapsed_s: float, size_bytes: int) -> None:
        """Take note of one served image, by the number the team knows it by."""
        with self._lock:
            self._served.append((image, elapsed_s, size_bytes))

    def flush(self) -> None:
        """Store what waits. Raises RefereeError `storage-failed`, and then keeps it."""
        with self._flushing:
            with self._lock:
                if self._run is None:
                    return
                run, start_s = self._run
                readings, served, link = self._readings.copy(), self._served.copy(), self._link.copy()
            if link:
                self._store.append_events(run, [_link_event(start_s, event) for event in link])
                with self._lock:
                    del self._link[: len(link)]
            if readings:
                self._store.append_readings(run, start_s, readings)
                with self._lock:
                    del self._readings[: len(readings)]
            if served:
                self._store.append_served(run, served)
                with self._lock:
                    del self._served[: len(served)]

    def _flush_or_warn(self) -> None:
        try:
            self.flush()
        except RefereeError as error:
            logger.warning("readings wait in memory: %s", error.sentence)


def _link_event(start_s: float, event: LinkEvent) -> tuple[datetime, str, dict[str, object]]:
    detail: dict[str, object] = {"elapsed_s": event.monotonic_s - start_s, "sentence": event.sentence}
    if event.changes:
        detail["changes"] = list(event.changes)
    return event.utc, event.kind, detail


def note_event(store: Store, now: datetime, run: int, kind: str, **detail: object) -> None:
    """Log an event that must not undo what it tells of: a database that fails is only warned of."""
    try:
        store.log_event(now, run, kind, **detail)
    except RefereeError as error:
        logger.warning("run %d: the event %s %s is not on record: %s", run, kind, detail, error.sentence)
