"""One thread at a time, in an order that a seed decides: the product's own threads, locks and pauses, replayed exactly.

Every thread of the product runs as a `Task`. Only the task that holds the baton runs; it hands it on where it waits for
a lock or for time, and sometimes where it takes a free lock. Time is the scheduler's: it moves when every task waits.
Python's Condition, Event and Semaphore are built on `threading.Lock`, so they need nothing of their own.
"""

from __future__ import annotations

import _thread
import logging
import math
import queue
import threading
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from referee.runs import heats

GO_ON = 0.93
"""How often a task that takes a free lock goes on; else another one may run first."""
TICK_S = 1e-6
"""The shortest wait: one that rounding makes shorter would never end."""

_real_lock = threading.Lock
_real_rlock = threading.RLock
_real_thread = threading.Thread
_real_current = threading.current_thread
# The standard library has no other name for it.
_real_time = threading._time  # type: ignore[attr-defined]  # noqa: SLF001
_real_queue = queue.SimpleQueue


class Died(BaseException):
    """The process of this task was killed: nothing that it does from here on has an effect."""


class Stuck(Exception):
    """Every task waits for another one."""


class Process:
    """What dies together: the tasks that run in it, and what they have opened."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.at_death: list[Callable[[], object]] = []


class Task:
    def __init__(
        self,
        name: str,
        number: int,
        process: Process | None,
    ) -> None:
        self.name = name
        self.number = number
        self.process = process
        self.baton = _real_lock()
        self.baton.acquire()
        self.until_s: float | None = (
            None  # waits until then, math.inf: until it is woken; None: it can run
        )
        self.is_over = False
        self.waiters: list[Task] = []
        self.ident = 0

    @property
    def is_dead(self) -> bool:
        return self.process is not None and self.process.is_dead


class Scheduler:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.now_s = 0.0
        self.switches = 0
        self.trace = 0
        self.failures: list[str] = []
        self.stuck = ""
        self._tasks: list[Task] = []
        self._by_ident: dict[int, Task] = {}
        self._made = 0
        self._main = self._new("main", None)
        self._main.ident = _thread.get_ident()
        self._by_ident[self._main.ident] = self._main

    def here(self) -> Task | None:
        """The task that asks; None for a thread that is not simulated."""
        return self._by_ident.get(_thread.get_ident())

    def me(self) -> Task:
        return self._by_ident[_thread.get_ident()]

    def forget(self) -> None:
        """The day is over: who holds a lock of it from now on, as when rubbish is collected, holds nothing."""
        self._by_ident.clear()

    def _new(self, name: str, process: Process | None) -> Task:
        self._made += 1
        task = Task(name, self._made, process)
        self._tasks.append(task)
        return task

    def spawn(
        self,
        name: str,
        run: Callable[[], object],
        process: Process | None = None,
    ) -> Task:
        task = self._new(name, process)

        def begin() -> None:
            task.baton.acquire()
            task.ident = _thread.get_ident()
            self._by_ident[task.ident] = task
            try:
                if not task.is_dead:
                    run()
            except Died:
                pass
            except BaseException:  # noqa: BLE001 - a thread that ends so is a fault of the product, or of ours
                self.failures.append(f"thread {name}: {traceback.format_exc()}")
            self._end(task)

        _thread.start_new_thread(begin, ())
        return task

    def _end(self, task: Task) -> None:
        task.is_over = True
        for one in task.waiters:
            self.wake(one)
        del self._by_ident[task.ident]
        self._tasks.remove(task)
        self._choose().baton.release()

    def _choose(self) -> Task:
        ready = [task for task in self._tasks if task.until_s is None]
        if not ready:
            self.now_s = max(
                self.now_s,
                min(task.until_s for task in self._tasks if task.until_s is not None),
            )
            ready = [
                task
                for task in self._tasks
                if task.until_s is not None and task.until_s <= self.now_s
            ]
            if math.isinf(self.now_s):
                self.stuck = ", ".join(task.name for task in self._tasks)
                self._main.until_s = None
                return self._main
            for task in ready:
                task.until_s = None
        chosen = ready[0] if len(ready) == 1 else self.random.choice(ready)
        self.switches += 1
        self.trace = zlib.crc32(
            f"{chosen.number} {self.now_s:.6f}".encode(),
            self.trace,
        )
        return chosen

    def note(self, what: str) -> None:
        """Make it a part of the trace by which two replays are compared."""
        self.trace = zlib.crc32(what.encode(), self.trace)

    def _switch(self, me: Task) -> None:
        chosen = self._choose()
        if chosen is not me:
            chosen.baton.release()
            me.baton.acquire()
        if self.stuck:
            raise Stuck(f"nothing can go on; these wait for each other: {self.stuck}")
        if me.is_dead:
            raise Died

    def block(self, until_s: float) -> None:
        """Let others run until someone wakes this task, or until then."""
        me = self.me()
        if me.is_dead:
            raise Died
        me.until_s = until_s
        self._switch(me)

    def wake(self, task: Task) -> None:
        task.until_s = None

    def point(self) -> None:
        """Here another task may run first."""
        me = self.me()
        if me.is_dead:
            raise Died
        if self.random.random() > GO_ON:
            self._switch(me)

    def sleep(self, seconds: float) -> None:
        self.block(self.now_s + seconds)

    def join(self, task: Task, until_s: float = math.inf) -> None:
        while not task.is_over and self.now_s < until_s:
            task.waiters.append(self.me())
            self.block(until_s)

    @contextmanager
    def inside(self, process: Process) -> Iterator[None]:
        """What this task does within, it does in that process; raises Died if that is killed."""
        me = self.me()
        before = me.process
        me.process = process
        try:
            if process.is_dead:
                raise Died
            yield
        finally:
            me.process = before

    def kill(self, process: Process) -> None:
        """Kill a process as `kill -9` does; returns once no task is in it."""
        process.is_dead = True
        for task in self._tasks:
            if task.process is process:
                self.wake(task)
        while any(task.process is process for task in self._tasks):
            self.block(self.now_s)
        for close in process.at_death:
            close()


_active: Scheduler | None = None


def _scheduler() -> Scheduler | None:
    return _active if _active is not None and _active.here() is not None else None


class SimLock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_held = False
        self._waiters: list[Task] = []

    def acquire(
        self,
        blocking: bool = True,
        timeout: float = -1,
    ) -> bool:
        scheduler = self._scheduler
        me = self._scheduler.here()
        if me is None:  # after the day, as when rubbish is collected
            return True
        if me.is_dead:
            raise Died
        if not blocking:
            taken = not self._is_held
            self._is_held = True
            return taken
        scheduler.point()
        until_s = math.inf if timeout < 0 else scheduler.now_s + max(timeout, TICK_S)
        while self._is_held:
            if scheduler.now_s >= until_s:
                return False
            self._waiters.append(me)
            try:
                scheduler.block(until_s)
            finally:
                if me in self._waiters:
                    self._waiters.remove(me)
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False
        for task in self._waiters:
            self._scheduler.wake(task)
        self._waiters.clear()

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class SimRLock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = SimLock(scheduler)
        self._owner: Task | None = None
        self._count = 0

    def acquire(
        self,
        blocking: bool = True,
        timeout: float = -1,
    ) -> bool:
        me = self._scheduler.here()
        if me is None:
            return True
        if self._owner is me:
            self._count += 1
            return True
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner = me
        self._count = 1
        return True

    def release(self) -> None:
        if self._owner is not self._scheduler.here():
            return  # of a process that was killed while it waited
        self._count -= 1
        if not self._count:
            self._owner = None
            self._lock.release()

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def _is_owned(self) -> bool:
        return self._owner is self._scheduler.here()

    def _release_save(self) -> int:
        count = self._count
        self._count = 0
        self._owner = None
        self._lock.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._lock.acquire()
        self._owner = self._scheduler.me()
        self._count = count


class SimThread:
    """What `threading.Thread` gives to a simulated task; it belongs to the process of who makes it."""

    def __init__(
        self,
        target: Callable[..., object],
        name: str = "thread",
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        daemon: bool = True,
    ) -> None:
        self.name = name
        self.daemon = daemon
        self._run = lambda: target(*args, **(kwargs or {}))
        self._scheduler = _need()
        self._process = self._scheduler.me().process
        self.task: Task | None = None

    def start(self) -> None:
        self.task = self._scheduler.spawn(self.name, self._run, self._process)

    def is_alive(self) -> bool:
        return self.task is not None and not self.task.is_over

    def join(self, timeout: float | None = None) -> None:
        if self.task is not None:
            until_s = math.inf if timeout is None else self._scheduler.now_s + timeout
            self._scheduler.join(self.task, until_s)


class SimPool:
    """A ThreadPoolExecutor for a `with` statement."""

    def __init__(self, _workers: int) -> None:
        self._threads: list[SimThread] = []

    def submit(
        self,
        call: Callable[..., Any],
        *arguments: Any,
    ) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(call(*arguments))
            except Exception as error:  # noqa: BLE001 - who asks for the result gets it
                future.set_exception(error)

        self._threads.append(SimThread(run, "pool"))
        self._threads[-1].start()
        return future

    def __enter__(self) -> SimPool:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()


class _NamedTask:
    def __init__(self, name: str) -> None:
        self.name = name


def _need() -> Scheduler:
    scheduler = _scheduler()
    assert scheduler is not None
    return scheduler


def _current_thread() -> Any:
    scheduler = _scheduler()
    return _NamedTask(scheduler.me().name) if scheduler else _real_current()


def _new_lock() -> Any:
    scheduler = _scheduler()
    return SimLock(scheduler) if scheduler else _real_lock()


def _new_rlock(*arguments: Any, **more: Any) -> Any:
    scheduler = _scheduler()
    return SimRLock(scheduler) if scheduler else _real_rlock(*arguments, **more)


def _new_thread(*arguments: Any, **more: Any) -> Any:
    if _scheduler():
        return SimThread(*arguments, **more)
    return _real_thread(*arguments, **more)


def _new_queue() -> Any:
    return queue._PySimpleQueue() if _scheduler() else _real_queue()  # type: ignore[attr-defined]  # noqa: SLF001 - the standard library has no other


def _now() -> float:
    scheduler = _scheduler()
    return scheduler.now_s if scheduler else _real_time()


class _Listener(logging.Handler):
    """Keeps the last lines of the log; an unexpected exception in it is a failure."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(logging.WARNING)
        self.scheduler = scheduler
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if self.scheduler.here() is None:
            return
        self.lines.append(
            f"{self.scheduler.now_s:9.3f} {record.levelname} {record.getMessage()}"
        )
        if record.exc_info and not isinstance(record.exc_info[1], Died):
            text = "".join(traceback.format_exception(*record.exc_info))
            self.scheduler.failures.append(f"{record.getMessage()}: {text}")


@contextmanager
def simulated(random: Random) -> Iterator[tuple[Scheduler, list[str]]]:
    """The scheduler of which this thread is the main task, and the log; within, new threads and locks are simulated."""
    global _active
    scheduler = Scheduler(random)
    listener = _Listener(scheduler)
    root = logging.getLogger()
    level = logging.getLogger().level
    root.addHandler(listener)
    replaced = {
        "Lock": _new_lock,
        "_allocate_lock": _new_lock,
        "RLock": _new_rlock,
        "Thread": _new_thread,
        "current_thread": _current_thread,
        "_time": _now,
    }
    _active = scheduler
    try:
        with (
            patch.multiple(threading, **replaced),
            patch.object(queue, "SimpleQueue", _new_queue),
            patch.object(heats, "ThreadPoolExecutor", SimPool),
        ):
            yield scheduler, listener.lines
    finally:
        _active = None
        scheduler.forget()
        root.removeHandler(listener)
        root.setLevel(level)
