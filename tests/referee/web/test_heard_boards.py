"""Which boards count as heard from: whose, for how long, and what does not show it."""

from __future__ import annotations

from referee.config import Station
from referee.web.heard_boards import HEARD_S, Heard, HeardBoards, HeardBy
from tests.referee.factories import DrivenClock

FIRST = "10.0.0.5"
SECOND = "10.0.1.5"


def boards(clock: DrivenClock) -> HeardBoards:
    stations = (
        Station("one", "sim:1W", clients=("10.0.0.0/24",)),
        Station("two", "sim:1W", clients=("10.0.1.0/24",)),
        Station("open", "sim:1W"),
    )
    return HeardBoards(stations, clock)


def test_a_request_shows_the_board_of_the_station_whose_address_it_comes_from() -> None:
    clock = DrivenClock()
    heard = boards(clock)
    heard.note_request(FIRST)
    assert heard.of("one", "ant") == Heard(HeardBy.ADDRESS, FIRST)
    assert heard.of("two", "bee") is None
    clock.advance(HEARD_S + 0.1)
    assert heard.of("one", "ant") is None


def test_a_station_that_admits_every_address_is_heard_from_by_log_ins_alone() -> None:
    clock = DrivenClock()
    heard = boards(clock)
    heard.note_request(FIRST)
    assert heard.of("open", "ant") is None
    heard.note_log_in("ant", FIRST)
    assert heard.of("open", "ant") == Heard(HeardBy.LOG_IN, FIRST)
    assert heard.of("open", "bee") is None


def test_the_log_in_of_the_team_says_more_than_a_request_from_its_network() -> None:
    clock = DrivenClock()
    heard = boards(clock)
    heard.note_request(SECOND)
    heard.note_log_in("bee", SECOND)
    assert heard.of("two", "bee") == Heard(HeardBy.LOG_IN, SECOND)
