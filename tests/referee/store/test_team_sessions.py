"""Sessions of teams' own pages: each is valid on its own, until its end, its log-out, or a change of its team."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from referee.errors import RefereeError
from referee.store import Store
from referee.store.team_table import MOST_SESSIONS, SESSION_LIFETIME
from tests.referee.factories import START

END = START + SESSION_LIFETIME
SECOND = timedelta(seconds=1)


@pytest.fixture
def teams(store: Store) -> Store:
    for team in ("Anna", "Berta"):
        store.teams.add(team, "hash", START)
    store.teams.begin_session("Anna", "a", END)
    store.teams.begin_session("Anna", "b", END)
    store.teams.begin_session("Berta", "c", END)
    return store


def valid(store: Store) -> list[str]:
    return [
        mark
        for team, mark in (("Anna", "a"), ("Anna", "b"), ("Berta", "c"))
        if store.teams.has_session(team, mark, START)
    ]


def test_a_session_is_its_team_s_until_its_end(teams: Store) -> None:
    assert teams.teams.has_session("Anna", "a", END - SECOND)
    assert not teams.teams.has_session("Anna", "a", END)
    assert not teams.teams.has_session("Berta", "a", START)
    assert not teams.teams.has_session("Anna", "d", START)


def test_a_log_out_ends_one_session_and_a_change_of_the_team_all_of_its(
    teams: Store,
) -> None:
    teams.teams.end_session("a")
    assert valid(teams) == ["b", "c"]
    teams.teams.set_password("Anna", "another hash")
    assert valid(teams) == ["c"]
    teams.teams.set_disabled("Berta", disabled=True)
    assert valid(teams) == []


def test_a_database_that_was_copied_has_no_session(teams: Store) -> None:
    teams.operators.end_all_sessions()
    assert valid(teams) == []


def test_a_team_has_a_bounded_number_of_sessions_and_the_oldest_ends_first(
    teams: Store,
) -> None:
    for number in range(MOST_SESSIONS):
        end = END + (number + 1) * SECOND
        teams.teams.begin_session("Anna", f"new {number}", end)
    assert valid(teams) == ["c"]
    assert teams.teams.has_session("Anna", "new 0", START)
    later = END + SESSION_LIFETIME + 50 * SECOND
    teams.teams.begin_session("Berta", "later", later)
    count = "SELECT count(*) AS n FROM team_sessions"
    kept = teams.database.rows(count)[0]["n"]
    assert kept == MOST_SESSIONS - 50 + 1, "what has expired is removed"


def test_of_questions_asked_at_once_no_more_are_taken_than_may_wait(
    teams: Store,
) -> None:
    def ask(number: int) -> bool:
        try:
            teams.questions.ask("Anna", f"Question {number}", START, most_open=3)
        except RefereeError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        taken = [*threads.map(ask, range(16))]
    assert taken.count(True) == 3
    assert len(teams.questions.all()) == 3
