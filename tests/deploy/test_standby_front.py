"""docs/deploy/season.conf with a host that stands by: what goes there, and what must not be sent twice."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from referee.contest import contest_id
from tests.contest_day import ROWS, TEAM, Day, contest_day
from tests.deploy.deployment import HOST, Deployment, Nginx, program
from tests.deploy.test_season_front import PLACES
from tests.ports import own_port

BOARD = "127.0.0.21"


class DyingHost:
    """A host that dies in the middle of each request: it reads it whole and closes the connection."""

    def __init__(self, port: int) -> None:
        self.requests: list[bytes] = []
        self._listener = socket.create_server((HOST, port))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._die, daemon=True)
        self._thread.start()

    def _die(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self.requests.append(_read_request(connection))

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def _read_request(connection: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(65536)
    head, _, body = read.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1]
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    while lengths and len(body) < int(lengths[0]):
        body += connection.recv(65536)
    return head.split(b"\r\n")[0]


@pytest.fixture(scope="module")
def second(
    tmp_path_factory: pytest.TempPathFactory,
    large_images: Path,
) -> Iterator[Day]:
    """The host that the front takes for the standby; it serves already."""
    program("nginx")
    with contest_day(
        tmp_path_factory.mktemp("second") / "contest",
        large_images,
        teams=(TEAM,),
    ) as made:
        config = made.folder / "contest.toml"
        config.write_text(f'trusted_proxy = ["{HOST}"]\n{config.read_text()}')
        made.serve()
        yield made


@contextlib.contextmanager
def front(
    second: Day,
    folder: Path,
    first_port: int,
) -> Iterator[Deployment]:
    assert second.server is not None
    ports = (first_port, second.server.port, own_port())
    ids = (contest_id(second.folder), "1" * 12)
    values = [*(f"{HOST}:{one}" for one in ports), *ids, "127.0.0.99", f"{folder}/"]
    with contextlib.closing(
        Nginx(folder, dict(zip(PLACES, values, strict=True)), "season.conf")
    ) as nginx:
        yield Deployment(second, nginx)


def test_the_standby_gets_everything_once_the_first_host_is_gone(
    second: Day,
    tmp_path: Path,
) -> None:
    with front(second, tmp_path, own_port()) as asked:
        token = str(asked.login(BOARD, TEAM).json()["token"])
        assert asked.ask(BOARD, "GET", "/v1/images/1", token).status == 200
        before = asked.accepted(token)
        for key in ({}, {"Idempotency-Key": "a"}, {"Idempotency-Key": "a"}):
            status = asked.ask(
                BOARD,
                "POST",
                "/v1/detections",
                token,
                body=ROWS,
                **key,
            ).status
            assert status == 202
        assert asked.accepted(token) == before + 2 * len(ROWS)


def test_only_a_post_with_a_key_is_repeated_when_the_first_host_may_have_taken_it(
    second: Day,
    tmp_path: Path,
) -> None:
    with (
        contextlib.closing(DyingHost(own_port())) as dying,
        front(second, tmp_path, dying.port) as asked,
    ):
        token = str(second.login()["token"])
        posted = asked.ask(BOARD, "POST", "/v1/detections", token, body=ROWS)
        assert posted.problem() == (502, "no-answer")
        assert dying.requests == [b"POST /v1/detections HTTP/1.1"]
        kept = {"Idempotency-Key": "of the dying host"}
        before = int(
            asked.ask(BOARD, "GET", "/v1/session", token).json()["detections_accepted"]
        )
        status = asked.ask(
            BOARD,
            "POST",
            "/v1/detections",
            token,
            body=ROWS,
            **kept,
        ).status
        assert status == 202
        assert asked.accepted(token) == before + len(ROWS)
        too_large = asked.ask(
            BOARD,
            "POST",
            "/v1/detections",
            token,
            body=bytes(5 * 2**20),
            **kept,
        )
        assert too_large.problem() == (413, "too-large")
        # A log-in opens a run: whoever was not answered asks again.
        assert asked.login(BOARD, TEAM).problem() == (502, "no-answer")
        # One host that fails a hundred times is still asked first: no request of anyone makes it the standby's turn.
        before_all = len(dying.requests)
        for _ in range(10):
            assert asked.ask(BOARD, "GET", "/v1/health").status == 200
        assert len(dying.requests) == before_all + 10
