"""Contest folders over one small test set, and simulated meters in processes of their own."""

from __future__ import annotations

import os
import re
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.store import Store, database
from tests import warm_programs
from tests.ports import own_port
from tests.referee.factories import House, house
from tests.referee.new_tables import create_quickly
from tests.timeouts import TIMEOUT_S

LEFT = ("sampler", "deadline", "resume", "watch-worker")
"""What the names of threads begin with that may not outlive a test."""


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "small",
        images=5,
        categories=3,
        seed=1,
        size=(96, 64),
    )


@pytest.fixture(autouse=True)
def new_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every test makes a database: its tables are made at once; test_schema holds them to the real ones."""
    monkeypatch.setattr(database, "create_tables", create_quickly)


@pytest.fixture(autouse=True)
def warm_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meters at `sim:` start in a tenth of the time; tests/power starts them as users do."""
    monkeypatch.setattr(
        "lpirc_power.addresses.simulator_address.subprocess",
        warm_programs.Simulators,
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "contest.db", create=True)
    yield made
    made.close()


@pytest.fixture
def short_lock_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write gives up soon when another process is writing, so that a test need not wait for half a minute."""
    monkeypatch.setattr(database, "LOCK_TIMEOUT_S", 0.02)


@pytest.fixture
def build(tmp_path: Path, small_set: TestSet) -> Iterator[Callable[..., House]]:
    """Make contest folders; their meters and their databases are closed at the end."""
    with ExitStack() as stack:

        def make(
            *stations: dict[str, object],
            name: str = "contest",
            **keys: object,
        ) -> House:
            return stack.enter_context(
                house(tmp_path / name, small_set, stations, **keys)
            )

        yield make


@dataclass
class Instrument:
    """A simulated meter that outlives the referee."""

    process: Any
    address: str
    options: tuple[str, ...]

    @property
    def port(self) -> str:
        found = re.search(r",(\d+)::", self.address)
        assert found
        return found[1]

    def die(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def instrument() -> Iterator[Callable[..., Instrument]]:
    """Start simulated meters with the given options."""
    with ExitStack() as stack:

        def start(*options: str) -> Instrument:
            command = [
                "meter",
                "simulate",
                "--port",
                str(own_port()),
                *options,
                "--parent",
                str(os.getpid()),
            ]
            process = warm_programs.start(command, stderr=sys.__stderr__)
            made = Instrument(process, "", options)
            stack.callback(made.die)
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], TIMEOUT_S)[0], (
                "the simulator said nothing"
            )
            made.address = process.stdout.readline().strip()
            return made

        yield start


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait for a condition; it must come true, however slow the machine."""

    def wait(condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline_s, "it did not happen"
            time.sleep(0.01)

    return wait


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Whatever a test does, the threads of its runs end with its contest, and none serves in this process."""
    yield
    deadline_s = time.monotonic() + TIMEOUT_S
    while left := [t for t in threading.enumerate() if t.name.startswith(LEFT)]:
        assert time.monotonic() < deadline_s, f"left over: {left}"
        time.sleep(0.01)
