"""Fetches images ahead of the detector, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType

from lpirc_client.errors import ClientError, TransientError, UnknownRoute
from lpirc_client.session import Session, pauses_s


class Feed:
    """Images in batches of `size`, fetched ahead on a connection of their own; a context manager.

    While the detector works on one batch, the next one arrives: at most two are in memory. A batch is always read to
    its end, so the referee never waits for the detector. A referee without batches is asked for single images.
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
        # It does not wait for a batch that is still arriving: the meter would run on meanwhile.

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number, JPEG) in order. Raises ClientError in place of the image that could not be fetched."""
        for expected in self._numbers:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._failure)
                if not self._ready:
                    assert self._failure is not None  # noqa: S101 - wait_for saw it
                    raise self._failure
                number, jpeg = self._ready.popleft()
                if len(self._ready) <= self._size:
                    self._changed.notify_all()
            assert number == expected  # noqa: S101 - they were fetched in this order
            yield number, jpeg

    def _fetch_all(self) -> None:
        try:
            with self._session:
                wanted = self._numbers
                while wanted and self._has_room():
                    wanted = self._fetch(wanted)
        except ClientError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the reader must not wait forever
            self._fail(ClientError("feed-failed", f"fetching images failed: {type(error).__name__}: {error}"))

    def _fetch(self, wanted: range) -> range:
        """Fetch one batch, or the part of it that arrives; return what is still missing."""
        start = wanted
        for pause in pauses_s():
            try:
                for number, jpeg in self._some(wanted[0], min(self._size, len(wanted))):
                    wanted = self._add(wanted, number, jpeg)
                    if self._is_over:
                        return wanted
            except UnknownRoute:
                if self._size == 1:
                    raise
                self._size = 1
                continue
            except TransientError:
                if wanted == start and (self._session.remaining_s <= pause or self._is_over):
                    raise
            if wanted != start:
                break
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
        """Wait until no more than one batch is in memory; False once no one wants any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or len(self._ready) <= self._size)
            return not self._is_over

    def _fail(self, error: ClientError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()
