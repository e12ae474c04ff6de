"""The meter's side, measured: queries, ten minutes at 10 Hz, the energy of a known load, a lost link."""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import vxi11

from bench.figures import row, show
from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.addresses.visa_address import identity
from lpirc_power.clocks import Clocks
from lpirc_power.energy import Check, Measurement, energy_checks, trapezoid_wh
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.sampler import LinkEvent, Sampler
from lpirc_power.visa.link import Link
from lpirc_power.wt300.driver import Wt300
from lpirc_power.wt300.sample import SampleForm

QUERIES = 5000
UPDATE_S = 0.1
LONG_S = 600
LOSS_RUN_S = 120
LOSS_AT_S = 40.0
LOSS_S = 30.0
LOAD = (
    "steps:2W@5s,9W@10s"  # whole periods of 10 s: 5.5 W on average, whenever it begins
)
MEAN_W = 5.5


@dataclass
class Recorded:
    """What one metered stretch left behind."""

    readings: list[Reading] = field(default_factory=list)
    events: list[LinkEvent] = field(default_factory=list)
    final: Reading | None = None
    start_s: float = 0.0
    end_s: float = 0.0
    cpu_s: float = 0.0

    def energy_wh(self) -> float:
        """The energy of record."""
        return self.final.energy_wh if self.final is not None else 0.0

    def trapezoid_wh(self) -> float:
        """The readings' own integral, from the start on for as long as the integrator's timer ran."""
        times = [reading.monotonic_s for reading in self.readings]
        return trapezoid_wh(
            times,
            [reading.power_w for reading in self.readings],
            self.start_s,
            self.end_s,
        )

    def failed_checks(self, setup: Setup) -> str:
        """The codes of the checks that did not hold, but for the one that the meter is a simulated one."""
        return ", ".join(check.code for check in self.checks(setup) if not check.ok)

    def checks(self, setup: Setup) -> tuple[Check, ...]:
        """Every check of the energy."""
        measured = Measurement(
            self.energy_wh(),
            float(setup.integrator_timer_s),
            self.start_s,
            self.end_s,
            setup,
            "WT310",
            limits_of("WT310"),
        )
        return energy_checks(self.readings, measured)


def measure() -> list[dict[str, Any]]:
    """Measure all of it, one after the other; print the table and return its rows."""
    with simulator("--load", LOAD) as (address, _):
        rows = _queries(address)
    with simulator("--load", LOAD) as (address, _):
        rows += _long_run(address)
    with simulator("--load", LOAD) as (address, _), busy_host():
        rows += [
            one | {"what": f"on a busy host: {one['what']}"}
            for one in _long_run(address)
        ]
    with simulator("--load", LOAD, "--control", "0") as (address, control):
        rows += _loss(address, control)
    show("power", rows)
    return rows


@contextlib.contextmanager
def simulator(*options: str) -> Iterator[tuple[str, str]]:
    """A `meter simulate` process; gives its VISA address and, with --control, the address of its control socket."""
    command = [
        sys.executable,
        "-m",
        "lpirc_power",
        "simulate",
        *options,
        "--parent",
        str(os.getpid()),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own program
        if process.stdout is None:
            raise RuntimeError("no pipe")
        address = process.stdout.readline().strip()
        control = (
            process.stdout.readline().split()[-1] if "--control" in options else ""
        )
        yield address, control
        process.terminate()


@contextlib.contextmanager
def busy_host() -> Iterator[None]:
    """Keep every processor of this machine at work."""
    burn = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]  # noqa: S603  our own program
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _queries(address: str) -> list[dict[str, Any]]:
    host = "127.0.0.1"
    port = int(address.split(",")[1].split(":")[0])
    with contextlib.closing(Link(address)) as link:
        clocks = Clocks(time.monotonic, lambda: datetime.now(UTC), time.sleep)
        Wt300(link, identity(link.query("*IDN?")), clocks).attach()
        state_s = _median_s(lambda: link.query(":INTEGRATE:STATE?"))
        sample_s = _median_s(lambda: link.query(SampleForm.of_run("1").question))
    other = vxi11.Instrument(host)
    other.client = vxi11.vxi11.CoreClient(host, port)
    other_s = _median_s(lambda: other.ask(":INTEGRATE:STATE?"))
    other.close()
    return [
        row("median state query (ms)", state_s * 1e3, 0.2),
        row("median query of a whole sample (ms)", sample_s * 1e3, 0.2),
        row("reference: the state query by python-vxi11 (ms)", other_s * 1e3),
        row("reference: two bare echoes over loopback TCP (ms)", 2 * _echo_s() * 1e3),
    ]


def _long_run(address: str) -> list[dict[str, Any]]:
    setup = Setup(150.0, 0.2, UPDATE_S, LONG_S)
    run = metered(address, setup)
    times = [
        reading.monotonic_s
        for reading in run.readings
        if run.start_s <= reading.monotonic_s
    ]
    intervals_s = np.diff([one for one in times if one <= run.end_s])
    expected_wh = MEAN_W * LONG_S / 3600
    return [
        row(f"readings in {LONG_S} s", len(intervals_s) + 1, LONG_S / UPDATE_S),
        row(
            "longest pause between readings (s)",
            float(intervals_s.max()),
            3 * UPDATE_S,
        ),
        row(
            "jitter: standard deviation of the pause (ms)",
            float(np.std(intervals_s - UPDATE_S)) * 1e3,
        ),
        row(
            "jitter: 99th percentile off 100 ms (ms)",
            float(np.quantile(abs(intervals_s - UPDATE_S), 0.99)) * 1e3,
        ),
        row("CPU of the sampler (% of a core)", 100 * run.cpu_s / LONG_S, 2.0),
        row(
            "integrator off the load's energy (%)",
            100 * abs(run.energy_wh() / expected_wh - 1),
            0.05,
        ),
        row(
            "trapezoid off the load's energy (%)",
            100 * abs(run.trapezoid_wh() / expected_wh - 1),
            0.05,
        ),
        row("checks that failed", run.failed_checks(setup) or "none", "none"),
    ]


def _loss(address: str, control: str) -> list[dict[str, Any]]:
    setup = Setup(150.0, 0.2, UPDATE_S, LOSS_RUN_S)
    lost = threading.Timer(LOSS_AT_S, _send, (control, f"drop-link {LOSS_S:g}"))
    run = metered(address, setup, lost)
    pauses_s = [
        later.monotonic_s - earlier.monotonic_s
        for earlier, later in pairwise(run.readings)
    ]
    expected_wh = MEAN_W * LOSS_RUN_S / 3600
    return [
        row(
            f"link lost for {LOSS_S:g} s: longest pause (s)",
            max(pauses_s),
            LOSS_S + 2,
        ),
        row(
            "its integrator off the load's energy (%)",
            100 * abs(run.energy_wh() / expected_wh - 1),
            0.05,
        ),
        row(
            "its events",
            ", ".join(event.kind for event in run.events),
            "meter-lost, meter-back",
        ),
        # Nothing shows which of its powers a load of steps had meanwhile.
        row(
            "its failed checks",
            run.failed_checks(setup) or "none",
            "reading-gaps, unseen-energy",
        ),
    ]


def metered(
    address: str,
    setup: Setup,
    beside: threading.Timer | None = None,
) -> Recorded:
    """Sample until the integrator's own timer has ended it, with what happens `beside`."""
    run = Recorded()
    over = threading.Event()

    def take(reading: Reading) -> None:
        run.readings.append(reading)
        if reading.state.value == "TIMEUP":
            over.set()

    sampler = Sampler(
        address,
        setup,
        take,
        time.monotonic,
        lambda: datetime.now(UTC),
        on_link=run.events.append,
    )
    with contextlib.closing(sampler):
        sampler.arm()
        if beside is not None:
            beside.start()
        before_s = time.process_time()
        sampler.start()
        run.start_s = time.monotonic()
        run.end_s = run.start_s + setup.integrator_timer_s
        over.wait(setup.integrator_timer_s + 60)
        run.cpu_s = time.process_time() - before_s
        run.final = sampler.stop()
    return run


def _send(control: str, line: str) -> None:
    host, _, port = control.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(line.encode() + b"\n")
        connection.recv(1024)


def _median_s(call: Callable[[], object]) -> float:
    taken_s = []
    for _ in range(QUERIES):
        before_s = time.perf_counter()
        call()
        taken_s.append(time.perf_counter() - before_s)
    return statistics.median(taken_s)


def _echo_s() -> float:
    """A query is two exchanges, a write and a read; this is what the machine takes for one without any content."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := peer.recv(256):
                peer.sendall(data)

    threading.Thread(target=answer, daemon=True).start()
    with listener, socket.create_connection(listener.getsockname()) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def call() -> None:
            connection.sendall(bytes(64))
            connection.recv(256)

        return _median_s(call)
