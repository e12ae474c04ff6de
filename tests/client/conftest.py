"""Fixtures: small referees, a session with one, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lpirc_client.connection import Connection
from tests import warm_programs
from tests.client.referee_double import PASSWORD, Handler, Referee
from tests.timeouts import TIMEOUT_S

Client = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def serve() -> Iterator[Callable[..., Referee]]:
    """Start a referee on a free port or a given one."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(port: int = 0, **settings: Any) -> Referee:
        referee = Referee(**settings)
        handler = type("BoundHandler", (Handler,), {"referee": referee})
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        server.daemon_threads = False  # joined at close: nothing outlives the test
        referee.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        running.append((server, thread))
        return referee

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def referee(serve: Callable[..., Referee]) -> Referee:
    return serve()


@pytest.fixture
def session(referee: Referee) -> Iterator[Connection]:
    """Log in at the referee."""
    with Connection(referee.url) as session:
        session.login("alpha", PASSWORD)
        yield session


@pytest.fixture
def environment() -> dict[str, str]:
    """Return an environment with the password, and without colours and proxies."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy")
    }
    return {
        **kept,
        "LPIRC_PASSWORD": PASSWORD,
        "NO_COLOR": "1",
    }


@pytest.fixture
def client(environment: dict[str, str], tmp_path: Path) -> Client:
    """Run the command in a folder of its own; returns its exit code, stdout and stderr."""

    def run(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
        command = ["lpirc-client", *map(str, arguments)]
        return warm_programs.run(
            command,
            TIMEOUT_S,
            tmp_path,
            {**environment, **changes},
        )

    return run
