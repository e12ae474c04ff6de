"""Slow, silent and many clients hold up themselves, and nobody else."""

from __future__ import annotations

import resource
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest

from referee.web.transfers import AT_ONCE, OF_AN_ADDRESS, Kind
from tests.contest_day import ROWS, Day, Server, until
from testsets import synthesize

CROWD = 10_000
QUICK_S = 0.25  # for one request of another team, on a machine that is busy with the tests
ENDED_S = 60.0


@pytest.fixture(scope="session")
def large_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "large"
    return synthesize(folder, images=6, categories=3, seed=5, size=(1200, 900)).folder


@pytest.fixture
def made(day: Callable[..., Day], large_images: Path) -> Day:
    return day(testset=large_images)


class Team:
    """A team that goes on working: one kept-alive connection, whose requests are timed."""

    def __init__(self, server: Server, token: str) -> None:
        self._request = (
            f"GET /v1/images/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        self._socket = socket.create_connection(("127.0.0.1", server.port), ENDED_S)

    def seconds(self) -> float:
        begun = time.perf_counter()
        self._socket.sendall(self._request)
        received = self._socket.recv(2**16)
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(
            next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))[15:]
        )
        while len(body) < length:
            body += self._socket.recv(2**16)
        return time.perf_counter() - begun

    def is_quick(self) -> bool:
        return statistics.median(self.seconds() for _ in range(9)) < QUICK_S

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def connect(made: Day) -> Iterator[Callable[..., socket.socket]]:
    """Open a connection from an address of this machine, sending something at once."""
    assert made.server is not None
    port = made.server.port
    with ExitStack() as stack:

        def open_one(
            sent: bytes = b"", address: str = "127.0.0.1", buffer: int | None = None
        ) -> socket.socket:
            one = stack.enter_context(socket.socket())
            if buffer is not None:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            one.settimeout(ENDED_S)
            one.bind((address, 0))
            one.connect(("127.0.0.1", port))
            one.sendall(sent)
            return one

        yield open_one


@pytest.fixture
def token(made: Day) -> str:
    return str(made.login()["token"])


@pytest.fixture
def team(made: Day, token: str) -> Iterator[Team]:
    assert made.server is not None
    working = Team(made.server, token)
    yield working
    working.close()


def head(token: str, length: int) -> bytes:
    lines = [
        "POST /v1/detections HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        "Content-Type: text/plain",
    ]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    received = b""
    try:
        while more := connection.recv(2**16):
            received += more
    except ConnectionResetError:
        pass
    return received


def accepted(made: Day, token: str) -> int:
    assert made.server is not None
    return int(made.server.ask("GET", "/v1/session", token).json()["detections_accepted"])


@pytest.mark.slow
def test_bodies_that_drip_or_stop_are_given_up_and_nothing_of_them_counts(
    made: Day, token: str, team: Team, connect: Callable[..., socket.socket]
) -> None:
    silent = connect(head(token, 500) + b"1 1 .5 0 0 5 5\n", "127.0.0.2")
    dripping = connect(head(token, 500), "127.0.0.3")
    idle = connect(b"", "127.0.0.4")
    ended: list[bytes] = []

    def drip() -> None:
        dripping.settimeout(0.2)
        deadline_s = time.monotonic() + ENDED_S
        while time.monotonic() < deadline_s:
            try:
                dripping.sendall(b"1")
                ended.append(dripping.recv(2**16))
            except TimeoutError:
                continue
            except OSError:
                ended.append(b"")
            return

    dripper = Thread(target=drip)
    dripper.start()
    assert team.is_quick()
    assert b'"code": "body-too-slow"' in answer(silent)
    dripper.join()
    assert ended == [b""] or b'"code": "body-too-slow"' in ended[0]
    idle.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer(idle).startswith(b"HTTP/1.1 200")
    assert team.is_quick()
    assert accepted(made, token) == 0


def test_many_addresses_that_stall_leave_room_for_a_team_at_work(
    made: Day, token: str, team: Team, connect: Callable[..., socket.socket]
) -> None:
    addresses = AT_ONCE[Kind.UPLOAD] // OF_AN_ADDRESS[Kind.UPLOAD] + 3
    stalled = [
        connect(head(token, 500) + b"1 1", f"127.0.1.{address}")
        for address in range(1, addresses + 1)
        for _ in range(OF_AN_ADDRESS[Kind.UPLOAD] + 8)
    ]
    refused = [one for one in stalled if is_refused(one)]
    until(lambda: len(stalled) - len(refused) >= AT_ONCE[Kind.UPLOAD] // 2)
    assert refused
    assert team.is_quick()
    for one in stalled:
        one.close()
    until(lambda: made.post(token).status_code == 202)
    assert accepted(made, token) == len(ROWS)


def is_refused(connection: socket.socket) -> bool:
    connection.settimeout(0.05)
    try:
        return b'"code": "too-many-uploads"' in connection.recv(2**16)
    except TimeoutError:
        return False


def test_clients_that_take_no_byte_of_their_batches_hold_nobody_up(
    token: str, team: Team, connect: Callable[..., socket.socket]
) -> None:
    batch = f"GET /v1/images HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    # More of each than the system's buffers hold, and more of them than the server sends at once.
    stalled = [connect(batch * 20, f"127.0.2.{n % 8 + 1}", buffer=2048) for n in range(8 * 12)]
    until(lambda: any(b"too-many-downloads" in peeked(one) for one in stalled))
    assert team.is_quick()
    for one in stalled:
        one.close()
    until(
        lambda: answer(connect(batch.replace(b"Host", b"Connection: close\r\nHost"))).startswith(
            b"HTTP/1.1 200"
        )
    )


def peeked(connection: socket.socket) -> bytes:
    connection.settimeout(0.01)
    try:
        return connection.recv(2**16)
    except TimeoutError:
        return b""


def test_ten_thousand_connections_left_open_hold_nobody_up(
    made: Day, token: str, team: Team, connect: Callable[..., socket.socket]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CROWD + 2000:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        left_open = [connect(b"" if n % 2 else b"GET /v1/hea", f"127.0.3.{n % 5 + 1}") for n in range(CROWD)]
        assert made.server is not None
        assert made.server.ask("GET", "/v1/health").status_code == 200
        assert team.is_quick()
        assert made.post(token).status_code == 202
        for one in left_open:
            one.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert made.server.ask("GET", "/v1/images/1", token).status_code == 200
    assert "Too many open files" not in Path(made.folder / "server.log").read_text()


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"y" * 3_000_000, {b"431", b"400"}),
        (b"GET /" + b"y" * 3_000_000, {b"414", b"431", b"400"}),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(2000)) + b"\r\n",
            {b"431", b"400"},
        ),
        (b"\0" * 10_000, {b"400"}),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {b"400", b"505"}),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n".encode("utf-16"), {b"400"}),
    ],
)
def test_what_is_no_request_gets_a_refusal_or_a_closed_connection(
    connect: Callable[..., socket.socket], team: Team, sent: bytes, statuses: set[bytes]
) -> None:
    try:
        told = answer(connect(sent))
    except (BrokenPipeError, ConnectionResetError):
        told = b""
    assert told == b"" or told.split()[1] in statuses
    assert team.is_quick()
