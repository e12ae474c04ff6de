"""Collects rows and posts them in a separate thread, while the detector continues."""

from __future__ import annotations

import threading
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Union

from lpirc_client import answers
from lpirc_client.answers import ANSWERS_PATH
from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError
from lpirc_client.rows import NUMBERS, body_of
from lpirc_client.timeline import SEND, Timeline
from lpirc_client.wire import Receipt

if TYPE_CHECKING:
    from lpirc_client.rows import Rows

    Part = Union[Rows, List[bytes]]
    """What is answered for an image: rows, or items of another task."""

MOST_ROWS = 30_000
"""Maximum rows in one body. The 4 MiB that a referee accepts hold 149,796 packed rows, or as few as 35,000 in JSON."""

MOST_BYTES = 3 * 2**20
"""Bytes of answers in one body, below the least limit of a task."""

URGENT_S = 5.0
"""In this time before the window's end, rows are posted without waiting for a full batch."""

LOOK_S = 0.5


class Outbox:
    """Posts bodies with the rows of `batch` images or more; while a body is being sent, the next one fills.

    A body holds all rows of its images, unless one image has more than MOST_ROWS. `images` counts the images whose
    rows are on the referee's disk, in the order of `put`; `detections` counts the rows that it has accepted.
    The posting thread calls `posted` with each receipt.
    """

    path = "/v1/detections"

    @property
    def most(self) -> int:
        """Return the most numbers in a body, or bytes, as `_size` counts them."""
        return MOST_ROWS * NUMBERS

    def __init__(
        self,
        connection: Connection,
        batch: int,
        timeline: Timeline,
        posted: Callable[[Receipt], None],
        *,
        is_packed: bool = True,
    ) -> None:
        self._connection = connection.twin()
        self._batch = max(batch, 1)
        self._timeline = timeline
        self._posted = posted
        self._is_packed = is_packed
        self._changed = threading.Condition()
        self._pending: deque[Any] = deque()  # each of an image
        self._numbers = 0  # in them
        self._sending = 0  # images on their way
        self._is_flushed = False
        self._is_over = False
        self._failure: ClientError | None = None
        self.images = 0
        self.detections = 0
        self._thread = threading.Thread(
            target=self._post_all, name="outbox", daemon=True
        )
        self._thread.start()

    def put(self, rows: Part) -> None:
        """Take the rows of one more image; waits while too many are pending. Raises the ClientError of a POST."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._failure or self._numbers < 2 * self.most
            )
            self._raise()
            self._pending.append(rows)
            self._numbers += self._size(rows)
            if self._is_due():
                self._changed.notify_all()

    def flush(self, timeout_s: float | None = None) -> None:
        """Return once all rows that were put are on the referee's disk. Raises the ClientError of a POST."""
        with self._changed:
            self._is_flushed = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._failure or not (self._pending or self._sending), timeout_s
            )
            self._raise()

    def close(self) -> None:
        """End the thread; pending rows are discarded."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _post_all(self) -> None:
        try:
            with self._connection:
                while self._post_next():
                    pass
        except ClientError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the detector must not wait forever
            self._fail(
                ClientError(
                    "outbox-failed", f"posting failed: {type(error).__name__}: {error}"
                )
            )

    def _post_next(self) -> bool:
        """Wait until a body is due, and post it; return False once no more will come."""
        with self._changed:
            while not (self._is_over or self._is_due()):
                # The detector may be busy with one image until the window ends: rows do not wait for it.
                self._changed.wait(max(LOOK_S, self._connection.remaining_s - URGENT_S))
            if self._is_over:
                return False
            rows = self._taken()
        for body, kind, is_last in self._bodies(rows):
            with self._timeline.span(SEND) as about:
                receipt = self._connection.post(body, kind, self.path)
                about["images"] = self._sending if is_last else 0
                about["sha256"] = receipt.sha256
                about["link"] = (receipt.chain or {}).get("link")
            self.detections += receipt.accepted
            self._posted(receipt)
        with self._changed:
            self.images += self._sending
            self._sending = 0
            self._changed.notify_all()
        return True

    def _is_due(self) -> bool:
        is_urgent = self._is_flushed or self._connection.remaining_s < URGENT_S
        return len(self._pending) >= (1 if is_urgent else self._batch)

    def _bodies(self, rows: Any) -> Iterator[tuple[bytes, str, bool]]:
        """Yield each body with its content type, and whether it is the last one."""
        for start in range(0, len(rows), self.most):
            part = rows[start : start + self.most]
            is_last = start + self.most >= len(rows)
            yield (*body_of(part, is_packed=self._is_packed), is_last)

    def _size(self, rows: Part) -> int:
        """Return the size of rows in the unit of `most`."""
        return len(rows)

    def _none(self) -> Any:
        return array("d")

    def _taken(self) -> Any:
        """Remove and return the rows of the next images: at most `most`, but at least those of one image."""
        rows = self._none()
        size = 0
        while self._pending and (
            not size or size + self._size(self._pending[0]) <= self.most
        ):
            part = self._pending.popleft()
            size += self._size(part)
            rows += part
            self._sending += 1
        self._numbers -= size
        self._is_flushed = self._is_flushed and bool(self._pending)
        return rows

    def _fail(self, error: ClientError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()


class AnswerOutbox(Outbox):
    """Posts the answers of another task than boxes, as JSON; a body has at most `most` bytes, or those of an image."""

    path = ANSWERS_PATH

    @property
    def most(self) -> int:
        """Return the most bytes in a body."""
        return MOST_BYTES

    def _bodies(self, rows: Any) -> Iterator[tuple[bytes, str, bool]]:
        if rows:
            yield (*answers.body_of(rows), True)

    def _size(self, rows: Part) -> int:
        return sum(map(len, rows)) + len(rows)  # type: ignore[arg-type]  # items

    def _none(self) -> Any:
        return []
