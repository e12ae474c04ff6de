"""A contest is served once: by processes that hold its lock until the last of them has ended."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from referee.operating_system import fork_workers
from referee.web.sole_server import sole_server
from tests import pretended_system
from tests.contest_day import Day, workers_of

SUPERVISOR = """
import multiprocessing, os, signal, sys
from pathlib import Path
from referee.web.sole_server import sole_server

def work(lock):
    print(os.getpid(), flush=True)
    signal.pause()

if __name__ == "__main__":
    method, folder = sys.argv[1:]
    with sole_server(Path(folder)) as lock:
        worker = multiprocessing.get_context(method).Process(target=work, args=(lock,))
        worker.start()
        worker.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_keeps_its_contest_locked_when_the_supervisor_is_killed(
    method: str,
    tmp_path: Path,
) -> None:
    script = tmp_path / "supervisor.py"
    script.write_text(SUPERVISOR)
    folder = tmp_path / "contest"
    folder.mkdir()
    command = [sys.executable, str(script), method, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        worker = int(supervisor.stdout.readline())
        supervisor.kill()
        supervisor.wait()
        try:
            assert is_locked(folder)
            assert not inheritable_folders(worker)
        finally:
            os.kill(worker, signal.SIGKILL)
        with sole_server(folder):
            pass


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_the_servers_own_worker_keeps_the_contest_locked_too(
    system: str,
    day: Callable[..., Day],
) -> None:
    folder = day(served=False).folder
    command = pretended_system.command(
        "referee", "serve", folder, "--port", "0", "--parent", os.getpid()
    )
    environment = (
        pretended_system.environment(system) if system == "darwin" else dict(os.environ)
    )
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline()
        workers = workers_of(server.pid)
        # Else it might see that it is alone, and end.
        os.kill(workers[0], signal.SIGSTOP)
        server.kill()
        server.wait()
        try:
            assert is_locked(folder)
        finally:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)


def test_workers_are_forked_on_linux_whatever_python_does_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = []
    monkeypatch.setattr(
        multiprocessing,
        "set_start_method",
        lambda method, force: chosen.append((method, force)),
    )
    fork_workers()
    monkeypatch.setattr(sys, "platform", "darwin")
    fork_workers()
    assert chosen == [("fork", True)]


def is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def inheritable_folders(process: int) -> list[str]:
    """The folders that a process has open, and that its children would have, too."""
    found = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        flags = (
            Path(f"/proc/{process}/fdinfo/{descriptor.name}")
            .read_text()
            .split("flags:")[1]
            .split()[0]
        )
        if descriptor.is_dir() and not int(flags, 8) & os.O_CLOEXEC:
            found.append(os.readlink(descriptor))  # noqa: PTH115 - as it is
    return found
