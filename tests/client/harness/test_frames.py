"""Messages through a pipe."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from lpirc_client.harness.frames import (
    HEAD,
    LARGEST_JSON,
    BrokenFrameError,
    receive,
    send,
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_message_larger_than_the_pipe_arrives_whole(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    payload = os.urandom(1 << 20)
    sender = threading.Thread(
        target=send,
        args=(writing, {"do": "run", "ä": None}, payload),
    )
    sender.start()
    assert receive(reading) == ({"do": "run", "ä": None}, payload)
    sender.join()


@pytest.mark.parametrize("sent", [b"", b"\0\0", HEAD.pack(2, 3) + b"{}xy"])
def test_an_end_is_an_end_wherever_it_comes(sent: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, sent)
    os.close(writing)
    assert receive(reading) is None
    os.close(reading)


@pytest.mark.parametrize(
    "sent",
    [
        HEAD.pack(LARGEST_JSON + 1, 0),
        HEAD.pack(2, 1 << 60),
        HEAD.pack(2, 0) + b"[]",
        HEAD.pack(3, 0) + b"{x}",
    ],
)
def test_what_is_not_a_message_is_reported(pipe: tuple[int, int], sent: bytes) -> None:
    reading, writing = pipe
    os.write(writing, sent)
    with pytest.raises(BrokenFrameError):
        receive(reading)
