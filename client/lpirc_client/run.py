"""The loop of a run: fetch an image, answer it, post what was found, watch the window, log out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lpirc_client.errors import AnswerError, ClientError, WindowClosed, printable
from lpirc_client.feed import Feed
from lpirc_client.progress import Progress, Reporter
from lpirc_client.session import Session
from lpirc_client.terminal import say
from lpirc_client.wire import Login, Row

FINISHED, WINDOW_CLOSED, FAILED = "finished", "window-closed", "failed"
URGENT_S = 5.0

Answer = Callable[[int, bytes], Iterable[Row]]
"""From an image's number and JPEG bytes to its rows; raises AnswerError."""


@dataclass(frozen=True)
class Plan:
    """What to do in a run: at most `limit` images from `first` on, a POST every `batch`, log out or stay.

    `fetch` images come in one request, ahead of the detector; 1: one by one, each when the detector needs it.
    `least_s`: log out no earlier than this many seconds after the log-in, to give a meter time to measure.
    """

    first: int = 1
    limit: int | None = None
    batch: int = 10
    fetch: int = 1
    stay: bool = False
    least_s: float = 0.0

    def numbers(self, images: int) -> range:
        """Return the numbers of the images to fetch, given how many there are."""
        last = images if self.limit is None else min(images, self.first + self.limit - 1)
        return range(self.first, last + 1)


@dataclass(frozen=True)
class Summary:
    """How a run `ended`: FINISHED, WINDOW_CLOSED or FAILED (with `failure`).

    `images` are answered and their `detections` rows on the referee's disk; `next_image` is the first that is not.
    `elapsed_s` is the run's length by the referee's clock once it is logged out, else the time since this login by our
    own; `remaining_s` is what is left of its window.
    """

    run: str
    images: int
    of: int
    detections: int
    elapsed_s: float
    ended: str
    logged_out: bool
    next_image: int
    remaining_s: float
    failure: ClientError | None = None


class ImageRun:
    """One pass over the images of an open run.

    `prepare` takes the login and returns what answers each image; both may raise AnswerError. After an AnswerError the
    rows found before are posted and the run logged out; after a lost connection it stays open.
    """

    def __init__(
        self,
        session: Session,
        login: Login,
        plan: Plan,
        prepare: Callable[[Login], Answer],
        reporter: Reporter,
    ) -> None:
        self._session = session
        self._login = login
        self._plan = plan
        self._prepare = prepare
        self._reporter = reporter
        self._numbers = plan.numbers(login.images)
        self._pending: list[Row] = []
        self._slowest_s = 0.0
        self._answered = 0
        self._posted = 0
        self._detections = 0
        self._is_warned = False

    @property
    def next_image(self) -> int:
        """Number of the first image whose rows the referee does not have yet."""
        return self._plan.first + self._posted

    def go(self) -> Summary:
        """Work through the images until they, the window or the connection end."""
        started = time.monotonic()
        failure: ClientError | None = None
        try:
            self._work()
        except ClientError as error:
            failure = error
        logged_out, elapsed_s = False, None
        if not self._plan.stay and (failure is None or isinstance(failure, AnswerError)):
            self._linger(started)
            try:
                elapsed_s = self._session.logout()
                logged_out = True
            except ClientError as error:
                failure = failure or error
        closed = isinstance(failure, WindowClosed)
        if closed and self._session.receipts is not None:
            with suppress(ClientError):
                self._session.logout()  # it changes nothing any more, but waits for the closing receipt
        complete = self._posted == len(self._numbers)
        ended = FAILED if failure and not closed else FINISHED if complete else WINDOW_CLOSED
        return Summary(
            run=self._login.run,
            images=self._posted,
            of=len(self._numbers),
            detections=self._detections,
            elapsed_s=round(time.monotonic() - started if elapsed_s is None else elapsed_s, 3),
            ended=ended,
            logged_out=logged_out,
            next_image=self.next_image,
            remaining_s=0.0 if logged_out or closed else round(self._session.remaining_s, 3),
            failure=None if closed else failure,
        )

    def _linger(self, started: float) -> None:
        """Wait until the run has lasted `least_s`, or its window ends."""
        left_s = self._plan.least_s - (time.monotonic() - started)
        time.sleep(max(min(left_s, self._session.remaining_s), 0.0))

    def _work(self) -> None:
        answer = self._prepare(self._login)
        try:
            if self._plan.fetch == 1:
                self._all(answer, ((number, self._session.image(number)) for number in self._numbers))
            else:
                with Feed(self._session, self._numbers, self._plan.fetch) as feed:
                    self._all(answer, iter(feed))
        except AnswerError:
            self._post()
            raise
        self._post()

    def _all(self, answer: Answer, images: Iterator[tuple[int, bytes]]) -> None:
        started = time.monotonic()
        for number, jpeg in images:
            self._pending += answer(number, jpeg)
            self._answered += 1
            self._slowest_s = max(self._slowest_s, time.monotonic() - started)
            if self._answered - self._posted >= self._plan.batch or self._is_urgent():
                self._post()
            started = time.monotonic()

    def _is_urgent(self) -> bool:
        """Whether one more image might take the rest of the window: then no row waits for its batch."""
        return self._session.remaining_s < max(URGENT_S, 3 * self._slowest_s)

    def _post(self) -> None:
        """Hand in what is pending; it stays pending if that fails."""
        if self._posted == self._answered:
            return
        if self._pending:
            receipt = self._session.post(self._pending)
            self._detections += receipt.accepted
            self._pending.clear()
            self._warn(receipt.warnings)
        self._posted = self._answered
        self._reporter.update(
            Progress(self._posted, len(self._numbers), self._detections, self._session.remaining_s)
        )

    def _warn(self, warnings: Sequence[str]) -> None:
        """Show the first warnings of a run: those of later POSTs repeat them."""
        if warnings and not self._is_warned:
            self._is_warned = True
            say(printable(f"The referee warns of these rows, which count as they are: {' '.join(warnings)}"))
