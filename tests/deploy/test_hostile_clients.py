"""Whatever hostile clients do to nginx, the other users' images, POSTs and log-ins are answered in time."""

from __future__ import annotations

import http.client
import json
import select
import socket
from contextlib import suppress
from urllib.parse import urlencode

import pytest

from tests.contest_day import PASSWORD, ROWS, TEAM, until
from tests.deploy.deployment import (
    Attackers,
    Deployment,
    User,
    begun,
    head,
    read_answer,
    until_all_ended,
)

IDLE = 2000
HALF_HEADS = 4000  # 17,500 were measured: docs/decisions/0020
LIMIT = 64  # requests of one address at a time
BURST = 20  # log-ins of one address at once
LARGE = 5 * 2**20


def answered(connections: list[socket.socket]) -> list[int]:
    """The status of each answer that has come by now; nginx waits for the rest of the other requests."""
    ready = [one for one in connections if select.select([one], [], [], 0)[0]]
    return [begun(one).status for one in ready]


def test_2000_idle_connections_hold_up_no_one(attackers: Attackers, user: User) -> None:
    for n in range(IDLE):
        attackers.connect(f"127.0.2.{n % 4 + 1}")
    user.notices_nothing()


def test_4000_half_heads_hold_up_no_old_client_and_no_log_in(
    deployment: Deployment,
    attackers: Attackers,
    user: User,
) -> None:
    for n in range(HALF_HEADS):
        attackers.connect(f"127.0.2.{n % 10 + 1}", b"GET /v1/health HTTP/1.1\r\nHo")
    user.notices_nothing()
    token = urlencode({"token": deployment.other_token}).encode()
    for path, method in (
        ("/verify", "POST"),
        ("/image", "GET"),
    ):
        old = deployment.ask(user.address, method, path, body=token + b"&image_name=1")
        assert old.status == 200, old
    login = urlencode({"username": TEAM, "password": PASSWORD}).encode()
    assert deployment.ask("127.0.2.11", "POST", "/login", body=login).status == 200


@pytest.mark.slow
def test_heads_and_bodies_that_stop_hold_up_no_one_and_are_ended(
    deployment: Deployment,
    attackers: Attackers,
    user: User,
) -> None:
    before = deployment.accepted(deployment.token)
    heads = [
        attackers.connect(f"127.0.2.{n % 4 + 1}", b"GET /v1/health HTTP/1.1\r\nHo")
        for n in range(300)
    ]
    body = head("POST", "/v1/detections", deployment.token, 500) + b"1 1 .5 0 0 5 5\n"
    bodies = [attackers.connect(f"127.0.2.{n % 4 + 1}", body) for n in range(40)]
    user.notices_nothing()
    until_all_ended(heads + bodies)
    assert deployment.accepted(deployment.token) == before


@pytest.mark.parametrize("path", ["/v1/session", "/login", "/result", "/v1/detections"])
def test_bodies_of_strangers_that_stop_never_reach_the_referee(
    attackers: Attackers,
    user: User,
    path: str,
) -> None:
    stalled = [
        attackers.connect(
            f"127.0.3.{n % 8 + 1}",
            head("POST", path, length=60_000) + b"x" * 100,
        )
        for n in range(400)
    ]
    user.notices_nothing()
    refused = answered(stalled)
    assert len(stalled) - len(refused) <= 8 * LIMIT
    assert set(refused) <= {500 if path == "/login" else 429}


def test_bodies_of_a_run_that_stop_hold_up_only_the_address_they_come_from(
    deployment: Deployment,
    attackers: Attackers,
    user: User,
) -> None:
    before = deployment.accepted(deployment.token)
    stalled_head = head("POST", "/v1/detections", deployment.token, 500)
    stalled = [
        attackers.connect("127.0.4.1", stalled_head + b"1 1") for _ in range(LIMIT + 10)
    ]
    user.notices_nothing()
    assert answered(stalled) == [429] * 10
    refused = deployment.ask("127.0.4.1", "GET", "/v1/session", deployment.token)
    assert refused.problem() == (429, "too-many-requests")
    assert refused.headers["retry-after"] == "1"
    posted = deployment.ask(
        "127.0.4.2",
        "POST",
        "/v1/detections",
        deployment.token,
        body=ROWS,
    )
    assert posted.status == 202
    assert deployment.accepted(deployment.token) == before + len(ROWS)
    for one in stalled:
        one.close()
    until(
        lambda: (
            deployment.ask("127.0.4.1", "GET", "/v1/session", deployment.token).status
            == 200
        )
    )


def test_batches_that_no_one_reads_hold_up_only_their_own_run(
    deployment: Deployment,
    attackers: Attackers,
    user: User,
) -> None:
    batch = head("GET", "/v1/images", deployment.token)
    unread = [
        attackers.connect(f"127.0.5.{n % 2 + 1}", batch, receive_buffer=2048)
        for n in range(60)
    ]
    told = {begun(one).status for one in unread}
    assert {200} <= told <= {200, 429}
    user.notices_nothing()
    pair = deployment.ask(
        "127.0.5.1",
        "GET",
        "/v1/images?count=2",
        deployment.other_token,
    )
    assert pair.status == 200
    assert len(pair.body) == int(pair.headers["content-length"])
    for one in unread:
        one.close()
    until(
        lambda: (
            deployment.ask(
                "127.0.5.1",
                "GET",
                "/v1/images?count=2",
                deployment.token,
            ).status
            == 200
        )
    )


@pytest.mark.parametrize(
    ("path", "guess", "refused"),
    [
        (
            "/v1/session",
            json.dumps({"team": TEAM, "password": "guess"}),
            (429, b'"too-many-logins"'),
        ),
        (
            "/login",
            urlencode({"username": TEAM, "password": "guess"}),
            (500, b"Powermeter not connected\n"),
        ),
        (
            "/get_token",
            urlencode({"username": TEAM}),
            (500, b"Powermeter not connected\n"),
        ),
    ],
)
def test_a_flood_of_log_ins_is_refused_and_holds_up_no_one(
    attackers: Attackers,
    user: User,
    path: str,
    guess: str,
    refused: tuple[int, bytes],
) -> None:
    address = f"127.0.6.{1 + len(path)}"
    request = head("POST", path, length=len(guess)) + guess.encode()
    guesses = [attackers.connect(address, request) for _ in range(BURST * 3)]
    user.notices_nothing()
    told = [read_answer(begun(one)) for one in guesses]
    status, text = refused
    over = [
        answer for answer in told if answer.status == status and text in answer.body
    ]
    assert len(over) >= BURST
    assert status != 429 or {answer.headers["retry-after"] for answer in over} == {"1"}


def test_guesses_at_the_entries_are_limited_and_use_up_no_log_ins(
    deployment: Deployment,
    attackers: Attackers,
) -> None:
    address = "127.0.6.40"
    asked = head("GET", "/v1/entries")
    guess = asked.replace(
        b"\r\n\r\n",
        b"\r\nAuthorization: Basic Z3Vlc3M6Z3Vlc3M=\r\n\r\n",
    )
    answers = [
        read_answer(begun(one))
        for one in [
            attackers.connect(address, request) for request in [guess] * (BURST * 2)
        ]
    ]
    assert sum(b'"too-many-logins"' in answer.body for answer in answers) >= BURST // 2
    body = json.dumps({"team": "nobody", "password": "guess"}).encode()
    assert deployment.ask(address, "POST", "/v1/session", body=body).status == 401
    by_token = [
        deployment.ask(address, "GET", "/v1/entries", deployment.token).status
        for _ in range(BURST * 2)
    ]
    assert set(by_token) == {200}


def test_a_body_that_is_too_large_is_refused_also_to_a_client_that_sends_all_of_it(
    deployment: Deployment,
    attackers: Attackers,
    user: User,
) -> None:
    content = b"1 1 .5 0 0 5 5\n" * (LARGE // 15 + 1)
    for token in (deployment.token, "nonsense", None):
        answer = deployment.ask(
            "127.0.7.1",
            "POST",
            "/v1/detections",
            token,
            body=content,
        )
        assert answer.problem() == (413, "too-large")
    announced = [
        attackers.connect("127.0.7.1", head("POST", "/result", deployment.token, 2**40))
        for _ in range(LIMIT * 2)
    ]
    user.notices_nothing()
    assert {begun(one).status for one in announced} == {413}


def test_bodies_that_are_refused_unread_break_no_connection_of_another_user(
    deployment: Deployment,
    user: User,
) -> None:
    for _ in range(10):
        refused = deployment.ask(
            "127.0.7.3",
            "POST",
            "/v1/detections",
            "nonsense",
            body=b" " * 2**18,
        )
        # The referee answers before it has read all; nginx may still be sending, and then misses the answer.
        assert refused.problem() in (
            (401, "bad-token"),
            (502, "no-answer"),
        )
        with suppress(BrokenPipeError, ConnectionResetError):
            deployment.ask(
                "127.0.7.3",
                "GET",
                "/v1/images/1",
                "nonsense",
                body=b" " * 2**22,
            )
        posted = deployment.ask(
            "127.0.7.4",
            "POST",
            "/v1/detections",
            deployment.token,
            body=ROWS,
        )
        assert posted.status == 202
    user.notices_nothing()


@pytest.mark.parametrize(
    "name",
    ["X-Forwarded-For", "x-forwarded-for", "X_Forwarded_For"],
)
def test_a_client_cannot_pretend_to_be_another_one(
    deployment: Deployment,
    user: User,
    name: str,
) -> None:
    address = f"127.0.7.{10 + len(name) + name.count('_') + name.count('X')}"
    guess = {"team": TEAM, "password": "guess"}
    told = [
        deployment.ask(
            address,
            "POST",
            "/v1/session",
            body=guess,
            **{name: f"127.0.8.{n}", "Forwarded": "for=1.2.3.4"},
        )
        for n in range(11)
    ]
    assert [answer.status for answer in told] == [401] * 10 + [429]
    assert told[-1].problem() == (429, "too-many-failures")
    user.notices_nothing()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"y" * 1_000_000,
        b"GET /" + b"y" * 1_000_000,
        b"GET / HTTP/1.1\r\n"
        + b"".join(b"X-%d: y\r\n" % n for n in range(5000))
        + b"\r\n",
        b"\0" * 10_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n".encode("utf-16"),
        b"POST /v1/detections HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=["header", "path", "headers", "zeros", "http2", "tls", "utf-16", "two lengths"],
)
def test_what_is_not_a_request_is_refused(
    attackers: Attackers,
    user: User,
    sent: bytes,
) -> None:
    # It may just be closed.
    with suppress(
        BrokenPipeError,
        ConnectionResetError,
        http.client.BadStatusLine,
    ):
        assert begun(attackers.connect("127.0.7.2", sent)).status in (400, 414, 505)
    user.notices_nothing()
