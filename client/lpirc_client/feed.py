"""Fetches images ahead of the detector, in a separate thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import closing
from typing import Iterator, NamedTuple, Sequence

from lpirc_client.connection import Connection, pauses_s
from lpirc_client.errors import ClientError, TransientError, UnknownRoute
from lpirc_client.timeline import FETCH, Timeline

MOST_BYTES = 24 * 2**20
"""Maximum bytes of a batch, since two may be in memory. A larger one is abandoned and fetched in smaller batches."""


class Image(NamedTuple):
    """A test image: its number in this run, and the JPEG file's bytes."""

    number: int
    jpeg: bytes


class Feed:
    """Fetches images of these numbers, in this order, ahead of the detector on a separate connection, until `close`.

    One request fetches up to `size` images with consecutive numbers. While the detector works on one batch, the next
    one arrives: at most two are in memory. A batch is read completely at once, so the referee never waits for the
    detector. From a referee without batches it fetches single images.
    """

    def __init__(
        self,
        connection: Connection,
        numbers: Sequence[int],
        size: int,
        timeline: Timeline,
    ) -> None:
        self._connection = connection.twin()
        self._numbers = numbers
        self._size = size
        self._timeline = timeline
        self._changed = threading.Condition()
        self._ready: deque[Image] = deque()
        self._done = 0
        self._failure: ClientError | None = None
        self._is_over = False
        threading.Thread(target=self._fetch_all, name="feed", daemon=True).start()

    def close(self) -> None:
        """End the thread without waiting for a batch that is still arriving: the meter would run on meanwhile."""
        with self._changed:
            self._is_over = True
            self._ready.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Image]:
        """Yield the images in order. Raises ClientError in place of the image that could not be fetched."""
        for expected in self._numbers:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._ready or self._failure or self._is_over
                )
                if self._is_over:
                    return
                if not self._ready:
                    assert self._failure is not None  # noqa: S101 - wait_for saw it
                    raise self._failure
                image = self._ready.popleft()
                if len(self._ready) <= self._size:
                    self._changed.notify_all()
            assert image.number == expected  # noqa: S101 - they were fetched in this order
            yield image

    def _fetch_all(self) -> None:
        try:
            with self._connection:
                while self._done < len(self._numbers) and self._has_room():
                    self._fetch()
        except ClientError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the reader must not wait forever
            self._fail(
                ClientError(
                    "feed-failed",
                    f"fetching images failed: {type(error).__name__}: {error}",
                )
            )

    def _fetch(self) -> None:
        """Fetch one batch, or as much of it as arrives."""
        before = self._done
        for pause in pauses_s():
            try:
                with self._timeline.span(FETCH, self._numbers[before]) as about:
                    try:
                        self._fetch_batch()
                    finally:
                        about["images"] = self._done - before
            except UnknownRoute:
                if self._size == 1:
                    raise
                self._size = 1
                continue
            except TransientError:
                if self._done == before and (
                    self._connection.remaining_s <= pause or self._is_over
                ):
                    raise
            if self._done != before:
                return
            time.sleep(pause)

    def _fetch_batch(self) -> None:
        first = self._numbers[self._done]
        count = 1
        for number in self._numbers[self._done + 1 : self._done + self._size]:
            if number != first + count:
                break
            count += 1
        if count == 1:
            self._add(Image(first, self._connection.image(first)))
            return
        bytes_read = 0
        with closing(self._connection.batch(first, count)) as batch:
            for came, (number, jpeg) in enumerate(batch, start=1):
                self._add(Image(number, jpeg))
                bytes_read += len(jpeg)
                if self._is_over:
                    return
                if bytes_read > MOST_BYTES:
                    self._size = max(1, came // 2)
                    return

    def _add(self, image: Image) -> None:
        with self._changed:
            self._done += 1
            self._ready.append(image)
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until at most one batch is in memory; return False once the feed is closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or len(self._ready) <= self._size
            )
            return not self._is_over

    def _fail(self, error: ClientError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()
