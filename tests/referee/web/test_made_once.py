"""A value is made by one thread at a time, and 300 viewers who look at the same moment all get the board."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.figures import processor_s
from referee.web.made_once import made_once
from tests.contest_day import contest_day, workers_of
from tests.timeouts import TIMEOUT_S

VIEWERS = 300
MOST_S = 8.0
"""Processor time of all the answers: 0.5 s, and 40 s if each viewer's thread renders the board for itself."""
LOOK = b"GET /board/live HTTP/1.1\r\nHost: referee\r\nAccept-Encoding: gzip\r\n\r\n"


def test_of_many_threads_one_makes_the_value_and_the_others_get_it() -> None:
    made = list[str]()
    together = threading.Barrier(16)
    found = list[str]()

    @made_once(2)
    def make(name: str) -> str:
        made.append(name)
        for _ in range(1000):
            time.sleep(0)  # lets every other thread run
        return name.upper()

    def ask() -> None:
        together.wait(TIMEOUT_S)
        found.append(make("board"))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(TIMEOUT_S)
    assert found == ["BOARD"] * 16
    assert made == ["board"]


def test_the_newest_values_are_kept_and_a_failure_is_not() -> None:
    made = list[int]()

    @made_once(2)
    def make(number: int, *, fails: bool = False) -> int:
        made.append(number)
        if fails:
            raise ValueError(number)
        return number

    for number in (1, 2, 2, 1, 3, 3, 1):
        assert make(number) == number
    assert made == [1, 2, 3, 1]
    for _ in range(2):
        with pytest.raises(ValueError, match="4"):
            make(4, fails=True)
    assert made[4:] == [4, 4]


def test_viewers_who_all_look_at_once_at_a_board_that_nobody_has_seen_are_answered(
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "contest", tiny_set) as day, ExitStack() as opened:
        server = day.serve()
        poll = select.poll()
        waiting = {}
        for _ in range(VIEWERS):
            one = opened.enter_context(
                socket.create_connection((server.host, server.port))
            )
            waiting[one.fileno()] = one
            poll.register(one, select.POLLIN)
        worker = max(workers_of(server.process.pid), key=processor_s)
        before_s = processor_s(worker)
        for one in waiting.values():
            one.sendall(LOOK)
        deadline_s = time.monotonic() + TIMEOUT_S
        while waiting:
            assert time.monotonic() < deadline_s, f"{len(waiting)} are not answered"
            for number, _ in poll.poll(1000):
                poll.unregister(number)
                head = waiting.pop(number).recv(65536)
                assert head.startswith(b"HTTP/1.1 200"), head
        assert processor_s(worker) - before_s < MOST_S
