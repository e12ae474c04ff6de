"""An open run in memory: its window, its meter, and what it has admitted so far."""

from __future__ import annotations

import hashlib
import mmap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.parsed_rows import Taken
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.taken_answers import TakenAnswers
from referee.clock import Clock
from referee.errors import RefereeError
from referee.runs.answered_once import AnsweredOnce
from referee.runs.repeated_bodies import key_reused
from referee.runs.run_window import (
    Window,
    elapsed_s,
    elapsed_while_open_s,
    window_closed,
)
from referee.runs.station_meters import RunMeter
from referee.store import NewPost, Store
from referee.store.records import Post, Run

REQUESTS_AT_ONCE = 32
"""Concurrent requests of one run: arriving bodies, batches being sent, and all others except single images."""

FORMS_AT_ONCE = 16
"""Maximum concurrent HTML forms (protocol of 2015) from one run's addresses whose token is not read yet."""

MOST_ADDRESSES = 16
"""Maximum number of addresses of log-ins kept for a run."""

LARGE_BYTES = 2**14

PAUSE = 5
"""Pause between a run's large bodies while other runs are open, as a multiple of the previous body's time."""


class OpenRun:
    """Admits images and bodies while the window is open.

    A body is admitted at the moment it has been read completely. Admitting and ending take the same lock: whatever was
    admitted before the end is committed before the run is closed, and nothing is admitted after the end.

    `answered` has the images that are answered, in a run of another task than boxes.

    `slots` limits the concurrent requests of the team's runs, including its earlier ones. `form_slots` limits the
    requests from `addresses`, where the team has logged in, whose token is not read yet. `is_alone` returns True if no
    other run is open; if one is, the run pauses between large bodies, so that a team can only slow down itself. For the
    owner: the one thread that closes the run, or leaves it to the next server, holds `closing`; `ending` is set at the
    run's end, `done` when the run is closed or left.
    """

    def __init__(
        self,
        run: Run,
        window: Window,
        order: NDArray[np.int64],
        meter: RunMeter,
        store: Store,
        clock: Clock,
        slots: threading.BoundedSemaphore | None = None,
        marks: bytearray | mmap.mmap | None = None,
        is_alone: Callable[[], bool] = lambda: True,
    ) -> None:
        self.run = run
        self.window = window
        self.order = order
        self.meter = meter
        self.closed_by = run.closed_by  # not None if the run's end is already stored
        self.slots = slots or threading.BoundedSemaphore(REQUESTS_AT_ONCE)
        self.form_slots = threading.BoundedSemaphore(FORMS_AT_ONCE)
        self.addresses: frozenset[str] = frozenset()
        self._is_alone = is_alone
        # One small and one large body of a run are parsed at a time.
        self._small = threading.Lock()
        self._large = threading.Lock()
        self._paused_until_s = 0.0
        self.closing = threading.Lock()
        self.ending = threading.Event()
        self.warnings: list[str] = []  # the latest warnings about the team's rows
        if self.closed_by is not None:
            self.ending.set()
        self.done = threading.Event()
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._is_settled = threading.Condition(
            self._lock
        )  # its `with` is slower than the lock's
        self._admitted = 0
        self._marks = bytearray(len(order)) if marks is None else marks
        self.answered: AnsweredOnce | None = None
        if run.task != BOXES:
            self.answered = AnsweredOnce(store.answers.answered(run.id))
        logged = set(store.served.images(run.id))
        self._served_images = logged | {
            n for n, mark in enumerate(self._marks[:], start=1) if mark
        }
        # Images that a killed server had served but not logged; their bytes are not known.
        lost = [(image, 0) for image in sorted(self._served_images - logged)]
        store.served.append(run.id, lost, elapsed_s(window, clock.monotonic_s()))

    @property
    def received_total(self) -> int:
        """The number of detections on disk."""
        return self._store.posts.count_detections(self.run.id)

    @property
    def served_images(self) -> int:
        """The number of different images that were served."""
        return len(self._served_images)

    def accept(
        self,
        body: bytes,
        key: str | None,
        parse: Callable[[bytes], Taken | TakenAnswers],
        content_type: str | None = None,
        *,
        key_is_of_body: bool = False,
    ) -> Post:
        """Admit a body that has just been read, parse it, commit it with its rows or answers, and return the receipt.

        The receipt means that the body is on disk. If the idempotency key was used before with the same body, the first
        receipt is returned and the body counts once. With `key_is_of_body` an equal key alone means an equal body.
        Raises RefereeError `window-closed`, `key-reused`, `no-room`, `storage-failed`, `answered-already` for a
        second answer to an image that is answered once, and the errors of `parse`.
        """
        key = key or None  # an empty header means no key
        with self._lock:
            at_s = self._require_open()
            self._admitted += 1
        try:
            sha256 = hashlib.sha256(body).hexdigest()
            if len(body) > LARGE_BYTES:
                with self._turn_of_large():
                    taken = parse(body)
                    receipt = self._stored(taken, sha256, key, at_s, content_type, body)
            else:
                with self._small:
                    taken = parse(body)
                receipt = self._stored(taken, sha256, key, at_s, content_type, body)
        except RefereeError:
            earlier = None if key is None else self._store.posts.find(self.run.id, key)
            if earlier is None:
                raise
            receipt = earlier  # even for a bad body, its key is used
        finally:
            with self._lock:
                self._admitted -= 1
                if self.closed_by is not None and not self._admitted:
                    self._is_settled.notify_all()
        if receipt.sha256 != sha256 and not key_is_of_body:
            raise key_reused()
        return receipt

    def _stored(
        self,
        taken: Taken | TakenAnswers,
        sha256: str,
        key: str | None,
        at_s: float,
        content_type: str | None,
        body: bytes,
    ) -> Post:
        now = self._clock.utc()
        post = NewPost(taken, sha256, key, at_s, now, content_type, body)
        store = partial(self._store.posts.append_post, self.run.id, post)
        if self.answered is not None and isinstance(taken, TakenAnswers):
            return self.answered.take(taken, post, store)
        return store()

    @contextmanager
    def _turn_of_large(self) -> Iterator[None]:
        """Exclude other large bodies of this run, after a pause if other runs are open.

        The end of the run ends the pause.
        """
        with self._large:
            if not self._is_alone():
                self._clock.wait(self.ending, self._paused_until_s)
            start_s = self._clock.monotonic_s()
            try:
                yield
            finally:
                end_s = self._clock.monotonic_s()
                self._paused_until_s = end_s + PAUSE * (end_s - start_s)

    def end(self, closed_by: str) -> Window:
        """End the window now, or at its deadline if that has passed, and wait until all admitted bodies are committed.

        The first end is kept: a second call, after a close that failed, only waits.
        """
        with self._is_settled:
            if self.closed_by is None:
                self.closed_by = closed_by
                self.window = replace(self.window, closed_s=self._clock.monotonic_s())
                self.ending.set()
            self._is_settled.wait_for(lambda: self._admitted == 0)
        return self.window

    def testset_number(self, image: int) -> int:
        """Return the test-set number of the team's image number. Raises RefereeError `image-unknown`."""
        if not 1 <= image <= len(self.order):
            raise RefereeError(
                "image-unknown",
                f"There is no image {image}; the images are 1 to {len(self.order)}.",
                image=image,
            )
        return int(self.order[image - 1])

    def know_address(self, address: str) -> None:
        """Note an address from which the team has logged in or used its token."""
        if address not in self.addresses and len(self.addresses) < MOST_ADDRESSES:
            self.addresses |= {address}

    def require_open(self) -> None:
        """Raise RefereeError `window-closed` unless the window is open."""
        with self._lock:
            self._require_open()

    def serve(self, images: Sequence[tuple[int, int]]) -> None:
        """Log images as served now: (number as the team knows it, bytes). Raises RefereeError `window-closed`.

        Call it just before the images are handed to the server; whether they arrive is not known afterwards.
        """
        with self._lock:
            at_s = self._require_open()
            for image, _ in images:
                self._served_images.add(image)
                self._marks[image - 1] = True
            self._store.served.append(self.run.id, images, at_s)

    def _require_open(self) -> float:
        at_s = elapsed_while_open_s(self.window, self._clock.monotonic_s())
        if at_s is None:
            raise window_closed(self.run.id)
        return at_s


def kept_marks(path: Path, images: int) -> bytearray | mmap.mmap:
    """Return one byte per image that marks it as served, in a file that survives a killed server.

    If the file cannot be made, the marks are in memory. The log of served images is written later; setting a mark needs
    no system call.
    """
    try:
        with path.open("a+b") as file:
            file.write(
                bytes(images - file.tell())
            )  # written, not only sized, to detect a full disk
            file.flush()
            return mmap.mmap(file.fileno(), images)
    except (OSError, ValueError):
        return bytearray(images)
