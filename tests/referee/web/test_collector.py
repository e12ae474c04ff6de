"""The garbage collector of the server's process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.contest_day import TIMEOUT_S, Day
from tests.ports import own_port

SERVE = """
import gc, sys
from pathlib import Path
from referee.web.listener import Listen
from referee.web.server import serve
serve(Path(sys.argv[1]), Listen(port=int(sys.argv[2])), lambda _: print(gc.get_freeze_count(), flush=True))
"""


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="elsewhere the worker is spawned, which takes no lambda",
)
def test_it_no_longer_looks_at_what_the_server_was_started_with(
    day: Callable[..., Day],
) -> None:
    folder = day(served=False).folder
    command = [sys.executable, "-c", SERVE, str(folder), str(own_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            # Said by the worker, once it answers.
            assert int(server.stdout.readline()) > 10_000
        finally:
            server.terminate()
            server.wait(TIMEOUT_S)
