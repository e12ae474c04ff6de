"""Large bodies take turns: one at a time, one run after the other, in the order they came."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from referee.runs.open_run import SMALL_BODY_BYTES
from referee.web.contestant.detections import turn_of
from referee.web.large_bodies import LARGE_BODY_BYTES, TakingTurns
from tests.contest_day import until


def test_each_run_gets_its_turn_after_one_body_of_another() -> None:
    turns, told, is_held = TakingTurns(), [], Event()

    def take(run: int, name: str) -> None:
        with turns.turn(run):
            told.append(name)
            is_held.wait(20)

    with ThreadPoolExecutor(8) as pool:
        for waiting, (run, name) in enumerate(
            [(1, "first"), (1, "a1"), (1, "a2"), (1, "a3"), (2, "b1"), (2, "b2"), (3, "c1")]
        ):
            pool.submit(take, run, name)
            until(lambda: told and sum(map(len, turns._waiting.values())) == waiting)  # noqa: B023
        assert told == ["first"]
        is_held.set()
    assert told == ["first", "a1", "b1", "c1", "a2", "b2", "a3"]
    assert not turns._is_taken


def test_a_body_that_fails_passes_the_turn_on() -> None:
    turns = TakingTurns()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.turn(1):
            _ = 1 / 0
    with turns.turn(2):
        assert turns._is_taken


def test_all_but_small_bodies_take_turns_and_none_waits_for_a_larger_kind() -> None:
    state: Any = SimpleNamespace(large_turns=TakingTurns(), middle_turns=TakingTurns())
    live: Any = SimpleNamespace(run=SimpleNamespace(id=1))
    assert isinstance(turn_of(state, live, bytes(SMALL_BODY_BYTES)), nullcontext)
    for size, takes in ((SMALL_BODY_BYTES + 1, (False, True)), (LARGE_BODY_BYTES + 1, (True, False))):
        with turn_of(state, live, bytes(size)):
            assert (state.large_turns._is_taken, state.middle_turns._is_taken) == takes
