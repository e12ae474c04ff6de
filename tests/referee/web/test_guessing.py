"""While someone guesses from ever new addresses, or from the same one, teams log in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from tests.contest_day import TEAM, Day, Server, until
from tests.referee.web.two_stations import asked_from, login_from

GUESSERS = 16
ROUNDS = 16  # it waits for one round; on a busy host more are answered until it is in the queue, and until it is read


def guess_from(server: Server, address: str, team: str) -> int:
    return asked_from(
        server,
        address,
        "POST",
        "/v1/session",
        body={"team": team, "password": "guess"},
    )[0]


def test_a_first_log_in_waits_for_no_more_guesses_than_were_there_before_it(
    day: Callable[..., Day],
) -> None:
    server: Server = day(auto_arm=False).server  # type: ignore[assignment]
    stop = threading.Event()
    numbers = count()
    answered = list[int]()

    def guess() -> None:
        while not stop.is_set():
            number = next(numbers)
            answered.append(
                guess_from(server, f"127.1.{number // 250}.{1 + number % 250}", TEAM)
            )

    with ThreadPoolExecutor(GUESSERS) as guessers:
        for _ in range(GUESSERS):
            guessers.submit(guess)
        until(lambda: len(answered) >= GUESSERS)
        before = len(answered)
        status, answer = login_from(server, "127.200.0.1", TEAM)
        meanwhile = len(answered) - before
        stop.set()
    # The password was right; opening a run would take a while.
    assert status == 409
    assert answer["code"] == "not-armed"
    assert meanwhile <= ROUNDS * GUESSERS
    assert set(answered) == {401}


def test_a_rival_behind_the_same_address_locks_no_team_out(
    day: Callable[..., Day],
) -> None:
    teams = [f"team {number}" for number in range(6)]
    server: Server = day(teams=[TEAM, *teams]).server  # type: ignore[assignment]
    assert {
        guess_from(server, "127.0.0.9", team) for team in teams for _ in range(10)
    } == {401}
    assert login_from(server, "127.0.0.9", TEAM)[0] == 201
    assert [guess_from(server, "127.0.0.9", TEAM) for _ in range(11)] == [401] * 10 + [
        429
    ]
    assert login_from(server, "127.0.0.9", TEAM)[0] == 201
