"""Images at hand while the detector works: the next batch arrives in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import chain, repeat
from types import TracebackType

from lpirc_client.errors import ClientError
from lpirc_client.session import PAUSES_S, TRANSIENT_CODES, Session

NO_BATCHES = ("not-found", "method-not-allowed", "not-a-referee")


class Feed:
    """Images by batches of `size`, fetched ahead on a connection of their own; a context manager.

    While one batch is being worked on, the next one arrives: at most two are in memory. A batch is always taken at
    once, so that the referee need not wait for the detector. A referee without batches is asked for single images.
    """

    def __init__(self, session: Session, numbers: range, size: int) -> None:
        self._session = session.twin()
        self._numbers = numbers
        self._size = size
        self._changed = threading.Condition()
        self._ready: deque[tuple[int, bytes]] = deque()
        self._failure: ClientError | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._fetch_all, name="feed", daemon=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        # A batch under way is not waited for: what it costs is nothing beside a meter that runs on meanwhile.

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number, JPEG) in order; raises ClientError in place of the image that could not be had."""
        for expected in self._numbers:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._failure)
                if not self._ready:
                    assert self._failure is not None  # noqa: S101 - what was waited for
                    raise self._failure
                number, jpeg = self._ready.popleft()
                if len(self._ready) <= self._size:
                    self._changed.notify_all()
            assert number == expected  # noqa: S101 - the order they were fetched in
            yield number, jpeg

    def _fetch_all(self) -> None:
        try:
            with self._session:
                wanted = self._numbers
                while wanted and self._has_room():
                    wanted = self._fetch(wanted)
        except ClientError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the reader must not wait for ever
            self._fail(ClientError("feed-failed", f"fetching images failed: {type(error).__name__}: {error}"))

    def _fetch(self, wanted: range) -> range:
        """Fetch one batch, or what of it can be had; gives what is still wanted."""
        pauses = chain(PAUSES_S, repeat(PAUSES_S[-1]))
        start = wanted
        while wanted == start:
            try:
                for number, jpeg in self._some(wanted[0], min(self._size, len(wanted))):
                    wanted = self._add(wanted, number, jpeg)
                    if self._is_over:
                        return wanted
            except ClientError as error:
                if error.code in NO_BATCHES and self._size > 1:
                    self._size = 1
                    continue
                if wanted != start and error.code in TRANSIENT_CODES:
                    break
                pause = next(pauses)
                if error.code not in TRANSIENT_CODES or self._session.remaining_s <= pause or self._is_over:
                    raise
                time.sleep(pause)
        return wanted

    def _some(self, first: int, count: int) -> Iterator[tuple[int, bytes]]:
        if self._size == 1:
            return iter([(first, self._session.image(first))])
        return self._session.batch(first, count)

    def _add(self, wanted: range, number: int, jpeg: bytes) -> range:
        with self._changed:
            self._ready.append((number, jpeg))
            self._changed.notify_all()
        return wanted[1:]

    def _has_room(self) -> bool:
        """Wait until no more than one batch is at hand; False when nobody wants any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or len(self._ready) <= self._size)
            return not self._is_over

    def _fail(self, error: ClientError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()
