"""Runs that nothing happens to, on a host that is busy, in every dialect: no check fails, and the energy is exact.

CLEAN_RUNS=2000 tries as many in each dialect; `make test-all` takes a few.
"""

from __future__ import annotations

import contextlib
import os
import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.instrument_state import DIALECTS
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.vxi11 import Vxi11Server
from tests.power.sampling.conftest import Paced

RUNS = int(os.environ.get("CLEAN_RUNS", "4"))
LOADS = (
    "constant:36W",
    "steps:20W@3s,40W@4s",
    "steps:12W@1s,45W@1.3s",
    "noise:30W,sd=2W,seed=3",
)
INTERVALS_S = (0.1, 0.1, 0.25, 0.5, 1.0)
BUSY_SHARE = 0.03
BUSY_S = 0.3
"""How often the host is late, and by how much at most."""
Rng = np.random.Generator


class BusyHost(Paced):
    """A sampler's clock, and a meter on it; the host is late now and then."""

    def __init__(
        self,
        rng: Rng,
        load: str,
        dialect: str,
    ) -> None:
        super().__init__()
        self.server.close()
        self._rng = rng
        self.now_s += float(rng.uniform(0.0, 1.0))
        self.instrument = Instrument(
            parse_load(load, self.monotonic),
            self.monotonic,
            dialect=dialect,
        )
        self.now_s += float(rng.uniform(2.0, 3.0))
        self.server = Vxi11Server(self.instrument, "127.0.0.1", 0)

    def wait(
        self,
        event: threading.Event,
        seconds: float,
    ) -> bool:
        late_s = (
            float(self._rng.uniform(0.0, BUSY_S))
            if self._rng.random() < BUSY_SHARE
            else 0.0
        )
        return super().wait(event, seconds + late_s)


def failures(
    rng: Rng,
    dialect: str,
) -> list[str]:
    """Run once; return the errors that its checks find."""
    host = BusyHost(rng, str(rng.choice(LOADS)), dialect)
    window_s = int(rng.integers(8, 20))
    voltage_range_v, current_range_a = (
        (150.0, 0.5) if rng.random() < 0.8 else (None, None)
    )
    timer_s = window_s if rng.random() < 0.7 else 0
    setup = Setup(
        voltage_range_v,
        current_range_a,
        float(rng.choice(INTERVALS_S)),
        timer_s,
    )
    readings: list[Reading] = []
    address = f"TCPIP::127.0.0.1,{host.server.port}::INSTR"
    sampler = Sampler(
        address,
        setup,
        readings.append,
        host.monotonic,
        lambda: datetime.now(UTC),
        wait=host.wait,
    )
    with contextlib.closing(host.server), contextlib.closing(sampler):
        identity = sampler.arm()
        host.end_s = host.now_s
        sampler.start()
        start_s = host.now_s
        host.until_s(start_s + window_s)
        end_s = host.now_s
        final = sampler.stop()
        host.end_s = float("inf")
    limits = limits_of(identity.model)
    elapsed_s = end_s - start_s
    assert sampler.ran_s is not None
    measured = Measurement(
        final.energy_wh, final.integrator_s, start_s, end_s, setup, identity.model, limits,
        changes=sampler.changes, start_stop_s=sampler.ran_s - elapsed_s,
    )  # fmt: skip
    found = energy_checks(readings, measured)
    return [
        check.code + ": " + check.sentence
        for check in found
        if not check.ok and check.severity == "error"
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_clean_run_is_flagged(dialect: str) -> None:
    flagged = []
    for seed in range(RUNS):
        found = failures(np.random.default_rng([seed, 1]), dialect)
        if found:
            flagged.append((seed, found))
    assert len(flagged) <= RUNS / 1000, flagged
