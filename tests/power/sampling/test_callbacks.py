from __future__ import annotations

import functools
import threading

import pytest

from lpirc_power.sampling.sampling_thread import Callbacks
from tests.timeouts import TIMEOUT_S


def test_calls_come_in_the_order_in_which_they_were_put() -> None:
    calls = Callbacks()
    taken = []
    for number in range(1000):
        calls.put(functools.partial(taken.append, number))
    calls.drain(10)
    assert taken == list(range(1000))
    calls.end(10)


def test_a_call_that_raises_is_logged_and_the_next_ones_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(words: str) -> None:
        raise ValueError(words)

    calls = Callbacks()
    taken = []
    for call in (
        functools.partial(fail, "first"),
        functools.partial(fail, "second"),
    ):
        calls.put(call)
    calls.put(functools.partial(taken.append, 1))
    calls.end(10)
    assert taken == [1]
    assert caplog.text.count("could not be recorded") == 2


def test_one_that_hangs_is_waited_for_once_and_loses_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = threading.Event()
    taken = threading.Event()
    calls = Callbacks()
    calls.put(functools.partial(held.wait, 20))
    calls.put(taken.set)
    for _ in range(2):
        calls.drain(0.05)
    assert "are not recorded yet" in caplog.text
    assert not taken.is_set()
    calls.end(0.05)
    held.set()
    assert taken.wait(TIMEOUT_S)


def test_a_call_may_drain_and_end_it_itself() -> None:
    calls = Callbacks()
    ended = threading.Event()

    def end() -> None:
        calls.drain(10)
        calls.end(10)
        ended.set()

    calls.put(end)
    assert ended.wait(TIMEOUT_S)
    calls.drain(10)


def test_draining_after_the_end_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = threading.Event()
    calls = Callbacks()
    calls.put(held.wait)
    calls.end(0.01)  # its thread still lives
    monkeypatch.setattr(threading.Event, "wait", lambda *_: pytest.fail("it waits"))
    calls.drain(10)
    calls.end(10)
    monkeypatch.undo()
    held.set()
