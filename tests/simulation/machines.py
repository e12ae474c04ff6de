"""What stands around the product: a host with its clocks and disk, meters at the end of a wire; no sockets."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from lpirc_power.errors import MeterLost, MeterTimeout
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.integrator import Integrator
from lpirc_power.simulator.loads import Electrical
from lpirc_power.visa import link as _link  # noqa: F401 - imported before any day: what it makes must not be simulated
from lpirc_power.visa import link_failures
from referee.clock import Clock
from tests.simulation.scheduler import Died, Scheduler, SimLock, Task

MORNING = datetime(2027, 6, 20, 9, tzinfo=UTC)
TIMEOUT_S = 2.0
_connect = sqlite3.connect
_statvfs = os.statvfs
_token_hex = secrets.token_hex


class Host(Clock):
    """The referee's host: its clocks, and whether its disk has space. A boot begins its monotonic clock at 0."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.boots_s = [0.0]  # when each boot began, in the time of the world
        self.wall_is_off_s = 0.0
        self.disk_is_full = False
        self.has_little_room = False
        self.writing = SimLock(scheduler)  # the lock of the database's file
        self.writer: Task | None = None

    def monotonic_s(self) -> float:
        return self.scheduler.now_s - self.boots_s[-1]

    def world_s(
        self,
        monotonic_s: float,
        boot_id: str | None,
    ) -> float:
        """A time of that boot's monotonic clock as a time of the world."""
        return monotonic_s + self.boots_s[int(boot_id or "1") - 1]

    def of_process_s(self, monotonic_s: float) -> float:
        return monotonic_s

    def process_s(self) -> float:
        return 0.0

    def utc(self) -> datetime:
        return MORNING + timedelta(seconds=self.scheduler.now_s + self.wall_is_off_s)

    def wait(self, event: threading.Event, until_s: float) -> bool:
        while not event.is_set() and (remaining_s := until_s - self.monotonic_s()) > 0:
            event.wait(remaining_s)
        return event.is_set()

    def boot_id(self) -> str:
        return str(len(self.boots_s))


class Connection(sqlite3.Connection):
    """A connection whose statements take time, can find a full disk, and end with their process."""

    host: Host

    def execute(
        self,
        sql: str,
        *arguments: Any,
    ) -> sqlite3.Cursor:  # type: ignore[override]
        host = self.host
        me = self.host.scheduler.here()
        if me is None:
            return super().execute(sql, *arguments)
        if me.is_dead:
            raise Died
        if sql == "ROLLBACK" and host.writer is me:
            try:
                return super().execute(sql, *arguments)
            finally:
                self._stop_writing()
        if sql == "BEGIN IMMEDIATE":
            host.writing.acquire()
            host.writer = me
        elif host.writer is me:
            if host.disk_is_full and sql.startswith(("INSERT", "UPDATE", "DELETE")):
                raise sqlite3.OperationalError("database or disk is full")
            host.scheduler.point()
        return super().execute(sql, *arguments)

    def _stop_writing(self) -> None:
        self.host.writer = None
        self.host.writing.release()

    def executemany(
        self,
        sql: str,
        *arguments: Any,
    ) -> sqlite3.Cursor:  # type: ignore[override]
        if self.host.disk_is_full:
            raise sqlite3.OperationalError("database or disk is full")
        return super().executemany(sql, *arguments)

    def __exit__(self, *error: Any) -> None:  # type: ignore[override]
        host = self.host
        me = self.host.scheduler.here()
        if me is None:
            super().__exit__(*error)
            return
        try:
            if error[0] is None:
                try:
                    # The disk takes its time.
                    host.scheduler.sleep(
                        host.scheduler.random.choice((0.0, 0.002, 0.02))
                    )
                except Died:
                    super().__exit__(Died, None, None)
                    raise
                if host.disk_is_full:
                    full = sqlite3.OperationalError("database or disk is full")
                    super().__exit__(type(full), full, None)
                    raise full
            super().__exit__(*error)
        finally:
            if host.writer is me:
                self._stop_writing()
        host.scheduler.point()  # killed here, it is on disk and nobody was told


@dataclass
class Session:
    """What a meter's integrator counted from a reset to the next, at a power of its own."""

    start_s: float
    power_w: float
    at_panel: bool
    energy_wh: float = 0.0
    end_s: float | None = None  # when it was reset


class _Counted(Integrator):
    def __init__(self, box: Box) -> None:
        self.box = box
        super().__init__()

    def start(self) -> None:
        is_new = self.state == "RESet"
        super().start()
        if is_new:
            self.box.begin()

    def add(
        self,
        seconds: float,
        power_w: float,
        current_a: float,
        true_power_w: float,
    ) -> None:
        super().add(seconds, power_w, current_a, true_power_w)
        if self.running:
            self.box.sessions[-1].energy_wh = self.plus_wh

    def clear(self) -> None:
        super().clear()
        self.box.end()


@dataclass
class Box:
    """A simulated meter; each session of its integrator is fed with another power, so energies are told apart."""

    address: str
    serial: str
    scheduler: Scheduler
    is_reachable: bool = True
    is_silent: bool = False
    is_at_panel: bool = False
    links: int = 0
    sessions: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.power_w = 20.0
        self.instrument = Instrument(
            self,
            lambda: self.scheduler.now_s,
            self.serial,
            "WT310",
        )
        self.instrument.measuring.integrator = _Counted(self)

    def mean(self, _start_s: float, _end_s: float) -> Electrical:
        return Electrical(120.0, self.power_w / 120.0, self.power_w)

    def begin(self) -> None:
        self.power_w = round(self.scheduler.random.uniform(10.0, 60.0), 3)
        self.sessions.append(
            Session(self.scheduler.now_s, self.power_w, self.is_at_panel)
        )

    def end(self) -> None:
        if self.sessions and self.sessions[-1].end_s is None:
            self.sessions[-1].end_s = self.scheduler.now_s

    def cut(self) -> None:
        """Break every link; new ones can be made if it is reachable."""
        self.links += 1

    def press(self, *keys: str) -> None:
        """What someone does at the panel; keys that do nothing now do nothing."""
        self.is_at_panel = True
        for key in keys:
            self.instrument.execute(f":INTEGRATE:{key}")
        self.instrument.execute("*CLS")
        self.is_at_panel = False

    def switch_off_and_on(self, after: str) -> None:
        self.cut()
        self.instrument.restart(after)


class Wire:
    """In place of `lpirc_power.visa.link.Link`: the instrument's own dialogue, with the failures of a network."""

    boxes: dict[str, Box]

    def __init__(
        self,
        address: str,
        _backend: str = "@py",
        timeout_ms: int = 2000,
        *,
        baud: int | None = None,
    ) -> None:
        assert baud is None
        self.address = address
        self._timeout_s = timeout_ms / 1000
        self._box = self.boxes[address]
        self._scheduler = self._box.scheduler
        if not self._box.is_reachable:
            self._scheduler.sleep(TIMEOUT_S)
            raise link_failures.unreachable(address, "no answer")
        self._link = self._box.links
        self._failed = False

    def write(self, message: str) -> None:
        self._pass()
        self._box.instrument.execute(message)

    def query(
        self,
        message: str,
        timeout_ms: int | None = None,
    ) -> str:
        self._pass()
        answer = None if self._box.is_silent else self._box.instrument.execute(message)
        self._pass()
        if answer is None:
            wait_s = timeout_ms / 1000 if timeout_ms else self._timeout_s
            self._scheduler.sleep(wait_s)
            raise MeterTimeout(
                f"The meter at {self.address} did not answer {message!r} in {wait_s:g} s."
            )
        return answer

    def close(self) -> None:
        self._failed = True

    def _pass(self) -> None:
        self._scheduler.sleep(self._scheduler.random.choice((0.0, 0.001, 0.004)))
        if self._failed or self._link != self._box.links or not self._box.is_reachable:
            self._failed = True
            raise MeterLost(
                f"The link to the meter at {self.address} is lost; check cable and power of the meter."
            )


@contextmanager
def installed(host: Host, boxes: dict[str, Box]) -> Iterator[None]:
    """The product meets this host and these meters."""
    scheduler = host.scheduler

    def connect(*arguments: Any, **more: Any) -> sqlite3.Connection:
        if scheduler.here() is None or "factory" in more:
            return _connect(*arguments, **more)
        connection = _connect(*arguments, factory=Connection, **more)
        connection.host = host
        process = scheduler.me().process
        if process is not None:
            process.at_death.append(connection.close)
        return connection

    def statvfs(path: Any) -> Any:
        if scheduler.here() is None or not host.has_little_room:
            return _statvfs(path)
        return SimpleNamespace(f_bavail=100, f_frsize=4096)

    def token_hex(count: int = 32) -> str:
        return (
            _token_hex(count)
            if scheduler.here() is None
            else scheduler.random.randbytes(count).hex()
        )

    with (
        patch.object(sqlite3, "connect", connect),
        patch.object(os, "statvfs", statvfs),
        patch.object(secrets, "token_hex", token_hex),
        patch("lpirc_power.visa.link.Link", type("Wire", (Wire,), {"boxes": boxes})),
    ):
        yield
