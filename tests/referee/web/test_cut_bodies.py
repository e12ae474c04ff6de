"""A body counts whole or not at all, wherever its connection breaks; rows cut at a line's end look whole."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from referee.web.request_bodies import LARGEST_BODY_BYTES
from tests.contest_day import Day, Server, problem, until

LINES = b"1 1 .5 0 0 5 5\n2 1 .5 0 0 5 5\n"
KEEPALIVE = "02"


@pytest.fixture
def server(hall: Day) -> Server:
    assert hall.server is not None
    return hall.server


def head(token: str, *fields: str) -> bytes:
    lines = [
        "POST /v1/detections HTTP/1.1",
        "Host: referee",
        f"Authorization: Bearer {token}",
        *fields,
    ]
    return "\r\n".join([*lines, "Content-Type: text/plain", "", ""]).encode()


def received(server: Server, token: str) -> int:
    return int(server.ask("GET", "/v1/session", token).json()["detections_accepted"])


def test_a_body_shorter_than_its_length_is_refused(server: Server, token: str) -> None:
    before = received(server, token)
    answer = server.raw(head(token, "Content-Length: 500") + LINES, cut=True)
    assert answer == b"" or b'"code": "body-cut-off"' in answer
    assert received(server, token) == before


def test_a_connection_reset_in_mid_body_stores_nothing(
    hall: Day,
    server: Server,
    token: str,
) -> None:
    before = received(server, token)
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(head(token, "Content-Length: 500") + LINES)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    assert hall.post(token).status_code == 202
    assert received(server, token) == before + 2


@pytest.mark.parametrize("end", [b"", b"0", b"0\r\n"])
def test_a_chunked_body_that_is_cut_stores_nothing(
    server: Server,
    token: str,
    end: bytes,
) -> None:
    before = received(server, token)
    chunk = f"{len(LINES):x}\r\n".encode() + LINES + b"\r\n"
    fields = ["Transfer-Encoding: chunked", "Connection: close"]
    answer = server.raw(head(token, *fields) + chunk + end, cut=True)
    assert answer == b"" or b'"code": "length-missing"' in answer
    assert received(server, token) == before


def test_a_chunked_body_is_refused_since_nobody_could_tell_that_it_is_whole(
    server: Server,
    token: str,
) -> None:
    before = received(server, token)
    headers = {"Content-Type": "text/plain"}
    problem(
        server.ask("POST", "/v1/detections", token, headers, data=iter([LINES, LINES])),
        411,
        "length-missing",
    )
    assert received(server, token) == before


def test_a_length_beside_chunks_counts_for_nothing(server: Server, token: str) -> None:
    before = received(server, token)
    fields = [
        f"Content-Length: {len(LINES)}",
        "Transfer-Encoding: chunked",
        "Connection: close",
    ]
    server.raw(head(token, *fields) + LINES, cut=True)
    assert received(server, token) == before


def test_bytes_beyond_the_length_are_not_part_of_the_body(
    server: Server,
    token: str,
) -> None:
    before = received(server, token)
    fields = [f"Content-Length: {len(LINES)}", "Connection: close"]
    assert server.raw(head(token, *fields) + LINES + LINES).startswith(b"HTTP/1.1 202")
    assert received(server, token) == before + 2


@pytest.mark.parametrize("length", [LARGEST_BODY_BYTES + 1, 10**15])
def test_too_large_a_body_is_refused_before_it_is_read(
    server: Server,
    token: str,
    length: int,
) -> None:
    answer = server.raw(
        head(token, f"Content-Length: {length}", "Connection: close") + LINES
    )
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"code": "too-large"' in answer


@pytest.mark.parametrize("length", ["-1", "x", "1e3"])
def test_a_length_that_is_no_number_is_refused(
    server: Server,
    token: str,
    length: str,
) -> None:
    answer = server.raw(
        head(token, f"Content-Length: {length}", "Connection: close") + LINES
    )
    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/v1/detections", "/v1/session", "/result"])
def test_zeros_before_a_length_are_only_zeros(
    server: Server,
    token: str,
    path: str,
) -> None:
    fields = ["Content-Length: " + "0" * 5000 + str(len(LINES)), "Connection: close"]
    answer = server.raw(
        head(token, *fields).replace(b"/v1/detections", path.encode()) + LINES
    )
    assert answer.split()[1] in (b"202" if path == "/v1/detections" else b"400", b"401")


def test_a_client_that_falls_silent_is_probed(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        ours = connection.getsockname()[1]
        theirs = server.port
        until(lambda: timer_of(theirs, ours) == KEEPALIVE)


def timer_of(local: int, remote: int) -> str | None:
    """The timer that runs for a connection, as Linux lists it."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if [int(place.rpartition(":")[2], 16) for place in fields[1:3]] == [
            local,
            remote,
        ]:
            return fields[5].partition(":")[0]
    return None
