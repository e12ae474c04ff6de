"""Calls that hang are given up, and only so many of them at once."""

from __future__ import annotations

import threading

import pytest

from referee.web.bounded_calls import BoundedCalls, Hangs


def test_a_call_gives_what_it_returns_and_raises() -> None:
    calls = BoundedCalls(limit_s=60.0, most=1)
    assert calls(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        calls(lambda: 1 / 0)
    with pytest.raises(SystemExit):
        calls(lambda: exit(3))
    with pytest.raises(TimeoutError, match="mine"):
        calls(lambda: raise_timeout("mine"))


def raise_timeout(words: str) -> None:
    raise TimeoutError(words)


def test_calls_that_hang_are_given_up_and_let_in_again_once_they_have_ended() -> None:
    calls = BoundedCalls(limit_s=0.01, most=2)
    go_on = threading.Event()
    threads = {*threading.enumerate()}
    for _ in range(2):
        with pytest.raises(Hangs, match=r"did not end within 0\.01 s"):
            calls(go_on.wait)
    with pytest.raises(Hangs, match="2 earlier calls have not ended"):
        calls(lambda: 7)
    go_on.set()
    for thread in {*threading.enumerate()} - threads:
        thread.join()
    assert calls(lambda: 7) == 7
