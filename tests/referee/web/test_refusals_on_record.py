"""Who was refused, when, from where and why: on record within a second, also in a flood, at no one else's cost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from referee.contest import read_secrets
from referee.store import Store, refusal_table
from referee.store.records import Refusal
from referee.web.refused_requests import MOST_ALIKE, MOST_OF_ADDRESS, OTHERS, Refusals
from tests.contest_day import PASSWORD, TEAM, Day, until
from tests.referee.factories import DrivenClock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "contest.db", create=True)) as opened:
        yield opened


def note(
    refusals: Refusals,
    address: str = "10.0.0.1",
    team: str | None = TEAM,
    code: str = "not-armed",
) -> None:
    refusals.note(409, code, "No run is armed.", team, None, address)


def test_those_that_are_alike_within_a_minute_are_one_with_a_count(
    store: Store,
) -> None:
    clock = DrivenClock()
    refusals = Refusals(store, clock)
    for _ in range(3):
        note(refusals)
    note(refusals, team="bee")
    refusals.store_new()
    note(refusals)
    refusals.store_new()
    found = {one.team: one for one in store.refusals.newest(10)}
    assert {team: one.count for team, one in found.items()} == {TEAM: 4, "bee": 1}
    assert found[TEAM].first_utc < found[TEAM].utc
    clock.advance(61)
    refusals.store_new()
    note(refusals)
    refusals.store_new()
    assert [one.count for one in store.refusals.newest(10) if one.team == TEAM] == [
        1,
        4,
    ]


def test_whoever_floods_with_names_is_counted_by_his_address_and_hides_no_one_else(
    store: Store,
) -> None:
    refusals = Refusals(store, DrivenClock())
    for number in range(10_000):
        note(refusals, team=f"team {number}" * 50)
    note(refusals, "10.0.0.2")
    refusals.store_new()
    found = store.refusals.newest(MOST_ALIKE)
    assert len(found) == MOST_OF_ADDRESS + 2
    assert sum(one.count for one in found) == 10_001
    assert [one.count for one in found if one.address == "10.0.0.2"] == [1]
    assert max(len(one.team or "") for one in found) == 100


def test_however_many_addresses_there_are_the_rows_are_bounded(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusal_table, "MOST_REFUSALS", 2 * MOST_ALIKE)
    clock = DrivenClock()
    refusals = Refusals(store, clock)
    for minute in range(4):
        for number in range(MOST_ALIKE + 100):
            note(refusals, f"10.{minute}.{number // 250}.{number % 250}")
        refusals.store_new()
        assert (
            next(
                one.count
                for one in store.refusals.newest(10_000)
                if one.address == OTHERS
            )
            == 100
        )
        clock.advance(61)
        refusals.store_new()
    assert len(store.refusals.newest(10_000)) == 2 * MOST_ALIKE


def test_the_newest_is_first_also_after_the_clock_was_set_back_and_a_strange_name_is_stored(
    store: Store,
) -> None:
    refusals = Refusals(store, DrivenClock())
    later = Refusal(
        "2099",
        "2099",
        1,
        "not-armed",
        409,
        TEAM,
        None,
        "10.0.0.1",
        "No run is armed.",
    )
    store.refusals.keep([(None, later)])
    note(refusals, team="half \ud800")
    refusals.store_new()
    assert [one.team for one in store.refusals.newest(1)] == ["half ?"]


def test_what_cannot_be_stored_is_kept_for_the_next_time(
    store: Store,
    tmp_path: Path,
    short_lock_timeout: None,
) -> None:
    refusals = Refusals(store, DrivenClock())
    note(refusals)
    moved = (tmp_path / "contest.db").rename(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="was removed"):
        refusals.store_new()
    moved.rename(tmp_path / "contest.db")
    note(refusals)
    refusals.store_new()
    assert [one.count for one in store.refusals.newest(10)] == [2]


def test_every_kind_of_refusal_names_team_run_address_and_reason(
    day: Callable[..., Day],
) -> None:
    made = day(teams=(TEAM, "bee"))
    assert made.server is not None
    ask = made.server.ask
    token = made.login()["token"]
    made.server.raw(
        b"POST /v1/detections HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    )
    ask("POST", "/v1/session", json={"team": TEAM, "password": "wrong"})
    # The only station has a run.
    ask(
        "POST",
        "/v1/session",
        json={"team": "bee", "password": PASSWORD},
    )
    ask("POST", "/login", data={"username": "bee", "password": "wrong"})
    made.post(token, [[99, 1, 0.5, 0, 0, 5, 5]])
    ask("GET", "/v1/images/99", token)
    ask("GET", "/v1/session", token + "x")
    ask("POST", "/operator/runs", "guess", json={"team": "bee"})
    ask("GET", "/nowhere")
    made.server.ask(
        "POST",
        "/operator/runs",
        read_secrets(made.folder)[1].hex(),
        json={"team": "bee"},
    )
    ask("DELETE", "/v1/session", token)
    made.post(token)
    expected = {
        (401, "token-missing", None, None),
        (401, "bad-credentials", TEAM, None),
        (409, "station-busy", "bee", None),
        (401, "bad-credentials", "bee", None),
        (422, "bad-rows", TEAM, 1),
        (404, "image-unknown", TEAM, 1),
        (401, "bad-token", None, None),
        (409, "window-closed", TEAM, 1),
    }

    def found() -> list[Refusal]:
        with made.store() as store:
            return list(store.refusals.newest(50))

    until(lambda: len(found()) >= len(expected))
    assert {(one.status, one.code, one.team, one.run) for one in found()} == expected
    assert {one.address for one in found()} == {"127.0.0.1"}
    assert next(one for one in found() if one.code == "bad-token").count == 2
    log = (made.folder / "server.log").read_text()
    assert "refused 127.0.0.1 (team 'ant', run 1): 422 bad-rows: " in log


def test_two_thousand_refused_requests_are_one_row_and_one_line_and_lose_no_post_of_a_team(
    hall: Day,
    token: str,
) -> None:
    assert hall.server is not None
    refused = b"POST /v1/detections HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nAuthorization: Bearer no\r\n\r\n"
    log = hall.folder / "server.log"
    logged = len(log.read_text())
    posts = 0
    flood = threading.Thread(target=send, args=(hall.server.port, refused, 2_000))
    flood.start()
    while flood.is_alive() or not posts:
        assert hall.post(token).status_code == 202
        posts += 1

    def kept() -> list[Refusal]:
        with hall.store() as store:
            return [
                one for one in store.refusals.newest(5000) if one.code == "bad-token"
            ]

    until(lambda: sum(one.count for one in kept()) == 2_000)
    assert len(kept()) <= 2  # a minute may begin in between
    assert len(log.read_text()) - logged < 500


def send(port: int, request: bytes, times: int) -> None:
    """Send a request so many times, a hundred at once, and read what is answered."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(times // 100):
            connection.sendall(request * 100)
            answered = b""
            while answered.count(b"HTTP/1.1 401") < 100 or not answered.endswith(b"}"):
                answered += connection.recv(2**16)
