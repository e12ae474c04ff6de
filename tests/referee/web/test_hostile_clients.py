"""Slow, silent and many clients hold up themselves, and nobody else."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import resource
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from referee.contest import OPERATOR_KEY_NAME
from referee.web.transfers import OF_RUNS, OF_STRANGERS, Kind, Transfers
from tests import contest_day as days
from tests import warm_programs
from tests.contest_day import Day, Server, contest_day, until
from tests.referee.web.two_stations import OTHER_TEAM, asked_from, login_from, two_stations
from testsets import synthesize
from testsets.writing import ObjectRecord, write_records

FILES = 1200  # that a modest machine lets a process open
QUICK_S = 0.25  # for one request of another team, on a machine that is busy with the tests
ENDED_S = 60.0
IMAGES = 24
LITTLE = 2**11
ROW = b"1 1 .5 0 0 5 5\n"


def system_buffers_bytes() -> int:
    """What the system may hold of an answer that nobody takes."""
    return int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])


@pytest.fixture(scope="session")
def deep_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images so large that no buffer of the system takes a batch: bytes after a JPEG's end do no harm."""
    made = synthesize(
        tmp_path_factory.mktemp("sets") / "deep", images=IMAGES, categories=3, seed=5, size=(96, 64)
    )
    padding, images = bytes(system_buffers_bytes() * 4 // IMAGES), []
    for image in made.images:
        path = made.image_path(image.number)
        path.write_bytes(path.read_bytes() + padding)
        images.append(replace(image, sha256=hashlib.sha256(path.read_bytes()).hexdigest()))
    write_records(made.folder, "deep", images, made.categories, [ObjectRecord(1, 1, (0, 0, 5, 5), 25)])
    return made.folder


@dataclass
class Place:
    """A contest being served, with two runs open."""

    day: Day
    server: Server
    token: str
    other_token: str

    def accepted(self, token: str) -> int:
        return int(self.server.ask("GET", "/v1/session", token).json()["detections_accepted"])

    def posts(self, token: str, address: str = "127.0.0.1") -> int:
        return asked_from(self.server, address, "POST", "/v1/detections", token, [[1, 1, 0.5, 0, 0, 5, 5]])[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, deep_images: Path) -> Iterator[Place]:
    with ExitStack() as stack:

        def day(*, served: bool, teams: tuple[str, ...]) -> Day:
            assert not served
            folder = tmp_path_factory.mktemp("hostile") / "contest"
            return stack.enter_context(contest_day(folder, deep_images, teams=teams))

        made = two_stations(day)
        assert made.server is not None
        tokens = [str(made.login(team)["token"]) for team in (days.TEAM, OTHER_TEAM)]
        yield Place(made, made.server, tokens[0], tokens[1])


class Team:
    """A team that goes on working: one kept-alive connection, whose requests are timed."""

    def __init__(self, server: Server, token: str) -> None:
        self._connection = http.client.HTTPConnection(server.host, server.port, ENDED_S)
        self._headers = {"Authorization": f"Bearer {token}", "Range": "bytes=0-999"}

    def seconds(self) -> float:
        begun = time.perf_counter()
        self._connection.request("GET", "/v1/images/1", headers=self._headers)
        answer = self._connection.getresponse()
        assert (answer.status, len(answer.read())) == (206, 1000)
        return time.perf_counter() - begun

    def is_quick(self) -> bool:
        return statistics.median(self.seconds() for _ in range(9)) < QUICK_S

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def team(place: Place) -> Iterator[Team]:
    working = Team(place.server, place.other_token)
    yield working
    working.close()


@pytest.fixture
def connect(place: Place) -> Iterator[Callable[..., socket.socket]]:
    """Open a connection from an address of this machine, sending something at once."""
    with ExitStack() as stack:

        def open_one(
            sent: bytes = b"", address: str = "127.0.0.1", buffer: int | None = None
        ) -> socket.socket:
            one = stack.enter_context(socket.socket())
            if buffer is not None:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            one.settimeout(ENDED_S)
            one.bind((address, 0))
            one.connect(("127.0.0.1", place.server.port))
            one.sendall(sent)
            return one

        yield open_one


def request(method: str, path: str, token: str | None = None, length: int | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Content-Type: text/plain"]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    received = b""
    try:
        while more := connection.recv(2**16):
            received += more
    except ConnectionResetError:
        pass
    return received


def begun(connection: socket.socket, patience_s: float = ENDED_S) -> bytes:
    """An answer, of a long one the beginning; or nothing when none comes."""
    connection.settimeout(patience_s)
    received, length = b"", 0
    try:
        while len(received) <= LITTLE and (more := connection.recv(LITTLE)):
            received += more
            head, end, body = received.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0) if end else 1
            if end and len(body) >= length:
                break
    except (TimeoutError, ConnectionResetError):
        pass
    return received


@pytest.mark.slow
def test_bodies_that_drip_or_stop_are_given_up_and_nothing_of_them_counts(
    place: Place, team: Team, connect: Callable[..., socket.socket]
) -> None:
    before = place.accepted(place.token)
    head = request(
        "POST", "/v1/detections", place.token, 2**26
    )  # the most that may come, and nothing of it does
    silent = connect(head + ROW, "127.0.0.2")
    dripping = connect(request("POST", "/v1/detections", place.token, 500), "127.0.0.3")
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
    assert place.accepted(place.token) == before


@pytest.mark.parametrize(("path", "length"), [("/result", 2**26), ("/v1/session", 500)])
def test_strangers_whose_bodies_stall_keep_no_team_from_posting_logging_in_or_out(
    place: Place, team: Team, connect: Callable[..., socket.socket], path: str, length: int
) -> None:
    stalled = [
        connect(request("POST", path, length=length) + b"x", f"127.0.1.{n}")
        for n in range(1, 6)
        for _ in range(32)
    ]
    refused = [one for one in stalled if begun(one, 0.05).startswith(b"HTTP/1.1 429")]
    assert len(stalled) - len(refused) <= OF_STRANGERS[Kind.UPLOAD][1]
    assert team.is_quick()
    assert place.posts(place.other_token) == 202
    assert login_from(place.server, "127.0.0.1", OTHER_TEAM)[0] == 201
    form = f"token={quote(place.other_token)}&image_name=1".encode()
    assert b"\r\n\r\nValid Token" in begun(connect(request("POST", "/verify", length=len(form)) + form))
    for one in stalled:
        one.close()


def test_the_operator_and_a_board_that_logged_in_before_are_answered_whatever_strangers_do(
    place: Place, connect: Callable[..., socket.socket]
) -> None:
    assert login_from(place.server, "127.0.7.2", OTHER_TEAM)[0] == 201
    stalled: list[socket.socket] = []
    while not stalled or not begun(stalled[-1], 0.02).startswith(b"HTTP/1.1 429"):
        address = f"127.0.6.{len(stalled) + 1}"
        stalled.append(connect(request("POST", "/result", length=500) + b"x", address))
    login = {"team": OTHER_TEAM, "password": days.PASSWORD}
    assert asked_from(place.server, "127.0.7.1", "POST", "/v1/session", body=login)[0] == 429
    assert login_from(place.server, "127.0.7.2", OTHER_TEAM)[0] == 201
    key = (place.day.folder / OPERATOR_KEY_NAME).read_text().strip()
    void = asked_from(place.server, "127.0.7.1", "POST", "/operator/runs/999/void", key, {"reason": "a try"})
    assert (void[0], json.loads(void[1])["code"]) == (404, "run-unknown")
    for one in stalled:
        one.close()
    until(lambda: asked_from(place.server, "127.0.7.1", "POST", "/v1/session", body=login)[0] == 201)


def test_a_run_whose_bodies_stall_is_refused_more_and_no_other_run_is(
    place: Place, connect: Callable[..., socket.socket]
) -> None:
    head = request("POST", "/v1/detections", place.token, 500)
    most = Transfers(stations=2).of_a_run(Kind.UPLOAD)
    stalled = [connect(head + b"1 1", f"127.0.1.{n % 5 + 1}") for n in range(most + 8)]
    until(lambda: any(b"too-many-uploads" in begun(one, 0.01) for one in stalled))
    assert place.posts(place.token) == 429
    assert place.posts(place.other_token) == 202
    assert place.server.ask("GET", "/v1/session", place.token).status_code == 200
    for one in stalled:
        one.close()
    until(lambda: place.posts(place.token) == 202)


def test_an_old_client_s_large_body_is_on_its_run_s_account_when_the_token_comes_first(
    place: Place, connect: Callable[..., socket.socket]
) -> None:
    most = OF_RUNS[Kind.LARGE][0]
    token = f"token={quote(place.token)}&".encode()
    row = b"image_name=1&CLASS_ID=1&confidence=.5&xmin=0&ymin=0&xmax=5&ymax=5&"
    head = request("POST", "/result", length=2**21)
    stalled = [connect(head + token + row * 100) for _ in range(most + 1)]
    told: list[bytes] = []
    until(lambda: any(told.append(begun(one, 0.02)) or b" 429 " in told[-1] for one in stalled))
    assert b"\r\nretry-after: 1\r\n" in told[-1].lower()
    small = token + row
    assert b" 200 " in begun(connect(request("POST", "/result", length=len(small)) + small))
    for one in stalled:
        one.close()


def test_more_large_bodies_of_a_run_than_may_wait_are_to_come_again(
    place: Place, connect: Callable[..., socket.socket]
) -> None:
    large = request("POST", "/v1/detections", place.token, 2**21)
    stalled = [connect(large + ROW) for _ in range(OF_RUNS[Kind.LARGE][0] + 1)]
    told: list[bytes] = []
    until(lambda: any(told.append(begun(one, 0.02)) or told[-1] for one in stalled))
    assert b"too-many-uploads" in told[-1]
    assert b"\r\nretry-after: 1\r\n" in told[-1].lower()
    assert place.posts(place.token) == 202
    body = ROW * (2**20 // len(ROW) + 1)
    assert b" 202 " in begun(connect(request("POST", "/v1/detections", place.other_token, len(body)) + body))
    for one in stalled:
        one.close()


def test_batches_that_nobody_takes_are_refused_to_their_run_and_no_other(
    place: Place, team: Team, connect: Callable[..., socket.socket]
) -> None:
    batch, head = (request(method, "/v1/images", place.token) for method in ("GET", "HEAD"))
    most = Transfers(stations=2).of_a_run(Kind.DOWNLOAD)
    stalled = [connect(batch, f"127.0.2.{n % 4 + 1}", buffer=2048) for n in range(most)]
    assert all(begun(one).startswith(b"HTTP/1.1 200") for one in stalled)
    assert b"too-many-downloads" in begun(connect(batch))
    assert b" 429 " in begun(connect(head), 5.0)  # laying it out takes as long as for all of it
    assert team.is_quick()
    assert b" 200 " in begun(connect(request("GET", "/v1/images?count=2", place.other_token), "127.0.2.1"))
    for one in stalled:
        one.close()
    until(lambda: begun(connect(batch)).startswith(b"HTTP/1.1 200"))
    for _ in range(most + 1):
        assert place.server.ask("HEAD", "/v1/images", place.token).status_code == 200


def test_images_of_a_batch_that_was_broken_off_are_on_record_only_as_far_as_they_went_out(
    place: Place, connect: Callable[..., socket.socket]
) -> None:
    token = str(login_from(place.server, "127.0.0.1", OTHER_TEAM)[1]["token"])
    before = places_served(place)
    broken = connect(request("GET", "/v1/images?first=2", token), buffer=2048)
    assert begun(broken).startswith(b"HTTP/1.1 200")
    broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    broken.close()
    until(lambda: places_served(place) != before)
    gone = [image for image in places_served(place)[len(before) :] if image > 1]
    assert gone[0] == 2
    assert IMAGES not in gone


def places_served(place: Place) -> list[int]:
    with place.day.store() as store:
        run = next(run.id for run in store.runs() if run.team == OTHER_TEAM)
        rows = store._rows("SELECT image FROM served WHERE run = ? ORDER BY rowid", run)
    return [row["image"] for row in rows]


def test_log_ins_sent_all_at_once_are_bounded_and_hold_up_nobody(
    place: Place, team: Team, connect: Callable[..., socket.socket]
) -> None:
    def guess(number: int) -> bytes:
        body = json.dumps({"team": f"nobody-{number}", "password": "guess"}).encode()
        return request("POST", "/v1/session", length=len(body)) + body

    most = OF_STRANGERS[Kind.LOGIN][0]
    guesses = [connect(guess(n), "127.0.4.1") for n in range(most * 2)]
    assert login_from(place.server, "127.0.4.2", OTHER_TEAM)[0] == 201
    assert team.is_quick()
    told = [begun(one) for one in guesses]
    assert any(b"too-many-logins" in one and b"retry-after: 1\r\n" in one.lower() for one in told)
    assert sum(b" 401 " in one for one in told) >= most


@pytest.mark.skipif(
    "COLD_START" in os.environ, reason="a server started from scratch has this process's limits"
)
def test_whoever_takes_every_connection_there_is_has_to_give_some_up(
    day: Callable[..., Day], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, asked = (FILES, FILES), resource.getrlimit
    monkeypatch.setattr(
        warm_programs.resource,
        "getrlimit",
        lambda one: limits if one == resource.RLIMIT_NOFILE else asked(one),
    )
    made = day()
    monkeypatch.undo()
    assert made.server is not None
    with ExitStack() as stack:
        for n in range(FILES):  # more than there are places for: the system keeps the last ones waiting
            one = stack.enter_context(socket.create_connection(("127.0.0.1", made.server.port)))
            one.sendall(b"" if n % 2 else b"GET /v1/hea")
        status, session = login_from(made.server, "127.0.5.1", days.TEAM)
        assert status == 201
        assert asked_from(made.server, "127.0.5.2", "GET", "/v1/images/1", session["token"])[0] == 200
    log = (made.folder / "server.log").read_text()
    assert "Too many open files" not in log
    assert "connections were ended to make room" in log


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
