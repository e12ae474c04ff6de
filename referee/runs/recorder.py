"""What is recorded beside the detections of a run: meter readings, the meter's link, served images, events."""

from __future__ import annotations

import logging
import threading
from array import array
from datetime import datetime

from power.meter import Reading
from power.sampling.sampler import LinkEvent
from referee.errors import RefereeError
from referee.store import Store

logger = logging.getLogger(__name__)


MANY_SERVED = 1000  # stored in about 2 ms, which a POST may have to wait for


class EvidenceLog:
    """Collects readings (from the sampler's thread) and served images (from the web's), and stores them.

    Readings that come before the window's start is known wait for `begin`. Served images wait for the next reading,
    so that logging an image costs its request nothing: collecting never waits for the database. Where no reading
    comes, because the meter is silent or the images are very fast, a thread of their own stores them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._run: tuple[int, float] | None = None
        self._readings: list[Reading] = []
        self._link: list[LinkEvent] = []
        self._served = _ServedImages()
        self._is_storing = False

    def begin(self, run: int, start_s: float) -> None:
        """The run and the monotonic start of its window."""
        with self._lock:
            self._run = (run, start_s)

    def reading(self, reading: Reading) -> None:
        """Take one reading of the meter; a database that fails is logged and tried again with the next reading."""
        with self._lock:
            self._readings.append(reading)
        self._try_to_flush()

    def link(self, event: LinkEvent) -> None:
        """Take note that the link to the meter was lost, or is back."""
        with self._lock:
            self._link.append(event)
        self._try_to_flush()

    def served(self, image: int, elapsed_s: float, size_bytes: int) -> None:
        """Take note of one served image, by the number the team knows it by."""
        with self._lock:
            count = self._served.append(image, elapsed_s, size_bytes)
            if count % MANY_SERVED or self._is_storing:
                return
            self._is_storing = True
        threading.Thread(target=self._store_many, name="served-images", daemon=True).start()

    def flush(self) -> None:
        """Store what waits. Raises RefereeError `storage-failed`, and then keeps it."""
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
                    self._served.drop(len(served))

    def _first_served(self) -> list[tuple[int, float, int]]:
        with self._lock:
            return self._served.first(MANY_SERVED)

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


class _ServedImages:
    """Served images in columns of 8 bytes a value: a million of them that cannot be stored are 24 MB."""

    def __init__(self) -> None:
        self._images, self._elapsed_s, self._sizes_bytes = array("q"), array("d"), array("q")

    def append(self, image: int, elapsed_s: float, size_bytes: int) -> int:
        """Add one; how many there are."""
        self._images.append(image)
        self._elapsed_s.append(elapsed_s)
        self._sizes_bytes.append(size_bytes)
        return len(self._images)

    def first(self, count: int) -> list[tuple[int, float, int]]:
        """The first of them, at most `count`."""
        columns = (self._images[:count], self._elapsed_s[:count], self._sizes_bytes[:count])
        return list(zip(*columns, strict=True))

    def drop(self, count: int) -> None:
        """Forget the first of them."""
        for column in (self._images, self._elapsed_s, self._sizes_bytes):
            del column[:count]


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
