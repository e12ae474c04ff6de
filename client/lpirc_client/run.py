"""The loop of a run: fetch an image, answer it, post the rows, watch the window, log out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from lpirc_client.errors import ClientError, WindowClosed
from lpirc_client.progress import Progress, Reporter
from lpirc_client.session import Session
from lpirc_client.stopping import MINUTE_S, Sample, account, is_over
from lpirc_client.wire import DETECTIONS, Login

FINISHED = "finished"
WINDOW_CLOSED = "window-closed"
FAILED = "failed"
LOOK_S = 2.0  # between two looks at the provisional score
FRESH = "fresh"  # the `figure_state` of a provisional score that is worth anything

Answer = Callable[[int, bytes], Any]
"""Maps an image's number and JPEG bytes to its rows (see `rows`); raises AnswerError."""


@dataclass(frozen=True)
class Plan:
    """The work of a run: at most `limit` images from `first` on.

    `fetch` images come in one request, and as many again are fetched ahead of the detector.
    `least_s`: log out no earlier than this many seconds after the log-in, to give a meter time to measure.
    `stop` "best": log out when the score is expected to fall (`stopping`), but not within `least_s`, or a minute.
    """

    first: int = 1
    limit: int | None = None
    fetch: int = 50
    least_s: float = 0.0
    stop: str | None = None

    def numbers(self, images: int) -> range:
        """Return the numbers of the images to fetch, given how many there are."""
        last = (
            images if self.limit is None else min(images, self.first + self.limit - 1)
        )
        return range(self.first, last + 1)


@dataclass(frozen=True)
class Summary:
    """The outcome of a run: it `ended` FINISHED, WINDOW_CLOSED or FAILED (with `failure`).

    `images` counts the answered images, and `detections` their rows on the referee's disk; `next_image` is the first
    image that is not answered. `elapsed_s` is the run's length by the referee's clock once it is logged out, else the
    time since this login by our clock; `remaining_s` is the time left in its window. `time` holds the seconds of each
    kind of work (`timeline`). `stop` is the `stopping.account` at the latest look at the provisional score, if any.
    `answers` is what the rows are called.
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
    time: Mapping[str, float]
    failure: ClientError | None = None
    stop: Mapping[str, float] | None = None
    answers: str = DETECTIONS


class ImageRun:
    """One pass over the images of an open session.

    `prepare` takes the login and returns the function that answers each image; both may raise AnswerError.
    """

    def __init__(
        self,
        session: Session,
        plan: Plan,
        prepare: Callable[[Login], Answer],
        reporter: Reporter,
    ) -> None:
        self._session = session
        self._plan = plan
        self._prepare = prepare
        self._reporter = reporter
        self._numbers = plan.numbers(session.login.images)
        self._reported = 0
        self._started_s = self._looked_s = time.monotonic()
        self._samples: list[Sample] = []
        self._left: list[
            tuple[float, int]
        ] = []  # (seconds, images that were not answered then)
        self._seen = ""
        self._stop: Mapping[str, float] | None = None
        self._is_stopped = False

    @property
    def next_image(self) -> int:
        """Return the number of the first image whose rows the referee does not have yet."""
        return self._plan.first + self._session.images_posted

    def go(self) -> Summary:
        """Work through the images until they, the window or the connection end."""
        session = self._session
        failure = None
        try:
            self._work()
            session.finish()
        except WindowClosed as error:
            session.finish(error)
        except ClientError as error:
            failure = error
            session.finish(error)
        self._report()
        complete = self._is_stopped or session.images_posted == len(self._numbers)
        return Summary(
            run=session.login.run,
            images=session.images_posted,
            of=len(self._numbers),
            detections=session.detections_posted,
            elapsed_s=round(
                time.monotonic() - self._started_s
                if session.elapsed_s is None
                else session.elapsed_s,
                3,
            ),
            ended=FAILED if failure else FINISHED if complete else WINDOW_CLOSED,
            logged_out=session.logged_out,
            next_image=self.next_image,
            remaining_s=0.0
            if session.logged_out or session.is_closed
            else round(session.remaining_s, 3),
            time=session.timeline.report(),
            failure=failure,
            stop=self._stop,
            answers=session.login.answers,
        )

    def _work(self) -> None:
        session = self._session
        answer = self._prepare(session.login)
        for number, jpeg in session.images(self._numbers, self._plan.fetch):
            session.post(number, answer(number, jpeg))
            self._report()
            if self._plan.stop is not None and self._is_enough(number):
                break
        session.flush()
        if not (session.stay or session.is_closed):
            left_s = self._plan.least_s - (time.monotonic() - self._started_s)
            time.sleep(max(min(left_s, session.remaining_s), 0.0))

    def _is_enough(self, number: int) -> bool:
        """Return True if the run should stop after image `number`. Asks for the provisional score if that is due."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return False
        self._looked_s = now_s
        try:
            found = self._session.connection.status().get("provisional") or {}
        except WindowClosed:
            raise
        except ClientError:  # the run goes on without this look
            return False
        self._left.append((now_s - self._started_s, self._numbers.stop - 1 - number))
        if (
            found.get("score") is None
            or found.get("figure_state") != FRESH
            or found["utc"] == self._seen
        ):
            return False
        self._seen = found["utc"]
        at_s = now_s - self._started_s - found["age_s"]
        left = next(
            (images for when_s, images in reversed(self._left) if when_s <= at_s),
            self._left[0][1],
        )
        self._samples.append(Sample(at_s, left, found["map"], found["energy_wh"]))
        self._stop = account(self._samples, self._session.remaining_s)
        self._is_stopped = is_over(self._samples, self._plan.least_s or MINUTE_S)
        return self._is_stopped

    def _report(self) -> None:
        images = self._session.images_posted
        if images != self._reported:
            self._reported = images
            progress = Progress(
                images,
                len(self._numbers),
                self._session.detections_posted,
                self._session.remaining_s,
                self._session.login.answers,
            )
            self._reporter.update(progress)
