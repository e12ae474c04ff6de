"""Workers that are local processes, each restarted when it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from referee.workers import P, T, WorkerLost

NICENESS = 10  # a contest served on this host comes first
MEMORY_BYTES = 1_280_000_000
"""Memory that one job may use."""
PRELOADED = ["referee.judging.scoring_job"]


class LocalWorkers:
    """`count` processes, each of which runs one job at a time.

    Each process has its own pipe and is the only holder of its end. So the pipe ends whenever the process dies, even
    while it sends a result. A ProcessPoolExecutor would wait forever for the rest of that result.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._idle: list[tuple[BaseProcess, Connection]] = []
        self._processes: dict[Future[Any], BaseProcess] = {}  # by their job
        self._is_closed = False
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._threads = ThreadPoolExecutor(count, "worker")

    @property
    def memory_bytes(self) -> int:
        """Memory that one job may use."""
        return MEMORY_BYTES

    def submit(
        self,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Run `work` as soon as a process is free; everything must be picklable. The future may raise WorkerLost."""

        def serve() -> T:
            with self._lock:  # acquired after `submit` has set `future`
                worker = self._idle.pop() if self._idle else None
            process, pipe = worker or self._started()
            try:
                with self._lock:
                    self._processes[future] = process
                    if self._is_closed:
                        process.kill()
                pipe.send((work, args, kwargs))
                is_done, found = pipe.recv()
            except Exception as error:
                process.kill()
                process.join()
                if isinstance(error, EOFError | OSError):
                    raise WorkerLost(_death(process.exitcode)) from None
                raise
            finally:
                with self._lock:
                    del self._processes[future]
            with self._lock:
                self._idle.append((process, pipe))
            if not is_done:
                raise found
            result: T = found
            return result

        with self._lock:
            future = self._threads.submit(serve)
        return future

    def stop(self, future: Future[Any]) -> None:
        """Stop a job, if necessary by killing its process."""
        if not future.cancel():
            with self._lock:
                if future in self._processes:
                    self._processes[future].kill()

    def close(self) -> None:
        """End all processes and their jobs."""
        with self._lock:
            self._is_closed = True
            for process in self._processes.values():
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process, _ in self._idle:
            process.kill()
            process.join()

    def _started(self) -> tuple[BaseProcess, Connection]:
        ours, its = self._context.Pipe()
        process = self._context.Process(target=_work, args=(its,), daemon=True)
        process.start()
        its.close()
        return process, ours


def _death(exit_code: int | None) -> str:
    """Return a description of how a worker's process ended."""
    if exit_code == -signal.SIGKILL:
        return "the worker's process was killed, as the system does when memory runs out: use fewer --workers"
    return "the worker's process died"


def _work(pipe: Connection) -> None:
    """Run jobs from the pipe at low priority. Leave Ctrl-C to the referee, and end when the referee is gone."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            work, args, kwargs = pipe.recv()
        except (EOFError, OSError):  # the referee is gone
            return
        try:
            _send_outcome(pipe, partial(work, *args, **kwargs))
        except OSError:  # the referee went while the job ran
            return


def _send_outcome(pipe: Connection, work: Callable[[], Any]) -> None:
    """Run a job and send its result, or what was raised. Raises OSError if nobody reads."""
    try:
        pipe.send((True, work()))
    except Exception as error:  # noqa: BLE001 - it is the outcome
        pipe.send((False, error))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
