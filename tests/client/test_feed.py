"""Images come in order and ahead of time, whatever happens to the connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import pytest

from lpirc_client.connection import Connection
from lpirc_client.errors import TransientError, WindowClosed
from lpirc_client.feed import Feed
from lpirc_client.timeline import Timeline
from tests.client.referee_double import Referee
from tests.timeouts import TIMEOUT_S

IMAGES = [b"jpeg %d" % n for n in range(1, 6)]


def fed(
    session: Connection,
    numbers: Sequence[int],
    size: int,
) -> list[tuple[int, bytes]]:
    with closing(Feed(session, numbers, size, Timeline())) as feed:
        return [tuple(image) for image in feed]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_every_image_comes_once_and_in_order(
    referee: Referee,
    session: Connection,
    size: int,
) -> None:
    assert fed(session, range(2, 6), size) == list(enumerate(IMAGES[1:], start=2))
    single = "GET /v1/images/2"
    batches = f"GET /v1/images?first=2&count={min(size, 4)}"
    assert referee.requests[single if size == 1 else batches] == 1


def test_no_images_need_no_request(referee: Referee, session: Connection) -> None:
    assert fed(session, range(6, 6), 3) == []
    assert not any("images" in name for name in referee.requests)


def test_a_referee_without_batches_is_asked_for_single_images(
    referee: Referee,
    session: Connection,
) -> None:
    referee.has_batches = False
    assert fed(session, range(1, 6), 3) == list(enumerate(IMAGES, start=1))
    assert sum(referee.requests[f"GET /v1/images/{n}"] for n in range(1, 6)) == 5


def test_a_connection_that_breaks_in_a_batch_loses_nothing(
    referee: Referee,
    session: Connection,
) -> None:
    referee.cut_bytes = 100  # two images and a half
    assert fed(session, range(1, 6), 5) == list(enumerate(IMAGES, start=1))
    assert referee.requests["GET /v1/images?first=3&count=3"] >= 1


def test_a_connection_that_brings_nothing_is_repeated_until_the_window_ends(
    referee: Referee,
    session: Connection,
) -> None:
    referee.cut_bytes = 10
    session.window.deadline = time.monotonic() + 0.2
    referee.window_s = 0.2  # its answers say so as well
    with pytest.raises((TransientError, WindowClosed)):
        fed(session, range(1, 6), 5)


def test_a_refusal_comes_after_the_images_before_it(
    referee: Referee,
    session: Connection,
) -> None:
    referee.faults["GET /v1/images?first=3&count=2"] = [(409, "window-closed")]
    came: list[int] = []
    with (
        closing(Feed(session, range(1, 6), 2, Timeline())) as feed,
        pytest.raises(WindowClosed),
    ):
        came.extend(number for number, _ in feed)
    assert came == [1, 2]


def test_at_most_two_batches_wait_for_a_slow_detector(
    referee: Referee,
    session: Connection,
) -> None:
    def requests(number: int) -> int:
        return referee.requests[f"GET /v1/images/{number}"]

    with closing(Feed(session, range(1, 6), 1, Timeline())) as feed:
        for number, _ in feed:
            referee.until(partial(requests, min(number + 2, 5)))
            assert requests(number + 3) == 0


def test_answers_to_the_feed_extend_the_window_of_the_session(
    referee: Referee,
    session: Connection,
) -> None:
    session.window.deadline = time.monotonic() + 29.0
    fed(session, range(1, 6), 5)
    assert session.remaining_s > 30


def test_an_abandoned_feed_ends(referee: Referee, session: Connection) -> None:
    with closing(Feed(session, range(1, 6), 1, Timeline())):
        (thread,) = (
            thread for thread in threading.enumerate() if thread.name == "feed"
        )
    thread.join(TIMEOUT_S)
    assert not thread.is_alive()


def test_images_come_in_the_order_that_was_asked_for(
    referee: Referee,
    session: Connection,
) -> None:
    assert [number for number, _ in fed(session, [5, 2, 3, 1], 3)] == [5, 2, 3, 1]
    assert referee.requests["GET /v1/images?first=2&count=2"] == 1


def test_images_that_are_too_large_for_a_batch_come_in_smaller_ones(
    referee: Referee,
    session: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    referee.images = [bytes([number]) * 300_000 for number in range(1, 9)]
    monkeypatch.setattr("lpirc_client.feed.MOST_BYTES", 1_000_000)
    came = fed(session, range(1, 9), 8)
    assert [jpeg for _, jpeg in came] == referee.images
    assert referee.requests["GET /v1/images?first=5&count=2"] == 1
