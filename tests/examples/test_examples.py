"""The clients of client/examples, each built by its own toolchain, in a whole run through a cut cable and a restart."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from socket import socket
from typing import IO, Any

import pytest

from tests.contest_day import PASSWORD, TIMEOUT_S, Day, until
from tests.deploy.deployment import program
from tests.examples.conftest import IMAGES, SIZE
from tests.power.conftest import Relay

SOURCES = Path(__file__).parents[2] / "client" / "examples"
AMID_A_BATCH = 40_000  # bytes
Command = list[str]


def cpp(folder: Path) -> Command:
    built = folder / "client"
    line = [
        program("g++"),
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(SOURCES / "cpp" / "client.cpp"),
    ]
    program("curl-config")  # comes with libcurl's headers
    subprocess.run([*line, "-o", str(built), "-lcurl", "-pthread"], check=True)
    return [str(built)]


def go(folder: Path) -> Command:
    built = folder / "client"
    settings = {
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOCACHE": str(folder / "cache"),
    }
    line = [program("go"), "build", "-o", str(built), str(SOURCES / "go" / "client.go")]
    subprocess.run(line, env=os.environ | settings, check=True)
    return [str(built)]


def python(_: Path) -> Command:
    """Nothing that is installed is seen: the standard library is enough, of PyPy 3.9 as the oldest that Debian has."""
    return [program("pypy3"), "-I", "-S", str(SOURCES / "python" / "client.py")]


def shell(_: Path) -> Command:
    for needed in ("curl", "unzip"):
        program(needed)
    return [program("sh"), str(SOURCES / "shell" / "client.sh")]


LANGUAGES = (cpp, go, python, shell)


class Frayed(Relay):
    """A cable that drops its connections amid a batch, then loses the first receipt and stays broken."""

    def __init__(self, port: int) -> None:
        self.passed = 0
        self.is_broken = False
        super().__init__(port)

    def _pass(self, source: socket, sink: socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if b'"received_total"' in data and not self.is_broken:
                    self.is_broken = True
                    self.cut()
                sink.sendall(data)
                self.passed += len(data)
                if self.passed >= AMID_A_BATCH > self.passed - len(data):
                    self.cut()
                    self.mend()
        self._end((source, sink))


@pytest.fixture
def started(
    tmp_path: Path,
) -> Iterator[Callable[[Command, IO[Any]], subprocess.Popen[str]]]:
    with ExitStack() as stack:

        def start(command: Command, log: IO[Any]) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(
                    command,
                    stderr=log,
                    cwd=tmp_path,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield start


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_answers_every_image_through_a_broken_cable_and_a_restart(
    hall: Day,
    started: Callable[[Command, IO[Any]], subprocess.Popen[str]],
    language: Callable[[Path], Command],
    tmp_path: Path,
) -> None:
    client = language(tmp_path)
    team = language.__name__
    secret = tmp_path / "secret"
    log = tmp_path / "log"
    server = hall.server
    assert server is not None
    secret.write_text('wro"ng\\\n')
    with log.open("w") as stderr, contextlib.closing(Frayed(server.port)) as cable:
        url = f"http://127.0.0.1:{cable.port}"
        refused = subprocess.run(
            [*client, url, team, str(secret)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 1
        assert refused.stdout == ""
        assert "Team or password is wrong" in refused.stderr

        secret.write_text(f"{PASSWORD}\n")
        process = started([*client, url, team, str(secret)], stderr)
        until(lambda: "ask the operator" in log.read_text())
        run = hall.refers("run", "arm", team)
        assert run.returncode == 0, run.stderr
        until(lambda: cable.is_broken or process.poll() is not None)
        server.kill()
        hall.serve("--port", str(server.port))
        cable.mend()
        code = process.wait(TIMEOUT_S)
    said = log.read_text()
    assert (
        code,
        len(re.findall("no-answer: |does not answer: ", said)) >= 2,
        "logged out" in said,
    ) == (
        0,
        True,
        True,
    ), said
    with hall.store() as store:
        (closed,) = (one for one in store.runs.find() if one.team == team)
        rows = store.posts.detections(closed.id)
        assert sorted(set(store.served.images(closed.id))) == [*range(1, IMAGES + 1)]
    assert closed.closed_by == "logout", closed
    box = [1, 0.5, 0, 0, SIZE[0] - 1, SIZE[1] - 1]
    assert sorted(map(list, rows)) == [[image, *box] for image in range(1, IMAGES + 1)]
