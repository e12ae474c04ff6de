"""An open run in memory: its window, its meter, what it has admitted so far."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from referee.clock import Clock
from referee.errors import RefereeError, WindowClosed
from referee.runs.meters import RunMeter
from referee.runs.window import Phase, Window, elapsed_s, phase_at
from referee.store import Store
from referee.store.records import Post, Run

SMALL_BODY_BYTES = 2**14
"""Bodies up to this size, some 200 rows, are read by the thread that commits them; the worst of them in some ms."""


class LiveRun:
    """Admits images and bodies while the window is open.

    A body is admitted at the moment it has been read whole. Admitting and ending take the same lock: whatever was
    admitted before the end is committed before the run counts as closed, and nothing is admitted after it.

    For its owner: `closing` is held by the one thread that closes it or lets it go; `ending` is set once its end has
    come; `done` once it is closed, or let go of with the server.
    """

    def __init__(
        self,
        run: Run,
        window: Window,
        order: NDArray[np.int64],
        meter: RunMeter,
        store: Store,
        clock: Clock,
    ) -> None:
        self.run = run
        self.window = window
        self.order = order
        self.meter = meter
        self.closed_by = run.closed_by  # not None for a run whose end is on record already
        self.closing = threading.Lock()
        self.ending = threading.Event()
        if self.closed_by is not None:
            self.ending.set()
        self.done = threading.Event()
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._gate = threading.Condition(self._lock)  # its own `with` takes longer than the lock's
        self._in_flight = 0
        self._served_images = set(store.served_images(run.id))

    @property
    def received_total(self) -> int:
        """Detections on disk."""
        return self._store.received_total(self.run.id)

    @property
    def served_images(self) -> int:
        """How many different images were served."""
        return len(self._served_images)

    @contextmanager
    def admit(self) -> Iterator[float]:
        """Hold the run open for one request; gives the seconds since its start.

        Raises RefereeError `window-closed`.
        """
        with self._lock:
            now_s = self._clock.monotonic_s()
            if phase_at(self.window, now_s) is not Phase.OPEN:
                raise window_closed(self.run)
            self._in_flight += 1
        try:
            yield elapsed_s(self.window, now_s)
        finally:
            with self._lock:
                self._in_flight -= 1
                self._gate.notify_all()

    def end(self, closed_by: str) -> Window:
        """End the window now, or at its deadline if that has passed, and wait for what was admitted before.

        The first end stays: a second call, after a close that failed, only waits.
        """
        with self._gate:
            if self.closed_by is None:
                self.closed_by = closed_by
                self.window = replace(self.window, closed_s=self._clock.monotonic_s())
                self.ending.set()
            self._gate.wait_for(lambda: self._in_flight == 0)
        return self.window

    def testset_number(self, image: int) -> int:
        """The test-set number of what the team calls `image`. Raises RefereeError `image-unknown`."""
        if not 1 <= image <= len(self.order):
            raise RefereeError(
                "image-unknown",
                f"There is no image {image}; the images are 1 to {len(self.order)}.",
                image=image,
            )
        return int(self.order[image - 1])

    def note_served(self, image: int, at_s: float, size_bytes: int) -> None:
        """Log one served image."""
        self._served_images.add(image)
        self.meter.log.served(image, at_s, size_bytes)

    def serve(self, images: Sequence[tuple[int, int]]) -> None:
        """Admit and log images as served now: (number as the team knows it, bytes); with none, only admit.

        One short turn of the lock, since every image takes it. Raises RefereeError `window-closed`.
        """
        with self._lock:
            now_s = self._clock.monotonic_s()
            if phase_at(self.window, now_s) is not Phase.OPEN:
                raise window_closed(self.run)
            at_s = elapsed_s(self.window, now_s)
            for image, size_bytes in images:
                self.note_served(image, at_s, size_bytes)

    def take_post(self, body: bytes, key: str | None, parse: Callable[[bytes], NDArray[np.float64]]) -> Post:
        """Admit, parse and commit one body that has been read whole; the receipt means that it is on disk.

        With an idempotency key that was used before, the same body gets the first receipt again and counts once.
        Raises RefereeError: `window-closed`, `key-reused`, or what `parse` raises.
        """
        key = key or None  # an empty header is none
        with self.admit() as at_s:
            sha256 = hashlib.sha256(body).hexdigest()
            is_small = len(body) <= SMALL_BODY_BYTES
            try:
                receipt = self._store.append_post(
                    self.run.id,
                    partial(parse, body) if is_small else parse(body),
                    sha256=sha256,
                    idempotency_key=key,
                    elapsed_s=at_s,
                    now=self._clock.utc(),
                    unread_bytes=len(body) if is_small else 0,
                )
            except RefereeError:
                earlier = None if key is None else self._store.find_post(self.run.id, key)
                if earlier is None:
                    raise
                receipt = earlier  # whatever is wrong with this body, its key is used
        return same_body(receipt, sha256)


def window_closed(run: Run) -> RefereeError:
    """What a team is told that comes too late."""
    return WindowClosed(f"Run {run.id} is closed; nothing more is served or counted.", run=run.id)


def same_body(earlier: Post, sha256: str) -> Post:
    """The earlier receipt, if it was for this body. Raises RefereeError `key-reused`."""
    if earlier.sha256 != sha256:
        raise RefereeError(
            "key-reused",
            "This Idempotency-Key came with another body before; use a new key for new detections.",
        )
    return earlier
