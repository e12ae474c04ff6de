"""Workers that are processes of this host, each started again when it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from referee.workers import P, T, WorkerLost

NICENESS = 10  # a contest that is served here comes first
PRELOADED = ["referee.judging.scoring_job"]
Call = tuple[Future[Any], Callable[[], Any]]


class LocalWorkers:
    """`count` processes; each does one piece of work at a time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._processes: dict[Future[Any], int] = {}  # by what they are at
        self._is_closed = False
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._threads = [
            threading.Thread(target=self._serve, name=f"worker-{place}", daemon=True)
            for place in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Workers`."""
        future: Future[T] = Future()
        self._calls.put((future, _Bound(work, args, kwargs)))
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
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        """Do one call after another, in a process that is started when it is needed."""
        pool: ProcessPoolExecutor | None = None
        while (call := self._calls.get()) is not None:
            future, work = call
            if self._is_closed or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                if pool is None:
                    pool = ProcessPoolExecutor(1, mp_context=self._context, initializer=_begin)
                result = self._done(pool, future, work)
            except BrokenProcessPool:
                future.set_exception(WorkerLost("the worker's process died"))
                pool = None
            except BaseException as error:  # noqa: BLE001 - it is the outcome
                future.set_exception(error)
            else:
                future.set_result(result)
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def _done(self, pool: ProcessPoolExecutor, future: Future[Any], work: Callable[[], Any]) -> Any:
        process = pool.submit(os.getpid).result()
        with self._lock:
            self._processes[future] = process
            if self._is_closed:
                _kill(process)
        try:
            return pool.submit(work).result()
        finally:
            with self._lock:
                del self._processes[future]


class _Bound:
    """A call that can be pickled."""

    def __init__(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._work, self._args, self._kwargs = work, args, kwargs

    def __call__(self) -> Any:
        return self._work(*self._args, **self._kwargs)


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
