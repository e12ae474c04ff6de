"""The console's log-in: by the key or a password, a session with a CSRF token, which ends with what it is by."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import requests

from referee.auth.passwords import hash_password
from referee.auth.tokens import OperatorSession, csrf_token, issue_operator, stamp
from referee.clock import Clock
from referee.contest import read_secrets
from referee.web.state import UNAUTHENTICATED_AT_ONCE
from tests.contest_day import HASH, PASSWORD, Day, problem, until

COOKIE = "referee-operator"


def log_in(day: Day, name: str, password: str, **headers: str) -> requests.Response:
    """A new session, or the way back to the log-in with the code of the refusal."""
    assert day.server is not None
    form = {"name": name, "password": password}
    return day.server.ask("POST", "/operator/login", None, headers, data=form, allow_redirects=False)


def ask(
    day: Day, cookie: str, method: str, path: str, csrf: str | None = None, **more: object
) -> requests.Response:
    assert day.server is not None
    headers = {"Cookie": f"{COOKIE}={cookie}"} | ({} if csrf is None else {"X-CSRF-Token": csrf})
    return day.server.ask(method, path, None, headers, **more)


def csrf_of(folder: Path, cookie: str) -> str:
    return csrf_token(read_secrets(folder)[0], cookie)


@pytest.fixture(scope="module")
def key(hall: Day) -> str:
    return read_secrets(hall.folder)[1].hex()


@pytest.fixture
def cookie(hall: Day) -> str:
    """Of a session of eve's, who is registered."""
    with hall.store() as store:
        if "eve" not in store.operators():
            store.add_operator("eve", HASH, Clock().utc())
    return log_in(hall, "eve", PASSWORD).cookies[COOKIE]


def test_a_session_by_the_key_or_a_password_may_do_what_the_key_may(hall: Day, key: str, cookie: str) -> None:
    for one, name in ((cookie, "eve"), (log_in(hall, "", key).cookies[COOKIE], "key")):
        assert ask(hall, one, "GET", "/operator/status").json()["contest"] == "Test day"
        told = ask(
            hall, one, "POST", "/operator/announcements", csrf_of(hall.folder, one), json={"text": "Hello"}
        )
        assert told.status_code == 201
        newest = ask(hall, one, "GET", "/operator/status").json()
        assert newest["announcements"][0]["operator"] == name
        assert newest["events"][0]["detail"] == {
            "operator": name, "address": "127.0.0.1", "action": "announce",
            "announcement": told.json()["id"], "text": "Hello",
        }  # fmt: skip


def test_the_cookie_is_out_of_reach_for_scripts_and_foreign_pages(hall: Day, key: str) -> None:
    given = log_in(hall, "eve", key, Accept="text/html")
    assert (given.status_code, given.headers["Location"]) == (303, "/operator/")
    attributes = set(given.headers["Set-Cookie"].split("; ")[1:])
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= attributes
    assert "Secure" not in attributes
    behind_tls = log_in(hall, "eve", key, **{"X-Forwarded-Proto": "https"})
    assert "Secure" in behind_tls.headers["Set-Cookie"].split("; ")


def test_after_a_log_in_one_goes_on_where_one_was_but_never_to_another_host(hall: Day, key: str) -> None:
    assert hall.server is not None
    for wanted, reached in (
        ("/display/station-1", "/display/station-1"),
        ("//evil.example/", "/operator/"),
        ("https://evil.example/", "/operator/"),
        ("/\\evil.example/", "/operator/"),
        ("/\t/evil.example/", "/operator/"),  # browsers leave the tab out
        ("/operator/\nSet-Cookie: a=b", "/operator/"),
    ):
        form = {"name": "", "password": key, "next": wanted}
        answer = hall.server.ask("POST", "/operator/login", data=form, allow_redirects=False)
        assert answer.headers["Location"] == reached


def test_without_its_csrf_token_a_session_changes_nothing(hall: Day, cookie: str) -> None:
    other = csrf_of(hall.folder, cookie[:-1])
    for csrf in (None, "", other):
        answer = ask(hall, cookie, "POST", "/operator/announcements", csrf, json={"text": "mischief"})
        assert "X-CSRF-Token" in problem(answer, 401, "bad-token")["detail"]
    assert hall.server is not None
    headers = {
        "Cookie": f"{COOKIE}={cookie}",
        "Authorization": "Basic eDp5",
    }  # as a browser sends for a proxy
    assert hall.server.ask("POST", "/operator/queue/draw", None, headers).status_code == 401
    assert ask(hall, cookie, "POST", "/operator/logout").status_code == 401


def test_a_forged_an_old_and_a_foreign_session_are_refused(hall: Day, cookie: str) -> None:
    secret, _ = read_secrets(hall.folder)
    now_s = Clock().utc().timestamp()
    right = stamp(secret, HASH)
    for forged in (
        "x",
        cookie[:-2] + ("A" if cookie[-2] != "A" else "B") + cookie[-1],
        issue_operator(bytes(32), OperatorSession("eve", right, now_s + 60)),
        issue_operator(secret, OperatorSession("eve", right, now_s - 1)),
        issue_operator(secret, OperatorSession("eve", stamp(secret, "another"), now_s + 60)),
        issue_operator(secret, OperatorSession("mallory", right, now_s + 60)),
        issue_operator(secret, OperatorSession("eve", right, now_s + 60, by_key=True)),
    ):
        problem(ask(hall, forged, "GET", "/operator/status"), 401, "bad-token")


def test_a_session_ends_when_the_operator_is_removed_or_gets_another_password(hall: Day) -> None:
    with hall.store() as store:
        for name in ("removed", "changed"):
            store.add_operator(name, HASH, Clock().utc())
    cookies = {name: log_in(hall, name, PASSWORD).cookies[COOKIE] for name in ("removed", "changed")}
    with hall.store() as store:
        for name in cookies:
            assert ask(hall, cookies[name], "GET", "/operator/status").status_code == 200
            store.remove_operator(name)
        store.add_operator("changed", hash_password("another"), Clock().utc())
    for one in cookies.values():
        assert ask(hall, one, "GET", "/operator/status").status_code == 401


def test_a_log_out_ends_the_session_also_for_a_copy_of_its_cookie(hall: Day, cookie: str) -> None:
    csrf = csrf_of(hall.folder, cookie)
    assert ask(hall, cookie, "POST", "/operator/logout", csrf, allow_redirects=False).status_code == 303
    problem(ask(hall, cookie, "GET", "/operator/status"), 401, "bad-token")
    problem(ask(hall, cookie, "POST", "/operator/queue/draw", csrf), 401, "bad-token")
    with hall.store() as store:
        _, newest = store.events_after(0, 1)
    assert newest[0]["detail"] == {"operator": "eve", "address": "127.0.0.1", "action": "log-out"}


def test_log_ins_that_fail_are_limited_on_record_and_lead_a_browser_back(hall: Day) -> None:
    def refused(name: str, password: str) -> str:
        back = log_in(hall, name, password)
        assert COOKIE not in back.cookies
        return back.headers["Location"].removeprefix("/operator/login?refused=").partition("&")[0]

    assert [refused("mallory", "wrong") for _ in range(11)] == ["bad-credentials"] * 10 + [
        "too-many-failures"
    ]
    assert refused("ant", PASSWORD) == "bad-credentials", "a team is no operator"

    def counts() -> dict[str, int]:
        with hall.store() as store:
            return {one.code: one.count for one in store.refusals(50) if one.team == "operator mallory"}

    until(lambda: counts() == {"bad-credentials": 10, "too-many-failures": 1})


def test_one_host_keeps_no_operator_from_logging_in(hall: Day, key: str) -> None:
    assert hall.server is not None
    held = []
    try:
        for _ in range(UNAUTHENTICATED_AT_ONCE + 10):
            connection = socket.create_connection(
                ("127.0.0.1", hall.server.port), source_address=("127.0.0.9", 0)
            )
            connection.sendall(b"POST /operator/login HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nn")
            held.append(connection)

        def is_refused() -> bool:
            with socket.create_connection(
                ("127.0.0.1", hall.server.port), source_address=("127.0.0.9", 0)
            ) as one:
                one.sendall(b"GET /v1/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                return one.recv(100).startswith(b"HTTP/1.1 429")

        until(is_refused)
        assert hall.server.ask("GET", "/operator/login").status_code == 200
        assert COOKIE in log_in(hall, "", key).cookies
    finally:
        for connection in held:
            connection.close()


def test_a_session_counts_on_the_operator_s_slots(hall: Day, cookie: str) -> None:
    """While 128 others hold every slot that is not the operator's, the console is answered."""
    assert hall.server is not None
    held = []
    try:
        for _ in range(140):
            connection = socket.create_connection(("127.0.0.1", hall.server.port))
            connection.sendall(b"POST /v1/session HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{")
            held.append(connection)
        until(lambda: hall.server and hall.server.ask("GET", "/v1/health").status_code == 429)
        assert ask(hall, cookie, "GET", "/operator/status").status_code == 200
    finally:
        for connection in held:
            connection.close()
