from __future__ import annotations

import functools
import threading

import pytest

from power.sampling.callbacks import Delivery


def test_calls_come_in_the_order_in_which_they_were_put() -> None:
    delivery, taken = Delivery(), []
    for number in range(1000):
        delivery.put(functools.partial(taken.append, number))
    delivery.drain(10)
    assert taken == list(range(1000))
    delivery.end(10)


def test_a_call_that_raises_is_kept_and_the_next_ones_go_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(words: str) -> None:
        raise ValueError(words)

    delivery, taken = Delivery(), []
    for call in (functools.partial(fail, "first"), functools.partial(fail, "second")):
        delivery.put(call)
    delivery.put(functools.partial(taken.append, 1))
    delivery.end(10)
    assert taken == [1]
    assert str(delivery.error) == "first"
    assert caplog.text.count("could not be recorded") == 2


def test_one_that_hangs_is_waited_for_once_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    held, taken = threading.Event(), threading.Event()
    delivery = Delivery()
    delivery.put(functools.partial(held.wait, 20))
    delivery.put(taken.set)
    for _ in range(2):
        delivery.drain(0.05)
    assert "wait for whoever records them" in caplog.text
    assert not taken.is_set()
    delivery.end(0.05)
    held.set()
    assert taken.wait(10)


def test_a_call_may_drain_and_end_it_itself() -> None:
    delivery, ended = Delivery(), threading.Event()

    def end() -> None:
        delivery.drain(10)
        delivery.end(10)
        ended.set()

    delivery.put(end)
    assert ended.wait(10)
    delivery.drain(10)


def test_draining_after_the_end_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    delivery = Delivery()
    delivery.put(held.wait)
    delivery.end(0.01)  # its thread still lives
    monkeypatch.setattr(threading.Event, "wait", lambda *_: pytest.fail("it waits"))
    delivery.drain(10)
    delivery.end(10)
    monkeypatch.undo()
    held.set()
