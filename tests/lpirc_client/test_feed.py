"""Images come in order and ahead of time, whatever happens to the connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from lpirc_client.errors import ClientError
from lpirc_client.feed import Feed
from lpirc_client.session import Session
from tests.lpirc_client.referee_double import PASSWORD, Referee

IMAGES = [b"jpeg %d" % n for n in range(1, 6)]


@pytest.fixture
def session(referee: Referee) -> Iterator[Session]:
    with Session(referee.url) as session:
        session.login("alpha", PASSWORD)
        yield session


def fed(session: Session, numbers: range, size: int) -> list[tuple[int, bytes]]:
    with Feed(session, numbers, size) as feed:
        return list(feed)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_every_image_comes_once_and_in_order(referee: Referee, session: Session, size: int) -> None:
    assert fed(session, range(2, 6), size) == list(enumerate(IMAGES[1:], start=2))
    single, batches = f"GET /v1/images/{2}", f"GET /v1/images?first=2&count={min(size, 4)}"
    assert referee.requests[single if size == 1 else batches] == 1


def test_no_images_are_no_request(referee: Referee, session: Session) -> None:
    assert fed(session, range(6, 6), 3) == []
    assert not any("images" in name for name in referee.requests)


def test_a_referee_without_batches_is_asked_for_single_images(referee: Referee, session: Session) -> None:
    referee.has_batches = False
    assert fed(session, range(1, 6), 3) == list(enumerate(IMAGES, start=1))
    assert sum(referee.requests[f"GET /v1/images/{n}"] for n in range(1, 6)) == 5


def test_a_connection_that_breaks_in_a_batch_loses_nothing(referee: Referee, session: Session) -> None:
    referee.cut_bytes = 100  # two images and a half
    assert fed(session, range(1, 6), 5) == list(enumerate(IMAGES, start=1))
    assert referee.requests["GET /v1/images?first=3&count=3"] >= 1


def test_connections_that_bring_nothing_are_tried_again_until_the_window_ends(
    referee: Referee, session: Session
) -> None:
    referee.cut_bytes = 10
    session._window.deadline = time.monotonic() + 0.5
    referee.window_s = 0.5  # its answers say so as well
    with pytest.raises(ClientError):
        fed(session, range(1, 6), 5)


def test_a_refusal_comes_after_the_images_before_it(referee: Referee, session: Session) -> None:
    referee.faults["GET /v1/images?first=3&count=2"] = [(409, "window-closed")]
    came: list[int] = []
    with Feed(session, range(1, 6), 2) as feed, pytest.raises(ClientError) as failure:
        came.extend(number for number, _ in feed)
    assert (came, failure.value.code) == ([1, 2], "window-closed")


def test_a_slow_detector_has_at_most_two_batches_at_hand(referee: Referee, session: Session) -> None:
    with Feed(session, range(1, 6), 1) as feed:
        until(lambda: len(feed._ready) == 2)
        assert referee.requests["GET /v1/images/3"] == 0
        images = iter(feed)
        next(images)
        until(lambda: referee.requests["GET /v1/images/3"] == 1)
        assert [number for number, _ in images] == [2, 3, 4, 5]


def test_the_window_is_known_from_what_the_feed_is_told(referee: Referee, session: Session) -> None:
    session._window.deadline = time.monotonic() + 1.0
    fed(session, range(1, 6), 5)
    assert session.remaining_s > 30


def test_an_abandoned_feed_ends(referee: Referee, session: Session) -> None:
    feed = Feed(session, range(1, 6), 1)
    with feed:
        pass
    feed._thread.join(15)
    assert not feed._thread.is_alive()
