"""`meter ptd` as a process of its own, and a client that speaks as the harness does: a line out, a line in."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.visa.link import Link
from tests import warm_programs
from tests.timeouts import TIMEOUT_S


class Client:
    """One connection to the daemon."""

    def __init__(
        self,
        port: int,
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._lines = self._socket.makefile("rb")

    def ask(
        self,
        command: str,
    ) -> str:
        self._socket.sendall(f"{command}\r\n".encode())
        return self.line()

    def line(self) -> str:
        line = self._lines.readline()
        assert line.endswith(b"\r\n"), line
        return line.decode().removesuffix("\r\n")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@dataclass
class Daemon:
    """A `meter ptd` process, what it has printed until it listened, and its log of samples."""

    process: Any
    port: int
    said: list[str]
    log: Path

    def end(self) -> list[str]:
        """End it as the harness does; return everything it has printed."""
        self.process.terminate()
        assert self.process.wait(TIMEOUT_S) == 0
        return [*self.said, *self.process.stdout.read().splitlines()]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    """Start daemons on a meter's address; they are gone at the end."""
    numbers = itertools.count(1)
    with contextlib.ExitStack() as stack:

        def start(address: str, *options: str, kind: str = "49") -> Daemon:
            log = tmp_path / f"samples{next(numbers)}.log"
            command = [
                "meter",
                "ptd",
                "-l",
                str(log),
                "-p",
                "0",
                *options,
                kind,
                address,
            ]
            process = stack.enter_context(warm_programs.start(command))
            stack.callback(process.kill)
            said: list[str] = []
            while not said or "Waiting for a connection" not in said[-1]:
                said.append(process.stdout.readline().rstrip())
                assert said[-1], process.stderr.read()
            port = re.search(r":(\d+)$", said[-1])
            assert port
            return Daemon(process, int(port[1]), said, log)

        yield start


@pytest.fixture
def client() -> Iterator[Callable[[Daemon], Client]]:
    """Connect to a daemon."""
    with contextlib.ExitStack() as stack:

        def connect(daemon: Daemon) -> Client:
            return stack.enter_context(contextlib.closing(Client(daemon.port)))

        yield connect


@pytest.fixture
def idle(simulate: Callable[..., Any], serving: Callable[..., Daemon]) -> Daemon:
    """A daemon with a meter of its own, which measures nothing yet."""
    return serving(simulate().address)


@pytest.fixture
def panel() -> Callable[..., list[str]]:
    """Use a meter over a link of its own; what is asked is answered."""

    def use(address: str, *messages: str) -> list[str]:
        answers = []
        with contextlib.closing(Link(address)) as link:
            for message in messages:
                if "?" in message:
                    answers.append(link.query(message).rpartition(" ")[2])
                else:
                    link.write(message)
            link.query("*OPC?")
        return answers

    return use
