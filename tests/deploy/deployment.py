"""nginx as docs/deploy configures it in front of `referee serve`, and what its users and its attackers do."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.contest_day import PASSWORD, ROOT, ROWS, TIMEOUT_S, Day, until
from tests.ports import own_port

GUIDE = ROOT / "docs" / "deploy"
INCLUDED = ("referee-http.conf", "referee-server.conf")
HOST = "127.0.0.1"
SERVED_S = 8.0  # for one request of a user, on a machine that is busy with other tests
TRIES = 3
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def program(name: str) -> str:
    """The path of a program of the system; without it a test is skipped, but not on a CI machine."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        reason = f"{name} is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return found


def substitutions(
    folder: Path,
    plain: int,
    tls: int,
) -> dict[str, str]:
    """The places of the configuration that all tests change; docs/deploy/README.md lists the same ones."""
    temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMPORARY)
    return {
        "user www-data;": f"user {getpass.getuser()};",
        "/run/nginx.pid": f"{folder}/nginx.pid",
        "/var/log/nginx/error.log": f"{folder}/error.log",
        "/var/log/nginx/access.log": f"{folder}/access.log",
        "client_body_temp_path /var/lib/nginx/body;": temporary,
        "/var/lib/nginx/boards": f"{folder}/boards",
        "/etc/nginx/referee.crt": f"{folder}/referee.crt",
        "/etc/nginx/referee.key": f"{folder}/referee.key",
        "0.0.0.0:80 ": f"{HOST}:{plain} ",
        "0.0.0.0:443 ": f"{HOST}:{tls} ",
    }


def upstream(port: int) -> dict[str, str]:
    """The place that the tests change in nginx.conf."""
    return {"127.0.0.1:8080": f"{HOST}:{port}"}


class Nginx:
    """nginx by the file `name` with these `changes` of it, answering HTTP at `port` and HTTPS at `tls_port`."""

    def __init__(
        self,
        folder: Path,
        changes: dict[str, str],
        name: str = "nginx.conf",
    ) -> None:
        self._program = program("nginx")
        self._folder = folder
        names = "-subj /CN=referee -addext subjectAltName=DNS:referee,IP:127.0.0.1"
        arguments = (
            f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 30 {names}"
        )
        files = [
            "-keyout",
            str(folder / "referee.key"),
            "-out",
            str(folder / "referee.crt"),
        ]
        subprocess.run(
            [program("openssl"), "req", "-x509", *arguments.split(), *files],
            check=True,
            capture_output=True,
        )
        self.certificate = folder / "referee.crt"
        for _ in range(TRIES):  # another process may take a port that was free
            self.port = own_port()
            self.tls_port = own_port()
            self._process = self._started(name, changes)
            if self._answers():
                return
        pytest.fail(self.log())

    def _started(
        self,
        name: str,
        changes: dict[str, str],
    ) -> subprocess.Popen[bytes]:
        texts = {one: (GUIDE / one).read_text() for one in (name, *INCLUDED)}
        for written, used in (
            substitutions(self._folder, self.port, self.tls_port) | changes
        ).items():
            assert sum(text.count(written) for text in texts.values()) == 1, written
            texts = {one: text.replace(written, used) for one, text in texts.items()}
        for one, text in texts.items():
            (self._folder / one).write_text(text)
        config = self._folder / name
        # It ends with this process, however that ends.
        command = [
            program("setpriv"),
            "--pdeathsig",
            "TERM",
            self._program,
            "-c",
            str(config),
        ]
        with (self._folder / "error.log").open("a") as log:
            return subprocess.Popen(
                [*command, "-g", "daemon off;"],
                stdout=log,
                stderr=log,
            )

    def _answers(self) -> bool:
        deadline_s = time.monotonic() + TIMEOUT_S
        while self._process.poll() is None and time.monotonic() < deadline_s:
            with (
                contextlib.suppress(ConnectionRefusedError),
                socket.create_connection((HOST, self.port)),
            ):
                return True
            time.sleep(0.02)
        return False

    def log(self) -> str:
        return (self._folder / "error.log").read_text()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_S)


@dataclass
class Answer:
    """What came back: status, headers by their names in small letters, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def problem(self) -> tuple[int, str]:
        """Status and code of a refusal, which must be a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self
        document = self.json()
        assert document["status"] == self.status
        assert document["detail"].endswith(".")
        return self.status, document["code"]


def asked(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    token: str | None = None,
    body: object = None,
    **headers: str,
) -> Answer:
    """One request on a connection; the body is bytes, or sent as JSON."""
    content = (
        body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    )
    bearing = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection.request(method, path, content, bearing | headers)
    return read_answer(connection.getresponse())


def read_answer(answer: http.client.HTTPResponse) -> Answer:
    """All of an answer whose head has been read."""
    return Answer(
        answer.status,
        {name.lower(): value for name, value in answer.getheaders()},
        answer.read(),
    )


def begun(connection: socket.socket) -> http.client.HTTPResponse:
    """The head of the answer that a connection gets; of its body no more than a few KiB are read."""
    connection.settimeout(TIMEOUT_S)
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer


@dataclass
class Deployment:
    """A contest with two stations behind nginx; `token` and `other_token` are of the two open runs."""

    day: Day
    nginx: Nginx
    token: str = ""
    other_token: str = ""

    def connection(self, address: str) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            HOST,
            self.nginx.port,
            TIMEOUT_S,
            source_address=(address, 0),
        )

    def ask(
        self,
        address: str,
        method: str,
        path: str,
        token: str | None = None,
        **more: Any,
    ) -> Answer:
        """Ask from one of this machine's addresses, on a connection of its own."""
        with contextlib.closing(self.connection(address)) as connection:
            return asked(connection, method, path, token, **more)

    def login(self, address: str, team: str) -> Answer:
        return self.ask(
            address,
            "POST",
            "/v1/session",
            body={"team": team, "password": PASSWORD},
        )

    def accepted(self, token: str) -> int:
        return int(
            self.ask("127.0.9.9", "GET", "/v1/session", token).json()[
                "detections_accepted"
            ]
        )


@dataclass
class User:
    """A board that goes on working through nginx: on a connection that it keeps, and on new ones."""

    deployment: Deployment
    address: str
    token: str
    team: str
    _kept: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self._kept = self.deployment.connection(self.address)

    def notices_nothing(self) -> None:
        """Its image, its POST and its log-in are answered, each in time."""
        with contextlib.closing(self.deployment.connection(self.address)) as new:
            for connection in (self._kept, new):
                image = self._in_time(connection, 200, "GET", "/v1/images/1")
                assert image.body.startswith(b"\xff\xd8")
                self._in_time(connection, 202, "POST", "/v1/detections", body=ROWS)
            login = {"team": self.team, "password": PASSWORD}
            self._in_time(new, 201, "POST", "/v1/session", body=login)

    def _in_time(
        self,
        connection: http.client.HTTPConnection,
        status: int,
        *what: str,
        **more: Any,
    ) -> Answer:
        begun_s = time.monotonic()
        answer = asked(connection, *what, self.token, **more)
        assert answer.status == status, answer
        assert time.monotonic() - begun_s < SERVED_S, what
        return answer

    def close(self) -> None:
        self._kept.close()


class Attackers:
    """Connections of people who mean harm; they are closed at the end of a test."""

    def __init__(
        self,
        deployment: Deployment,
        stack: ExitStack,
    ) -> None:
        self._where = (HOST, deployment.nginx.port)
        self._stack = stack

    def connect(
        self,
        address: str,
        sent: bytes = b"",
        receive_buffer: int | None = None,
    ) -> socket.socket:
        """Open a connection from that address and send something at once."""
        one = self._stack.enter_context(socket.socket())
        if receive_buffer is not None:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.settimeout(TIMEOUT_S)
        one.bind((address, 0))
        one.connect(self._where)
        one.sendall(sent)
        return one


def head(
    method: str,
    path: str,
    token: str | None = None,
    length: int | None = None,
) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: referee", "Content-Type: text/plain"]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def is_ended(connection: socket.socket) -> bool:
    """Whether nginx has closed the connection; an answer that came before it is thrown away."""
    connection.settimeout(0)
    try:
        while connection.recv(2**16):
            continue
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def until_all_ended(connections: list[socket.socket]) -> None:
    until(lambda: all(is_ended(one) for one in connections))


@contextlib.contextmanager
def working(
    deployment: Deployment,
    address: str,
    token: str,
    team: str,
) -> Iterator[User]:
    with contextlib.closing(User(deployment, address, token, team)) as user:
        user.notices_nothing()
        yield user
