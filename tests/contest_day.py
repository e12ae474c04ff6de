"""A contest day for tests: real meters and servers as processes of their own, asked over real sockets."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from argon2 import PasswordHasher
from click.testing import CliRunner

from lpirc_score.tasks import BOXES
from referee.cli import main
from referee.clock import Clock
from referee.config.contest_text import config_text
from referee.contest import create_contest, open_contest
from referee.store import Store
from referee.store.records import Run, RunState
from tests import warm_programs
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
TEAM = "ant"
PASSWORD = "six legs"
# A hash keeps how much work it is; each log-in with one of full strength takes a fifth of a second of a processor.
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
ROWS: list[list[float]] = [
    [1, 1, 0.5, 0, 0, 5, 5],
    [2, 3, 0.25, 1, 2, 3, 4],
]
PROBLEM = "application/problem+json"
# What the JSON document of a judged run has at least.
KEYS = frozenset(
    [
        "map",
        "energy_wh",
        "score",
        "images",
        "detections",
        "elapsed_s",
        "mean_power_w",
        "checks",
        "signature",
    ]
)


def program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def shared(*parts: str) -> Path:
    """A path of the shared data; without them a test is skipped, but not on a CI machine."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        reason = f"{path} is absent: the real data are not part of the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


def until(
    condition: Callable[[], object],
    timeout_s: float = TIMEOUT_S,
    pause_s: float = 0.02,
) -> None:
    """Wait for a condition; it must come true, however slow the machine."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(pause_s)


def is_running(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            not in "ZX"
        )
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            if int(rest.split()[1]) == pid:
                found.append(int(name.split()[0]))
    return found


def workers_of(pid: int) -> list[int]:
    """The children of a process that do its work; multiprocessing may have started a resource tracker beside them."""
    return [child for child in children_of(pid) if not _tracks_resources(child)]


def _tracks_resources(pid: int) -> bool:
    try:
        return (
            b"multiprocessing.resource_tracker"
            in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
    except OSError:
        return False


def descendants_of(pid: int) -> list[int]:
    """The workers of a process, and theirs."""
    workers = workers_of(pid)
    return workers + [one for worker in workers for one in descendants_of(worker)]


def processes_naming(text: str) -> list[int]:
    """Processes on whose command line `text` is."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in line.read_bytes() and is_running(int(line.parent.name)):
                found.append(int(line.parent.name))
    return found


def first_line(process: Any, log: Path) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
    line = process.stdout.readline().strip() if ready else ""
    assert line, f"it did not start: {log.read_text()}"
    return line


class Program:
    """One of our commands as a process, its stdout a pipe and its stderr the file `log`."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("a") as stderr:
            named = [Path(arguments[0]).name, *arguments[1:]]
            self.process = warm_programs.start(named, stderr=stderr)

    def first_line(self) -> str:
        return first_line(self.process, self.log)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(TIMEOUT_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Meter(Program):
    """A simulated meter; `address` is where it answers."""

    def __init__(
        self,
        log: Path,
        port: int | None = None,
        load: str = "constant:36W",
    ) -> None:
        options = [
            "--port",
            str(port or own_port()),
            "--load",
            load,
            "--parent",
            str(os.getpid()),
        ]
        super().__init__([program("meter"), "simulate", *options], log)
        self.address = self.first_line()
        self.port = int(re.findall(r",(\d+)::", self.address)[0])


class Server(Program):
    """`referee serve`; requests to it by path."""

    def __init__(self, folder: Path, *options: str) -> None:
        where = ["--port", str(own_port()), *options, "--parent", str(os.getpid())]
        super().__init__(
            [program("referee"), "serve", str(folder), *where],
            folder / "server.log",
        )
        try:
            self.ready = super().first_line()
        except BaseException:
            self.close()
            raise
        self.url = self.ready.split(" at ")[1].split()[0]
        self.host, _, port = self.url.rpartition("/")[2].rpartition(":")
        self.port = int(port)

    def first_line(self) -> str:
        """What the worker that now serves said; one that has been killed since may have said it before."""
        while True:
            line = super().first_line()
            with (
                contextlib.suppress(ConnectionRefusedError),
                socket.create_connection((self.host, self.port), TIMEOUT_S),
            ):
                return line

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> requests.Response:
        bearing = {} if token is None else {"Authorization": f"Bearer {token}"}
        with requests.Session() as session:
            session.trust_env = False
            return session.request(
                method,
                self.url + path,
                headers=bearing | (headers or {}),
                timeout=TIMEOUT_S,
                **more,
            )

    def raw(self, sent: bytes, *, cut: bool = False) -> bytes:
        """What comes back for these bytes; with `cut` we end our side after them, and may get nothing."""
        with socket.create_connection(
            ("127.0.0.1", self.port),
            TIMEOUT_S,
        ) as connection:
            connection.sendall(sent)
            if cut:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while more := connection.recv(65536):
                received += more
            return received


@dataclass
class Day:
    """A contest folder with its meter and, while it is being served, its server."""

    folder: Path
    testset: Path
    meter: Meter
    server: Server | None = None
    servers: list[Server] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)

    def serve(self, *options: str) -> Server:
        self.server = Server(self.folder, *options)
        self.servers.append(self.server)
        return self.server

    def revive_meter(self) -> None:
        self.meter = Meter(self.folder / "meter.log", self.meter.port)
        self.meters.append(self.meter)

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        with open_contest(self.folder) as contest:
            yield contest.store

    def run(self, number: int = 1) -> Run:
        with self.store() as store:
            return store.runs.get(number)

    def runs(self, state: RunState) -> list[Run]:
        with self.store() as store:
            return store.runs.find(state)

    def login(self, team: str = TEAM) -> dict[str, Any]:
        assert self.server is not None
        answer = self.server.ask(
            "POST",
            "/v1/session",
            json={"team": team, "password": PASSWORD},
        )
        assert answer.status_code == 201, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def post(
        self,
        token: str,
        rows: list[list[float]] = ROWS,
        key: str | None = None,
    ) -> requests.Response:
        assert self.server is not None
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.server.ask("POST", "/v1/detections", token, headers, json=rows)

    def fetched(self, token: str) -> str:
        """The same token, every image of its run fetched: detections count for images that were served."""
        assert self.server is not None
        assert self.server.ask("GET", "/v1/images?count=1000", token).status_code == 200
        return token

    def refers(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command about this contest."""
        return called(*arguments, "--contest", str(self.folder))

    def close(self) -> None:
        for process in (*self.servers, *self.meters):
            process.close()
        log = self.folder / "server.log"
        assert not log.exists() or "Traceback" not in log.read_text(), log.read_text()


def called(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command `referee` in this process, which saves half a second; a traceback would be raised here.

    Not `serve`: what it logs with, and what watches its worker, would stay in this process and write into later tests.
    """
    assert arguments[:1] != ("serve",), "use `refers`"
    result = CliRunner().invoke(main, arguments, env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(
        arguments,
        result.exit_code,
        result.stdout,
        result.stderr,
    )


def refers(
    *arguments: str,
    cwd: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """The command `referee`, run to its end without a terminal."""
    return warm_programs.run(
        ["referee", *arguments],
        TIMEOUT_S * 2,
        cwd,
        os.environ | environment,
    )


@contextlib.contextmanager
def contest_day(
    folder: Path,
    testset: Path,
    *,
    window_s: int = 600,
    auto_arm: bool = True,
    auto_judge: bool = False,
    task: str = BOXES,
    teams: Sequence[str] = (TEAM,),
) -> Iterator[Day]:
    """A contest made in `folder`, not served yet; at the end every process is gone, and no log has a traceback."""
    folder.mkdir(parents=True)
    meter = Meter(folder / "meter.log")
    day = Day(folder, testset, meter, meters=[meter])
    try:
        text = config_text(
            "Test day",
            window_s,
            meter.address,
            str(testset),
            auto_arm=auto_arm,
            auto_judge=auto_judge,
            update_interval_s=0.1,
            task=task,
        )
        create_contest(folder, text)
        with day.store() as store:
            for team in teams:
                store.teams.add(team, HASH, Clock().utc())
        yield day
    finally:
        day.close()


def problem(
    answer: requests.Response,
    status: int,
    code: str,
) -> dict[str, Any]:
    """The problem document of a refusal, which must be that one and well-formed."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM), (
        answer.text
    )
    document: dict[str, Any] = answer.json()
    assert (document["status"], document["code"]) == (status, code), document
    assert document["type"] == "about:blank"
    assert document["title"]
    assert document["detail"]
    assert "\n" not in document["detail"]
    assert "Traceback" not in answer.text
    return document
