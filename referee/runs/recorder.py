"""Records what happens in a run beside its detections: meter readings, the meter's link, served images, events."""

from __future__ import annotations

import logging
import threading
from array import array
from datetime import datetime

from power.meter import Reading
from power.sampling.sampler import LinkEvent
from referee.clock import Clock
from referee.errors import RefereeError
from referee.store import Store

logger = logging.getLogger(__name__)
MANY_SERVED = 1000  # stored in about 2 ms, which a POST may have to wait for


class EvidenceLog:
    """Collects readings (from the sampler's thread) and served images (from the web's threads), and stores them.

    Readings that come before the window's start is known wait for `begin`. Collecting a served image never waits for
    the database: the next reading stores it, or a thread of its own once MANY_SERVED are waiting.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._run: tuple[int, float] | None = None
        self._readings: list[Reading] = []
        self._link: list[LinkEvent] = []
        self._served = array("d")  # three numbers an image, since a million that cannot be stored must fit
        self._is_storing = False

    def begin(self, run: int, start_s: float) -> None:
        """Set the run and the monotonic start of its window."""
        with self._lock:
            self._run = (run, start_s)

    def reading(self, reading: Reading) -> None:
        """Record one reading of the meter; if storing fails, that is logged, and the next reading tries again."""
        with self._lock:
            self._readings.append(reading)
        self._try_to_flush()

    def link(self, event: LinkEvent) -> None:
        """Record that the link to the meter was lost, or is back."""
        with self._lock:
            self._link.append(event)
        self._try_to_flush()

    def served(self, image: int, elapsed_s: float, size_bytes: int) -> None:
        """Record one served image, by the number the team knows it by."""
        with self._lock:
            self._served.extend((image, elapsed_s, size_bytes))
            if len(self._served) % (3 * MANY_SERVED) or self._is_storing:
                return
            self._is_storing = True
        threading.Thread(target=self._store_many, name="served-images", daemon=True).start()

    def flush(self) -> None:
        """Store what is waiting. Raises RefereeError `storage-failed`, and then keeps it."""
        with self._flushing:
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
            while served := self._first_served():
                self._store.append_served(run, served)
                with self._lock:
                    del self._served[: 3 * len(served)]

    def _first_served(self) -> list[tuple[int, float, int]]:
        with self._lock:
            numbers = iter(self._served[: 3 * MANY_SERVED])
        triples = zip(numbers, numbers, numbers, strict=True)
        return [(int(image), elapsed_s, int(size_bytes)) for image, elapsed_s, size_bytes in triples]

    def _store_many(self) -> None:
        try:
            self._try_to_flush()
        finally:
            with self._lock:
                self._is_storing = False

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except RefereeError as error:
            logger.warning("readings wait in memory: %s", error.sentence)


def _link_event(start_s: float, event: LinkEvent) -> tuple[datetime, str, dict[str, object]]:
    detail: dict[str, object] = {"elapsed_s": event.monotonic_s - start_s, "sentence": event.sentence}
    if event.changes:
        detail["changes"] = list(event.changes)
    return event.utc, event.kind, detail


def note_event(store: Store, clock: Clock, run: int, kind: str, **detail: object) -> None:
    """Log an event, but only warn if that fails: what happened must not be undone for lack of its record."""
    try:
        store.log_event(clock.utc(), run, kind, **detail)
    except RefereeError as error:
        logger.warning("run %d: the event %s %s is not on record: %s", run, kind, detail, error.sentence)
