"""The console's log-in: by the key or a password, a session with a CSRF token, which ends with what it is by."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import requests

from referee.auth.passwords import hash_password
from referee.auth.tokens import OperatorSession, csrf_token, issue_operator, stamp
from referee.clock import Clock
from referee.contest import read_secrets
from referee.web.concurrency_limits import UNAUTHENTICATED_AT_ONCE
from tests.contest_day import HASH, PASSWORD, Day, called, problem, until
from tests.referee.web.team.team_sessions import team_browser

COOKIE = "referee-operator"


def log_in(
    day: Day,
    name: str,
    password: str,
    **headers: str,
) -> requests.Response:
    """A new session, or the way back to the log-in with the code of the refusal."""
    assert day.server is not None
    form = {"name": name, "password": password}
    return day.server.ask(
        "POST",
        "/operator/login",
        None,
        headers,
        data=form,
        allow_redirects=False,
    )


def ask(
    day: Day,
    cookie: str,
    method: str,
    path: str,
    csrf: str | None = None,
    **more: object,
) -> requests.Response:
    assert day.server is not None
    headers = {"Cookie": f"{COOKIE}={cookie}"} | (
        {} if csrf is None else {"X-CSRF-Token": csrf}
    )
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
        if "eve" not in store.operators.password_hashes():
            store.operators.add("eve", HASH, Clock().utc())
    return log_in(hall, "eve", PASSWORD).cookies[COOKIE]


def test_a_session_by_the_key_or_a_password_may_do_what_the_key_may(
    hall: Day,
    key: str,
    cookie: str,
) -> None:
    for one, name in (
        (cookie, "eve"),
        (log_in(hall, "", key).cookies[COOKIE], "key"),
    ):
        assert ask(hall, one, "GET", "/operator/status").json()["contest"] == "Test day"
        told = ask(
            hall,
            one,
            "POST",
            "/operator/announcements",
            csrf_of(hall.folder, one),
            json={"text": "Hello"},
        )
        assert told.status_code == 201
        newest = ask(hall, one, "GET", "/operator/status").json()
        assert newest["announcements"][0]["operator"] == name
        assert newest["events"][0]["detail"] == {
            "operator": name, "address": "127.0.0.1", "action": "announce",
            "announcement": told.json()["id"], "text": "Hello",
        }  # fmt: skip


def test_the_cookie_is_out_of_reach_for_scripts_and_foreign_pages(
    hall: Day,
    key: str,
) -> None:
    given = log_in(hall, "eve", key, Accept="text/html")
    assert given.status_code == 303
    assert given.headers["Location"] == "/operator/"
    attributes = set(given.headers["Set-Cookie"].split("; ")[1:])
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= attributes
    assert "Secure" not in attributes
    behind_tls = log_in(hall, "eve", key, **{"X-Forwarded-Proto": "https"})
    assert "Secure" in behind_tls.headers["Set-Cookie"].split("; ")


def test_after_a_log_in_one_goes_on_where_one_was_but_never_to_another_host(
    hall: Day,
    key: str,
) -> None:
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
        answer = hall.server.ask(
            "POST",
            "/operator/login",
            data=form,
            allow_redirects=False,
        )
        assert answer.headers["Location"] == reached


def test_without_its_csrf_token_a_session_changes_nothing(
    hall: Day,
    cookie: str,
) -> None:
    other = csrf_of(hall.folder, cookie[:-1])
    for csrf in (None, "", other):
        answer = ask(
            hall,
            cookie,
            "POST",
            "/operator/announcements",
            csrf,
            json={"text": "mischief"},
        )
        assert "X-CSRF-Token" in problem(answer, 401, "bad-token")["detail"]
    assert hall.server is not None
    # As a browser sends for a proxy.
    headers = {
        "Cookie": f"{COOKIE}={cookie}",
        "Authorization": "Basic eDp5",
    }
    status_code = hall.server.ask(
        "POST",
        "/operator/queue/draw",
        None,
        headers,
    ).status_code
    assert status_code == 401
    assert ask(hall, cookie, "POST", "/operator/logout").status_code == 401


def test_a_forged_an_old_and_a_foreign_session_are_refused(
    hall: Day,
    cookie: str,
) -> None:
    secret, _ = read_secrets(hall.folder)
    now_s = Clock().utc().timestamp()
    right = stamp(secret, HASH)
    with hall.store() as store:
        generation = str(store.operators.session_generation("eve"))
    for forged in (
        "x",
        cookie[:-2] + ("A" if cookie[-2] != "A" else "B") + cookie[-1],
        issue_operator(
            bytes(32),
            OperatorSession("eve", right, generation, now_s + 60),
        ),
        issue_operator(secret, OperatorSession("eve", right, generation, now_s - 1)),
        issue_operator(secret, OperatorSession("eve", right, "another", now_s + 60)),
        issue_operator(
            secret,
            OperatorSession("eve", stamp(secret, "another"), generation, now_s + 60),
        ),
        issue_operator(
            secret,
            OperatorSession("mallory", right, generation, now_s + 60),
        ),
        issue_operator(
            secret,
            OperatorSession("eve", right, generation, now_s + 60, by_key=True),
        ),
    ):
        problem(ask(hall, forged, "GET", "/operator/status"), 401, "bad-token")


def test_a_session_ends_when_the_operator_is_removed_or_gets_another_password(
    hall: Day,
) -> None:
    with hall.store() as store:
        for name in ("removed", "changed"):
            store.operators.add(name, HASH, Clock().utc())
    cookies = {
        name: log_in(hall, name, PASSWORD).cookies[COOKIE]
        for name in ("removed", "changed")
    }
    with hall.store() as store:
        for name in cookies:
            status_code = ask(
                hall,
                cookies[name],
                "GET",
                "/operator/status",
            ).status_code
            assert status_code == 200
            store.operators.remove(name)
        store.operators.add("changed", hash_password("another"), Clock().utc())
        # Registered again, by the same password.
        store.operators.add(
            "removed",
            HASH,
            Clock().utc(),
        )
    for one in cookies.values():
        assert ask(hall, one, "GET", "/operator/status").status_code == 401


def test_a_log_out_ends_the_session_also_for_a_copy_of_its_cookie(
    hall: Day,
    cookie: str,
) -> None:
    csrf = csrf_of(hall.folder, cookie)
    status_code = ask(
        hall,
        cookie,
        "POST",
        "/operator/logout",
        csrf,
        allow_redirects=False,
    ).status_code
    assert status_code == 303
    problem(ask(hall, cookie, "GET", "/operator/status"), 401, "bad-token")
    problem(ask(hall, cookie, "POST", "/operator/queue/draw", csrf), 401, "bad-token")
    with hall.store() as store:
        _, newest = store.log.newest_after(0, 1)
    assert newest[0]["detail"] == {
        "operator": "eve",
        "address": "127.0.0.1",
        "action": "log-out",
    }


def test_a_log_out_ends_all_sessions_of_that_operator_and_no_restart_revives_one(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    made = day()
    with made.store() as store:
        for name in ("eve", "bob"):
            store.operators.add(name, HASH, Clock().utc())
    key = read_secrets(made.folder)[1].hex()
    eve, also_eve, bob = (
        log_in(made, name, PASSWORD).cookies[COOKIE] for name in ("eve", "eve", "bob")
    )
    by_key = log_in(made, "eve", key).cookies[COOKIE]
    backup = tmp_path / "backup.zip"
    restored = tmp_path / "restored"
    returncode = called(
        "backup", str(made.folder), "-o", str(backup), "--with-keys"
    ).returncode
    assert returncode == 0

    left = ask(
        made,
        eve,
        "POST",
        "/operator/logout",
        csrf_of(made.folder, eve),
        allow_redirects=False,
    )
    assert left.status_code == 303
    statuses = [
        (eve, 401),
        (also_eve, 401),
        (bob, 200),
        (by_key, 200),
    ]
    for _ in range(2):
        for cookie, status in statuses:
            assert ask(made, cookie, "GET", "/operator/status").status_code == status
        assert made.server is not None
        assert made.server.end() == 0
        made.serve()
    again = log_in(made, "eve", PASSWORD).cookies[COOKIE]
    for cookie, status in [*statuses, (again, 200)]:
        assert ask(made, cookie, "GET", "/operator/status").status_code == status
    assert made.server.end() == 0

    assert called("restore", str(backup), str(restored)).returncode == 0
    made.folder = restored
    made.serve()
    for cookie in (eve, also_eve, bob, by_key, again):
        problem(ask(made, cookie, "GET", "/operator/status"), 401, "bad-token")
    new = log_in(made, "eve", PASSWORD).cookies[COOKIE]
    assert ask(made, new, "GET", "/operator/status").status_code == 200


def test_a_log_out_that_cannot_be_stored_is_refused_and_not_only_said(
    hall: Day,
    cookie: str,
) -> None:
    csrf = csrf_of(hall.folder, cookie)
    with closing(sqlite3.connect(hall.folder / "contest.db")) as database:
        broken = "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN INSERT INTO nowhere VALUES (1); END"
        database.execute(broken)
        database.commit()
        refused = ask(
            hall,
            cookie,
            "POST",
            "/operator/logout",
            csrf,
            allow_redirects=False,
        )
        database.execute("DROP TRIGGER broken")
        database.commit()
    problem(refused, 503, "storage-failed")
    assert "Set-Cookie" not in refused.headers
    status_code = ask(
        hall,
        cookie,
        "POST",
        "/operator/logout",
        csrf,
        allow_redirects=False,
    ).status_code
    assert status_code == 303
    problem(ask(hall, cookie, "GET", "/operator/status"), 401, "bad-token")


def test_an_older_database_that_is_accepted_revives_no_session(
    day: Callable[..., Day],
) -> None:
    made = day()
    with made.store() as store:
        store.operators.add("eve", HASH, Clock().utc())
    cookie = log_in(made, "eve", PASSWORD).cookies[COOKIE]
    assert made.server is not None
    team = team_browser(made.server)
    with closing(sqlite3.connect(made.folder / "contest.db")) as database:
        database.execute("VACUUM INTO ?", (str(made.folder / "copy.db"),))
    ask(
        made,
        cookie,
        "POST",
        "/operator/logout",
        csrf_of(made.folder, cookie),
        allow_redirects=False,
    )
    team.ask("POST", "/team/logout", data={"csrf": team.csrf})
    assert made.server.end() == 0
    for name in ("contest.db-wal", "contest.db-shm"):
        (made.folder / name).unlink(missing_ok=True)
    (made.folder / "copy.db").replace(made.folder / "contest.db")
    assert called("doctor", str(made.folder), "--accept").returncode == 0
    server = made.serve()
    problem(ask(made, cookie, "GET", "/operator/status"), 401, "bad-token")
    of_team = {"Cookie": f"referee-team={team.cookie}"}
    problem(server.ask("GET", "/v1/team", None, of_team), 401, "bad-token")


def test_what_a_holder_of_the_key_does_under_a_name_is_not_taken_for_that_operator_s(
    hall: Day,
    key: str,
    cookie: str,
) -> None:
    """Mallory has the key, types eve's name, and lets the record say what she did."""
    as_eve, nameless = (log_in(hall, name, key).cookies[COOKIE] for name in ("eve", ""))
    assert hall.server is not None
    path = "/operator/announcements"
    user = {"X-Operator-User": "eve"}
    for one in (cookie, as_eve, nameless):
        status_code = ask(
            hall,
            one,
            "POST",
            path,
            csrf_of(hall.folder, one),
            json={"text": "Hi"},
        ).status_code
        assert status_code == 201
    status_code = hall.server.ask(
        "POST",
        path,
        key,
        user,
        json={"text": "Hi"},
    ).status_code
    assert status_code == 201

    status = hall.server.ask("GET", "/operator/status", key).json()
    shown = [one["operator"] for one in status["announcements"][:4]]
    assert shown == ["key as eve", "key", "key as eve", "eve"]
    acts = [
        one["detail"]
        for one in status["events"]
        if one["detail"].get("action") == "announce"
    ][:4]
    proved = [(one["operator"], one.get("user")) for one in acts]
    assert proved == [
        ("key", "eve"),
        ("key", None),
        ("key", "eve"),
        ("eve", None),
    ]
    live = hall.server.ask("GET", "/operator/live", key).text
    log = called("log", str(hall.folder)).stdout.splitlines()
    written = [
        line.split("  by ")[1].split(" at ")[0]
        for line in log
        if "  announce  by " in line
    ][-4:]
    assert written == ["eve", "key as eve", "key", "key as eve"]
    assert live.count("by key as eve") >= 4, (
        "in the lists of announcements and of events"
    )
    log_ins = [
        one["detail"]
        for one in status["events"]
        if one["detail"].get("action") == "log-in"
    ]
    assert ("key", "eve") in {(one["operator"], one.get("user")) for one in log_ins}


def test_no_operator_has_a_name_that_reads_like_the_key(hall: Day) -> None:
    for name in (
        "key",
        "Key ",
        "key as eve",
        "KEY  AS eve",
        "command",
        "command as root",
    ):
        done = called(
            "operator",
            "add",
            name,
            "--contest",
            str(hall.folder),
            LPIRC_PASSWORD=PASSWORD,
        )
        assert (done.returncode, "choose another name" in done.stderr) == (1, True), (
            name
        )
    with hall.store() as store:  # as an earlier version took it
        if "key as eve" not in store.operators.password_hashes():
            store.operators.add("key as eve", HASH, Clock().utc())
    assert COOKIE not in log_in(hall, "key as eve", PASSWORD).cookies
    for name in ("Keyla", "key of the hall", "commander"):
        done = called(
            "operator",
            "add",
            name,
            "--contest",
            str(hall.folder),
            LPIRC_PASSWORD=PASSWORD,
        )
        assert done.returncode == 0, done.stderr


def test_log_ins_that_fail_are_limited_on_record_and_lead_a_browser_back(
    hall: Day,
) -> None:
    def refused(name: str, password: str) -> str:
        back = log_in(hall, name, password)
        assert COOKIE not in back.cookies
        return (
            back.headers["Location"]
            .removeprefix("/operator/login?refused=")
            .partition("&")[0]
        )

    assert [refused("mallory", "wrong") for _ in range(11)] == [
        "bad-credentials"
    ] * 10 + ["too-many-failures"]
    assert refused("ant", PASSWORD) == "bad-credentials", "a team is no operator"

    def counts() -> dict[str, int]:
        with hall.store() as store:
            return {
                one.code: one.count
                for one in store.refusals.newest(50)
                if one.team == "operator mallory"
            }

    until(lambda: counts() == {"bad-credentials": 10, "too-many-failures": 1})


def test_one_host_keeps_no_operator_from_logging_in(hall: Day, key: str) -> None:
    assert hall.server is not None
    held = []
    try:
        for _ in range(UNAUTHENTICATED_AT_ONCE + 10):
            connection = socket.create_connection(
                ("127.0.0.1", hall.server.port),
                source_address=("127.0.0.9", 0),
            )
            connection.sendall(
                b"POST /operator/login HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nn"
            )
            held.append(connection)

        def is_refused() -> bool:
            with socket.create_connection(
                ("127.0.0.1", hall.server.port),
                source_address=("127.0.0.9", 0),
            ) as one:
                one.sendall(
                    b"POST /operator/login HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
                )
                return one.recv(100).startswith(b"HTTP/1.1 429")

        until(is_refused)
        assert hall.server.ask("GET", "/operator/login").status_code == 200
        assert COOKIE in log_in(hall, "", key).cookies
    finally:
        for connection in held:
            connection.close()


def test_a_session_counts_on_the_operator_s_slots(hall: Day, cookie: str) -> None:
    """While others hold every slot of log-ins, the console is answered."""
    assert hall.server is not None
    held = []
    try:
        for _ in range(140):
            connection = socket.create_connection(("127.0.0.1", hall.server.port))
            connection.sendall(
                b"POST /v1/session HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{"
            )
            held.append(connection)
        who = {"team": "no one", "password": "none"}
        until(
            lambda: (
                hall.server
                and hall.server.ask("POST", "/v1/session", json=who).status_code == 429
            )
        )
        assert ask(hall, cookie, "GET", "/operator/status").status_code == 200
    finally:
        for connection in held:
            connection.close()
