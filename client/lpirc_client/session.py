"""A run at the referee as a few lines of a program.

    with Session("http://referee:8080", "alpha", password) as session:
        for image in session.images(prefetch=50):
            session.post(image.number, detect(image.jpeg))

Two threads fetch images ahead and post rows, in addition to the caller's. Python 3.8 and `requests` are all it needs.
"""

from __future__ import annotations

import time
from contextlib import closing, suppress
from types import TracebackType
from typing import Any, Iterable, Iterator

from lpirc_client.answers import items_of
from lpirc_client.connection import Connection
from lpirc_client.errors import (
    AnswerError,
    ClientError,
    ConnectionLost,
    NotStarted,
    TransientError,
    WindowClosed,
    printable,
)
from lpirc_client.feed import Feed, Image
from lpirc_client.outbox import AnswerOutbox, Outbox
from lpirc_client.receipts import ReceiptFile
from lpirc_client.rows import FIRST_INEXACT, checked, listed
from lpirc_client.terminal import say
from lpirc_client.timeline import DETECTING, POSTING, WAITING, Timeline
from lpirc_client.wire import Login, Receipt

INTERRUPTED_S = 2.0
"""Time after Ctrl-C in which pending rows are still posted."""

WAIT_PAUSE_S = 0.2

BROKEN_S = 1.0
"""Time during which a broken connection is retried before the log-in."""


class Session:
    """One run of `team` at the referee at `url`; a context manager.

    Entering it waits up to `wait_s` for the referee and logs in, which starts the window; in a heat it waits for the
    start signal. Leaving it posts what is pending and logs out, which closes the run for good; with `stay` the run
    stays open. After an exception it stays open, too, unless `logout_on_error`. The end of the window is not a failure:
    `images` ends, and `is_closed` is true.

    `ca_cert`: a PEM file, for a referee with a certificate of its own. `receipts` keeps what the referee acknowledges.
    `batch`: images in one POST. `packed`: bodies of float32, which cost a board least; False: JSON, exact in float64.
    Methods raise ClientError.
    """

    def __init__(
        self,
        url: str,
        team: str,
        password: str,
        *,
        ca_cert: str | None = None,
        receipts: ReceiptFile | None = None,
        batch: int = 10,
        packed: bool = True,
        stay: bool = False,
        logout_on_error: bool = False,
        wait_s: float = 0.0,
        timeline: Timeline | None = None,
    ) -> None:
        self.connection = Connection(url, ca_cert, receipts)
        self.timeline = timeline or Timeline()
        self.is_closed = False
        self.logged_out = False
        self.elapsed_s: float | None = None
        self._team = team
        self._password = password
        self._wait_s = wait_s
        self._batch = batch
        self._packed = packed
        self.stay = stay
        self._logout_on_error = logout_on_error
        self._login: Login | None = None
        self._outbox: Outbox | None = None
        self._names: dict[int, str] = {}
        self._is_warned = False
        self._since_s = 0.0
        self._feeds: list[Feed] = []

    def __enter__(self) -> Session:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        try:
            self.finish(error)
        finally:
            self.close()
        return isinstance(error, WindowClosed)

    @property
    def login(self) -> Login:
        """Return the run, with its images and categories; valid after `open`."""
        if self._login is None:
            raise ClientError(
                "not-logged-in", "the session is not open: use it in a with block"
            )
        return self._login

    @property
    def remaining_s(self) -> float:
        """Return the seconds left of the window, by the referee's latest answer."""
        return self.connection.remaining_s

    @property
    def images_posted(self) -> int:
        """Return the number of calls of `post` whose rows the referee has on disk."""
        return 0 if self._outbox is None else self._outbox.images

    @property
    def detections_posted(self) -> int:
        """Return the number of rows that the referee has accepted."""
        return 0 if self._outbox is None else self._outbox.detections

    def open(self) -> Login:
        """Wait for the referee, log in, and start posting in the background."""
        self.wait()
        self._login = login = self._log_in()
        self.timeline.begin()
        self._names = {category.id: category.name for category in login.categories}
        is_packed = self._packed and max(self._names, default=0) < FIRST_INEXACT
        kind = Outbox if login.task is None else AnswerOutbox
        self._outbox = kind(
            self.connection,
            self._batch,
            self.timeline,
            self._warn,
            is_packed=is_packed,
        )
        return login

    def images(
        self,
        numbers: Iterable[int] | None = None,
        prefetch: int = 50,
    ) -> Iterator[Image]:
        """Yield the images of these numbers (all), `prefetch` of them in each request, one request ahead.

        They may be answered in any order. Ends early when the window has closed.
        """
        wanted = range(1, self.login.images + 1) if numbers is None else tuple(numbers)
        with closing(Feed(self.connection, wanted, prefetch, self.timeline)) as feed:
            self._feeds.append(feed)
            coming = iter(feed)
            while True:
                asked_s = time.perf_counter()
                try:
                    image = next(coming)
                except StopIteration:
                    return
                except WindowClosed:
                    self.is_closed = True
                    return
                self._since_s = time.perf_counter()
                self.timeline.add(WAITING, asked_s, self._since_s, image.number)
                yield image

    def post(
        self,
        number: int,
        rows: Any,
    ) -> None:
        """Hand in the rows of image `number`: (category id, confidence, xmin, ymin, xmax, ymax).

        In a contest of another task: what `lpirc_client.answers` says.

        A list or a NumPy array (n, 6), pixels, corners included; see `lpirc_client.rows`. Returns at once: the rows are
        on the referee's disk after `flush`. A second call for an image adds rows. Raises AnswerError for a bad row or
        an unknown image, and then sends nothing of it.
        """
        if not 1 <= number <= self.login.images:
            what = f"image {number}: there is no such image; `images` has the numbers 1 to {self.login.images}"
            raise AnswerError("image-unknown", what)
        task = self.login.task_name
        given: Any = (
            items_of(task, number, rows)
            if task is not None
            else list(listed(number, rows))  # a generator detects while it is read
        )
        found_s = time.perf_counter()
        if self._since_s:
            self.timeline.add(DETECTING, self._since_s, found_s, number)
            self._since_s = 0.0
        self._posting.put(
            checked(number, given, self._names) if task is None else given
        )
        self.timeline.add(POSTING, found_s, time.perf_counter(), number)

    def flush(self, timeout_s: float | None = None) -> None:
        """Return once every row is on the referee's disk."""
        with self.timeline.span(POSTING):
            self._posting.flush(timeout_s)

    def finish(self, error: BaseException | None = None) -> None:
        """Post pending rows and, unless `stay`, log out: the meter stops, the run is closed for good.

        After an `error` it logs out only with `logout_on_error`, and raises nothing.
        """
        self.is_closed = self.is_closed or isinstance(error, WindowClosed)
        if error is not None and not self.is_closed:
            self._give_up(is_interrupted=isinstance(error, KeyboardInterrupt))
            return
        try:
            if not self.is_closed:
                self.flush()
                if not (self.stay or self.logged_out):
                    self._log_out()
        except WindowClosed:
            self.is_closed = True
        except AnswerError:
            self._give_up()
            raise
        if self.is_closed and self.connection.receipts is not None:
            with suppress(ClientError):
                self.connection.logout()  # it changes nothing any more, but waits for the closing receipt

    def close(self) -> None:
        """Close the connections; the run stays as it is."""
        for feed in self._feeds:
            feed.close()
        if self._outbox is not None:
            self._outbox.close()
        self.connection.close()
        self.timeline.close()

    def _give_up(self, *, is_interrupted: bool = False) -> None:
        """Post as many pending rows as possible before the exception is raised again."""
        with suppress(ClientError):
            self.flush(INTERRUPTED_S if is_interrupted else None)
        if self._logout_on_error and not is_interrupted:
            with suppress(ClientError):
                self._log_out()

    def _log_out(self) -> None:
        if not self.logged_out:
            self.elapsed_s = self.connection.logout()
            self.logged_out = True

    @property
    def _posting(self) -> Outbox:
        if self._outbox is None:
            raise ClientError(
                "not-logged-in", "the session is not open: use it in a with block"
            )
        return self._outbox

    def wait(self) -> dict[str, Any]:
        """Wait for the referee; return how it describes itself. No log-in is needed."""
        began_s = time.monotonic()
        while True:
            try:
                return self.connection.health()
            except TransientError as error:  # noqa: PERF203 - one request a turn
                least_s = BROKEN_S if isinstance(error, ConnectionLost) else 0.0
                if time.monotonic() + WAIT_PAUSE_S - began_s > max(
                    self._wait_s, least_s
                ):
                    raise
                time.sleep(WAIT_PAUSE_S)

    def _log_in(self) -> Login:
        announced = False
        while True:
            try:
                return self.connection.login(self._team, self._password)
            except NotStarted as error:  # noqa: PERF203 - one request a turn
                if not announced:
                    say(f"{error.sentence} Waiting; Ctrl-C ends it.")
                    announced = True
                time.sleep(WAIT_PAUSE_S)

    def _warn(self, receipt: Receipt) -> None:
        """Show the first warnings of a run only: those of later POSTs repeat them."""
        if receipt.warnings and not self._is_warned:
            self._is_warned = True
            warnings = " ".join(receipt.warnings)
            say(
                printable(
                    f"The referee warns about these rows, which it scores unchanged: {warnings}"
                )
            )
