"""What is made beside the server: no replay across the freeze, none that fails for good is made again and again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from referee.clock import Clock
from referee.contest import Contest
from referee.judging import replay_publisher
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import (
    AGAIN_S,
    ReplayPublisher,
    replay_to_store,
)
from referee.store.replay_table import StoredReplay
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import closed_run

Build = Callable[..., House]


class SetClock(Clock):
    """It shows what the test sets."""

    seconds = 0.0

    def monotonic_s(self) -> float:
        return self.seconds

    def utc(self) -> datetime:
        return datetime.fromtimestamp(START.timestamp() + self.seconds, UTC)


@pytest.fixture
def hall(build: Build) -> tuple[Contest, SetClock]:
    """A contest with two published runs that have no replay yet."""
    contest = build().contest
    clock = SetClock()
    for seed, team in enumerate(("ant", "bee")):
        run = closed_run(contest, team, 1.0 + seed, seed)
        judge(contest, run.id, clock)
    Publisher(contest, clock).tick()
    return contest, clock


def test_a_replay_that_is_being_made_when_the_freeze_is_due_is_not_kept(
    hall: tuple[Contest, SetClock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest, clock = hall
    freeze_at = START + timedelta(seconds=10)
    object.__setattr__(contest.config, "freeze_at", freeze_at)

    def made_until_after(contest: Contest, number: int, clock: Clock) -> StoredReplay:
        made = replay_to_store(contest, number, clock)
        assert isinstance(clock, SetClock)
        clock.seconds = 10.5
        return made

    monkeypatch.setattr(replay_publisher, "replay_to_store", made_until_after)
    clock.seconds = 9.5
    ReplayPublisher(contest, clock).tick()
    assert clock.seconds == 10.5
    assert contest.store.replays.marks() == {}


class Failing:
    """Makes replays, except that of run 1 while `error` is set."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.asked = 0

    def __call__(self, contest: Contest, number: int, clock: Clock) -> StoredReplay:
        if number == 1:
            self.asked += 1
            if self.error is not None:
                raise self.error
        return replay_to_store(contest, number, clock)


def test_a_replay_that_fails_by_its_rows_is_tried_once_and_the_others_are_made(
    hall: tuple[Contest, SetClock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest, clock = hall
    failing = Failing(ValueError("odd rows"))
    monkeypatch.setattr(replay_publisher, "replay_to_store", failing)
    publisher = ReplayPublisher(contest, clock)
    for _ in range(5):
        publisher.tick()
        clock.seconds += AGAIN_S
    assert failing.asked == 1
    assert set(contest.store.replays.marks()) == {2}


def test_a_replay_that_fails_by_its_host_is_tried_again_after_a_minute(
    hall: tuple[Contest, SetClock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest, clock = hall
    failing = Failing(OSError(28, "No space left on device"))
    monkeypatch.setattr(replay_publisher, "replay_to_store", failing)
    publisher = ReplayPublisher(contest, clock)
    for _ in range(5):
        publisher.tick()
    assert failing.asked == 1
    failing.error = None
    clock.seconds += AGAIN_S
    publisher.tick()
    assert failing.asked == 2
    assert set(contest.store.replays.marks()) == {1, 2}
