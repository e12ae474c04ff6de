"""Whole runs, and looks, in each form of answers."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from click.testing import CliRunner

from lpirc_power.cli import main
from lpirc_power.meter import IntegratorState, Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.visa.link import Link

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=0.5,
    update_interval_s=0.1,
    integrator_timer_s=1,
)
WATCHED = ":COMMUNICATE:HEADER?;:COMMUNICATE:VERBOSE?;:NUMERIC:NORMAL?;:INPUT:VOLTAGE?;:RATE?;:STATUS:FILTER1?"


def test_a_run_has_its_energy_and_leaves_the_meter_as_it_was(
    simulate: Callable[..., Any],
    until: Callable[..., None],
) -> None:
    address = simulate("--load", "constant:36W").address
    readings: list[Any] = []
    sampler = Sampler(
        address,
        SETUP,
        readings.append,
        time.monotonic,
        lambda: datetime.now(UTC),
    )
    with contextlib.closing(Link(address)) as spy, contextlib.closing(sampler) as run:
        spy.write(":INPUT:VOLTAGE:RANGE 60;:NUMERIC:ITEM2 TIME")
        before = spy.query(WATCHED)
        run.arm()
        run.start()
        until(lambda: readings and readings[-1].state is IntegratorState.TIMEUP)
        final = run.stop()
        assert final.energy_wh == 0.01
        assert final.integrator_s == 1.0
        assert run.changes == ()
        run.close()
        assert spy.query(WATCHED) == before


def test_a_probe_changes_nothing(
    simulate: Callable[..., Any],
) -> None:
    address = simulate("--load", "constant:36W").address
    with contextlib.closing(Link(address)) as spy:
        spy.write(":INPUT:VOLTAGE:RANGE 150;:INPUT:CURRENT:RANGE 0.5")
        before = spy.query(WATCHED)
        ran = CliRunner().invoke(main, ["probe", address, "--json"])
        assert ran.exit_code == 0, ran.output
        assert json.loads(ran.output)["reading"]["power_w"] == 36.0
        assert spy.query(WATCHED) == before
