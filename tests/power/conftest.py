"""Real simulators in processes of their own, a relay that can be cut, and waiting for conditions."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.clocks import Clocks
from lpirc_power.meter import IntegratorState, Reading
from tests import warm_programs
from tests.frozen import freeze
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT.parent / "shared" / "data" / "lpirc2015"


@dataclass
class Simulator:
    """A `meter simulate` process."""

    process: Any
    address: str

    @property
    def port(self) -> int:
        return int(re.search(r",(\d+)::", self.address)[1])  # type: ignore[index]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def hang(self) -> None:
        freeze(self.process.pid)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(TIMEOUT_S)


def first_line(process: Any) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
    assert ready, "the simulator said nothing"
    return process.stdout.readline().strip()


@pytest.fixture
def simulate() -> Iterator[Callable[..., Simulator]]:
    """Start simulators with the given options; all are gone at the end."""
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> Simulator:
            command = [
                "meter",
                "simulate",
                "--port",
                str(own_port()),
                *options,
                "--parent",
                str(os.getpid()),
            ]
            process = stack.enter_context(
                warm_programs.start(command, stderr=sys.__stderr__)
            )
            stack.callback(process.kill)
            return Simulator(process, first_line(process))

        yield start


@pytest.fixture
def python_vxi11() -> Any:
    """A second client library, independent of pyvisa."""
    with warnings.catch_warnings():
        # Xdrlib, before it left the standard library.
        warnings.simplefilter("ignore", DeprecationWarning)
        import vxi11.vxi11
    return vxi11.vxi11


@pytest.fixture
def clocks() -> Clocks:
    return Clocks(time.monotonic, lambda: datetime.now(UTC), time.sleep)


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for a condition; it must come true, however slow the machine."""

    def wait(condition: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline_s, "it did not happen"
            time.sleep(0.01)

    return wait


class Relay:
    """A stretch of cable: passes bytes to a port, and can be cut and mended."""

    def __init__(
        self,
        port: int,
    ) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: list[socket.socket] = []
        self._guard = threading.Lock()
        self._whole = True
        self.accepted = 0  # connections since it was mended
        self.passed_bytes = 0  # about: both directions add to it
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"TCPIP::127.0.0.1,{self.port}::INSTR"

    def cut(self) -> None:
        with self._guard:
            self._whole = False
            for end in self._pairs:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        with self._guard:
            self._whole = True
            self.accepted = 0

    def lead_to(
        self,
        port: int,
    ) -> None:
        """Plug the far end in elsewhere: connections from now on go to that port."""
        self._target = port

    def close(self) -> None:
        self.cut()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
        for end in self._pairs:
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with self._guard:
                self._pairs.append(near)
                self.accepted += 1
                if not self._whole:
                    near.shutdown(socket.SHUT_RDWR)
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except ConnectionRefusedError:  # what it leads to has just ended
                    near.shutdown(socket.SHUT_RDWR)
                    continue
                self._pairs.append(far)
            for pair in ((near, far), (far, near)):
                self._threads.append(threading.Thread(target=self._pass, args=pair))
                self._threads[-1].start()

    def _pass(
        self,
        source: socket.socket,
        sink: socket.socket,
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                sink.sendall(data)
                self.passed_bytes += len(data)
        Relay._end((source, sink))

    @staticmethod
    def _end(pair: tuple[socket.socket, socket.socket]) -> None:
        for end in pair:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay() -> Iterator[Callable[[int], Relay]]:
    with contextlib.ExitStack() as stack:

        def lay(port: int) -> Relay:
            laid = Relay(port)
            stack.callback(laid.close)
            return laid

        yield lay


@pytest.fixture
def recordings() -> Path:
    """The recordings of real WT310 runs; a CI machine must have them."""
    if not RECORDINGS.is_dir():
        assert "CI" not in os.environ, f"{RECORDINGS} is missing"
        pytest.skip(f"no recordings at {RECORDINGS}")
    return RECORDINGS


PLAIN = Reading(
    monotonic_s=0.0,
    utc=datetime(2026, 1, 1, tzinfo=UTC),
    voltage_v=120.0,
    current_a=0.05,
    apparent_va=6.0,
    power_w=6.0,
    power_factor=1.0,
    energy_wh=0.0,
    integrator_s=0.0,
    state=IntegratorState.START,
    over_range=False,
    voltage_peak_over=False,
    current_peak_over=False,
    voltage_range_v=150.0,
    current_range_a=0.1,
)


@pytest.fixture(scope="session")
def reading() -> Callable[..., Reading]:
    """Make a reading of 6 W, integrated since 0 s; what differs is given by name."""

    def make(monotonic_s: float, **different: object) -> Reading:
        ran_s = max(monotonic_s, 0.0)
        sums = {
            "energy_wh": PLAIN.power_w * ran_s / 3600.0,
            "integrator_s": float(int(ran_s)),
        }
        return replace(PLAIN, monotonic_s=monotonic_s, **(sums | different))  # type: ignore[arg-type]

    return make
