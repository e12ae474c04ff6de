"""Workers of this host: one that dies is replaced, and whoever waits for it learns so."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from referee.errors import RefereeError, WindowClosed
from referee.workers import WorkerLost
from referee.workers.job_dispatch import mapped
from referee.workers.worker_processes import LocalWorkers, _work
from tests.contest_day import is_running, until
from tests.timeouts import TIMEOUT_S


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalWorkers]:
    made = LocalWorkers(2)
    yield made
    made.close()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_sending() -> bytes:
    def half(pipe: Connection, message: Any) -> None:
        os.write(pipe.fileno(), bytes(message)[:-1])
        die()

    Connection._send = half  # type: ignore[attr-defined]  # noqa: SLF001 - only in this worker
    return b"result"


def die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        die()
    return "done"


def stay(mark: str) -> None:
    Path(mark).touch()
    threading.Event().wait(TIMEOUT_S)


def go_on_once(mark: str, go: str) -> None:
    Path(mark).touch()
    until(Path(go).exists)


def refuse() -> None:
    raise WindowClosed("The run is over.", run=3)


def test_a_worker_that_dies_is_replaced_and_its_work_is_said_to_be_lost(
    workers: LocalWorkers,
) -> None:
    lost = [workers.submit(die) for _ in range(3)]
    kept = [workers.submit(pow, 2, power) for power in range(4)]
    for one in lost:
        with pytest.raises(
            WorkerLost,
            match="the worker's process was killed, as the system does when ",
        ):
            one.result(TIMEOUT_S)
    assert [one.result(TIMEOUT_S) for one in kept] == [1, 2, 4, 8]


def test_a_worker_that_dies_while_it_sends_a_result_is_lost(
    workers: LocalWorkers,
) -> None:
    with pytest.raises(WorkerLost):
        workers.submit(die_in_sending).result(TIMEOUT_S)
    assert workers.submit(pow, 3, 2).result(TIMEOUT_S) == 9


def test_an_error_of_the_work_comes_back_as_it_was(workers: LocalWorkers) -> None:
    with pytest.raises(WindowClosed) as failure:
        workers.submit(refuse).result(TIMEOUT_S)
    assert isinstance(failure.value, RefereeError)
    assert failure.value.code == "window-closed"
    assert failure.value.sentence == "The run is over."
    assert failure.value.facts == {"run": 3}


def test_work_is_stopped_wherever_it_is(workers: LocalWorkers, tmp_path: Path) -> None:
    marks = [tmp_path / name for name in "ab"]
    begun = [workers.submit(stay, str(mark)) for mark in marks]
    until(lambda: all(mark.exists() for mark in marks))
    waiting = workers.submit(pow, 2, 3)
    for one in (waiting, *begun):
        workers.stop(one)
    with pytest.raises(CancelledError):
        waiting.result(TIMEOUT_S)
    for one in begun:
        with pytest.raises(WorkerLost):
            one.result(TIMEOUT_S)
    assert workers.submit(pow, 3, 2).result(TIMEOUT_S) == 9


def test_what_a_lost_worker_did_is_done_again(
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    arguments = [(str(tmp_path / name),) for name in "abc"]
    assert [*mapped(workers, die_once, arguments)] == ["done"] * 3


def test_workers_end_with_the_referee_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, pathlib\n"
        "from referee.workers.worker_processes import LocalWorkers\n"
        "workers = LocalWorkers(1)\n"
        f"pathlib.Path({str(tmp_path / 'worker')!r}).write_text(str(workers.submit(os.getpid).result()))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False, timeout=TIMEOUT_S)
    worker = int((tmp_path / "worker").read_text())
    until(lambda: not is_running(worker))


def test_a_worker_whose_referee_went_while_it_worked_ends_without_a_word(
    tmp_path: Path,
) -> None:
    mark, go = (tmp_path / name for name in ("mark", "go"))
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_work, args=(its,))
    process.start()
    its.close()
    ours.send((go_on_once, (str(mark), str(go)), {}))
    until(mark.exists)
    ours.close()
    go.touch()
    process.join(TIMEOUT_S)
    assert process.exitcode == 0
