"""Gives jobs to workers and stores their results, so that no job gets stuck and none is done twice.

A job is leased while a worker has it, within a time limit. If the worker dies, its job is returned at once; if the
referee dies, its jobs are returned when their leases expire.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any

from referee.clock import Clock
from referee.errors import RefereeError
from referee.store import Store
from referee.store.model_records import JobKind, JobState
from referee.workers import NoWorkers, T, WorkerLost, Workers

LEASE_S = 30.0
RENEW_S = LEASE_S / 3
LIMIT_S = 1800.0
"""Maximum time that a job may run on a worker."""
LOOK_S = 0.5


@dataclass(frozen=True)
class Task:
    """A job's work. `done` stores the result and ends the job; `found` is called if another referee has done the job.

    `failed` gets the reason if the job failed or was cancelled.
    """

    about: str
    start: Callable[[Workers], Future[Any]]
    done: Callable[[Any], None]
    found: Callable[[], None]
    failed: Callable[[str], None]


def carry_out(
    store: Store,
    tasks: Mapping[str, Task],
    workers: Workers,
    clock: Clock,
    stop: threading.Event | None = None,
    kind: JobKind = JobKind.SCORING,
) -> None:
    """Run the jobs, given by name, until `stop` is set or each is done, failed or cancelled.

    Another referee may do or cancel some of them. Jobs still running at the end are given back.
    """
    dispatch = _Dispatch(store, tasks, workers, clock, kind)
    try:
        dispatch.run(stop or threading.Event())
    finally:
        dispatch.give_back()


def mapped(
    workers: Workers,
    work: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
) -> Iterator[T]:
    """Yield the results of `work` in the order of the arguments, which are generated as workers become free.

    Work of a lost worker is repeated.
    """
    given: deque[tuple[tuple[Any, ...], Future[T]]] = deque()
    for args in arguments:
        given.append((args, workers.submit(work, *args)))
        if len(given) > workers.count:
            yield _result(workers, work, *given.popleft())
    yield from (_result(workers, work, *each) for each in given)


def _result(
    workers: Workers,
    work: Callable[..., T],
    args: tuple[Any, ...],
    future: Future[T],
) -> T:
    for _ in range(10):
        try:
            return future.result()
        except WorkerLost:
            future = workers.submit(work, *args)
    return future.result()


class _Dispatch:
    """The jobs that wait for a worker, and the jobs that are running."""

    def __init__(
        self,
        store: Store,
        tasks: Mapping[str, Task],
        workers: Workers,
        clock: Clock,
        kind: JobKind,
    ) -> None:
        self._store = store
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._kind = kind
        self._me = f"{socket.gethostname()} {os.getpid()}"
        self._waiting = deque(tasks)
        self._running: dict[Future[Any], tuple[str, float]] = {}  # name, since_s
        self._renewed_s = clock.monotonic_s()

    def run(self, stop: threading.Event) -> None:
        about = {name: task.about for name, task in self._tasks.items()}
        self._store.jobs.add(self._kind, about, self._clock.utc())
        while (self._waiting or self._running) and not stop.is_set():
            self._fill()
            if self._running:
                for future in wait(self._running, LOOK_S, FIRST_COMPLETED).done:
                    self._end(future)
            else:  # other referees have the remaining jobs
                self._clock.wait(stop, self._clock.monotonic_s() + LOOK_S)
            self._renew()

    def give_back(self) -> None:
        for future, (name, _) in self._running.items():
            self._workers.stop(future)
            self._store.jobs.give_back(
                name,
                self._me,
                "The referee was stopped.",
                self._clock.utc(),
            )

    def _fill(self) -> None:
        """Start jobs until there is one more than there are workers, so that none idles while a result is stored."""
        for _ in range(len(self._waiting)):
            if len(self._running) > self._workers.count:
                return
            name = self._waiting.popleft()
            now = self._clock.utc()
            if self._store.jobs.lease(self._kind, self._me, now, LEASE_S, name) is None:
                self._of_another(name)
                continue
            at = name, self._clock.monotonic_s()
            self._running[starting := Future[Any]()] = (
                at  # so that it is given back after an interruption
            )
            try:
                self._running[self._tasks[name].start(self._workers)] = at
            except NoWorkers:
                raise
            except Exception as error:  # noqa: BLE001 - what it needs cannot be read, say; the others go on
                self._failed(name, reason_of(error))
            del self._running[starting]

    def _of_another(self, name: str) -> None:
        """Handle a job that this referee cannot lease.

        If it is done, failed or cancelled, end it here too. Otherwise keep it waiting, since the other referee's lease
        may expire.
        """
        job = self._store.jobs.get(name)
        task = self._tasks[name]
        if job.state is JobState.DONE:
            task.found()
        elif job.state in (JobState.FAILED, JobState.CANCELLED):
            task.failed(job.reason or "It was cancelled.")
        else:
            self._waiting.append(name)

    def _end(self, future: Future[Any]) -> None:
        name, _ = self._running[future]
        try:
            result = future.result()
        except (WorkerLost, CancelledError) as error:
            self._failed(name, f"Given back: {error}.", lost=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed with it
            self._failed(name, reason_of(error))
        else:
            self._tasks[name].done(result)
        del self._running[future]

    def _failed(self, name: str, reason: str, *, lost: bool = False) -> None:
        now = self._clock.utc()
        self._store.jobs.give_back(
            name,
            self._me,
            reason,
            now,
            failed=not lost,
            lost=lost,
        )
        self._waiting.append(name)

    def _renew(self) -> None:
        now_s = self._clock.monotonic_s()
        for future, (name, since_s) in [*self._running.items()]:
            if now_s - since_s > LIMIT_S:
                del self._running[future]
                self._workers.stop(future)
                self._failed(name, f"It did not end within {LIMIT_S:g} s.")
        if now_s - self._renewed_s < RENEW_S:
            return
        self._renewed_s = now_s
        names = [name for name, _ in self._running.values()]
        held = self._store.jobs.renew(names, self._me, self._clock.utc(), LEASE_S)
        for future, (name, _) in [*self._running.items()]:
            if (
                name not in held
            ):  # cancelled, or leased to another referee after this host was suspended
                del self._running[future]
                self._workers.stop(future)
                self._waiting.append(name)


def reason_of(error: Exception) -> str:
    """Return the reason for a failure as a sentence."""
    if isinstance(error, MemoryError):
        return (
            "The worker ran out of memory: allow it more memory, or use fewer workers."
        )
    return (
        error.sentence
        if isinstance(error, RefereeError)
        else f"{type(error).__name__}: {error}"
    )
