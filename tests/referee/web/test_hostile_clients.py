"""What the referee alone does about clients that send nonsense, stop in mid-request or stop reading.

tests/deploy has the tests of many such clients at once, which nginx keeps from the referee.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from http.client import BadStatusLine, HTTPResponse
from pathlib import Path

import pytest

from referee.web.request_bodies import LARGEST_BODY_BYTES, LARGEST_DOCUMENT_BYTES
from tests.contest_day import TIMEOUT_S, Day, Server, contest_day, until
from tests.large_images import IMAGES, large_test_set

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def server(hall: Day) -> Server:
    assert hall.server is not None
    return hall.server


def head(
    method: str,
    path: str,
    token: str | None = None,
    length: int = 0,
) -> bytes:
    bearer = "" if token is None else f"Authorization: Bearer {token}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: {length}\r\n\r\n".encode()


def answer_to(connection: socket.socket) -> HTTPResponse:
    """The answer that a connection gets while it stays open and sends nothing more."""
    answer = HTTPResponse(connection)
    answer.begin()
    return answer


@pytest.mark.parametrize(
    ("path", "token", "length", "status", "code"),
    [
        ("/v1/detections", None, LARGEST_BODY_BYTES, 401, "token-missing"),
        ("/v1/detections", "nonsense", LARGEST_BODY_BYTES, 401, "bad-token"),
        ("/v1/session", None, LARGEST_DOCUMENT_BYTES + 1, 413, "too-large"),
        ("/result", None, LARGEST_BODY_BYTES + 1, 413, None),
        ("/v1/nowhere", None, LARGEST_BODY_BYTES, 404, "not-found"),
    ],
)
def test_a_body_that_will_be_refused_is_not_waited_for(
    server: Server,
    path: str,
    token: str | None,
    length: int,
    status: int,
    code: str | None,
) -> None:
    with socket.create_connection((server.host, server.port), TIMEOUT_S) as connection:
        connection.sendall(head("POST", path, token, length) + b"[[1,")
        answer = answer_to(connection)
        assert answer.status == status
        assert code is None or f'"code": "{code}"' in answer.read().decode()


def test_a_body_larger_than_the_limit_is_refused_before_it_arrives(
    server: Server,
    token: str,
) -> None:
    with socket.create_connection((server.host, server.port), TIMEOUT_S) as connection:
        connection.sendall(
            head("POST", "/v1/detections", token, LARGEST_BODY_BYTES + 1)
        )
        assert answer_to(connection).status == 413


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (GET + b"X-Long: " + b"y" * 3_000_000, {431, 400}),
        (b"GET /" + b"y" * 3_000_000, {414, 431, 400}),
        (GET + b"".join(b"X-%d: y\r\n" % n for n in range(2000)) + b"\r\n", {431, 400}),
        (b"\0" * 10_000, {400}),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
        ((GET + b"\r\n").decode().encode("utf-16"), {400}),
    ],
    ids=["header", "path", "headers", "zeros", "http2", "utf-16"],
)
def test_what_is_not_a_request_gets_a_refusal_or_a_closed_connection(
    server: Server,
    sent: bytes,
    statuses: set[int],
) -> None:
    with (
        socket.create_connection((server.host, server.port), TIMEOUT_S) as connection,
        suppress(BrokenPipeError, ConnectionResetError, BadStatusLine),  # it was closed
    ):
        connection.sendall(sent)
        assert answer_to(connection).status in statuses
    assert server.ask("GET", "/v1/health").status_code == 200


def test_of_a_batch_that_breaks_off_only_the_images_that_were_sent_count_as_served(
    tmp_path: Path,
) -> None:
    with contest_day(tmp_path / "contest", large_test_set(tmp_path / "large")) as day:
        server = day.serve()
        token = day.login()["token"]
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.settimeout(TIMEOUT_S)
            connection.connect((server.host, server.port))
            connection.sendall(head("GET", "/v1/images?first=2", token))
            assert answer_to(connection).status == 200
            connection.setsockopt(
                socket.SOL_SOCKET,
                socket.SO_LINGER,
                struct.pack("ii", 1, 0),
            )
        until(lambda: served_images(day))
        served = served_images(day)
        assert served[0] == 2
        assert IMAGES not in served


def served_images(day: Day) -> list[int]:
    with day.store() as store:
        return store.served.images(1)
