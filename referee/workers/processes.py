"""Workers that are processes of this host, each started again when it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from referee.workers import P, T, WorkerLost

NICENESS = 10  # a contest that is served here comes first
PRELOADED = ["referee.judging.scoring_job"]


class LocalWorkers:
    """`count` processes; each does one piece of work at a time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._processes: dict[Future[Any], int] = {}  # by what they are at
        self._is_closed = False
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._threads, self._own = ThreadPoolExecutor(count, "worker"), threading.local()

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Workers`."""

        def serve() -> T:
            """Do it in the thread's process, which is started when it is needed."""
            try:
                if not hasattr(self._own, "pool"):
                    self._own.pool = ProcessPoolExecutor(1, mp_context=self._context, initializer=_begin)
                process = self._own.pool.submit(os.getpid).result()
                with self._lock:
                    self._processes[future] = process
                    if self._is_closed:
                        _kill(process)
                result: T = self._own.pool.submit(work, *args, **kwargs).result()
            except BrokenProcessPool:
                del self._own.pool
                raise WorkerLost("the worker's process died") from None
            finally:
                with self._lock:
                    self._processes.pop(future, None)
            return result

        with self._lock:  # what is served finds its future
            future = self._threads.submit(serve)
        return future

    def stop(self, future: Future[Any]) -> None:
        """See `Workers`."""
        if not future.cancel():
            with self._lock:
                process = self._processes.get(future)
                if process is not None:
                    _kill(process)

    def close(self) -> None:
        """See `Workers`."""
        with self._lock:
            self._is_closed = True
            for process in self._processes.values():
                _kill(process)
        self._threads.shutdown(cancel_futures=True)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _begin() -> None:
    """What a worker does first: yield to others, leave Ctrl-C to the referee, and end when the referee is gone."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
