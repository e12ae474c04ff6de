"""A contest is served once: by processes that hold its lock until the last of them has ended."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from referee.web.processes import sole_server

SUPERVISOR = """
import multiprocessing, os, signal, sys
from pathlib import Path
from referee.web.processes import sole_server

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
def test_a_worker_keeps_its_contest_locked_when_the_supervisor_is_killed(method: str, tmp_path: Path) -> None:
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
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
            os.kill(worker, signal.SIGKILL)
        with sole_server(folder):
            pass
