"""A bench with a meter beside it: energy per inference from the readings during the harness's energy loop."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from power.meter import Reading, Setup
from power.sampling.sampler import Sampler
from referee.cli.options import above_0_s
from referee.clock import Clock
from referee.tracks.submissions.energy import inference_energy
from referee.tracks.submissions.result_fields import field_of, number, whole

UPDATE_INTERVAL_S = 0.1
DEFAULT_LOOP_S = 10.0


@dataclass(frozen=True)
class Metering:
    """Which meter, for how long the loop, and for how long the idle device before it."""

    address: str
    loop_s: float = DEFAULT_LOOP_S
    idle_s: float | None = None


def metered(metering: Metering, bench: Callable[[], bytes], clock: Clock) -> bytes:
    """Bench, with a meter sampling, and put the energy into the result document.

    Raises MeterError; RefereeError as `bench`, and `energy-unmeasured`.
    """
    readings: list[Reading] = []
    setup = Setup(None, None, UPDATE_INTERVAL_S, integrator_timer_s=0)
    sampler = Sampler(metering.address, setup, readings.append, clock.monotonic_s, clock.utc, wait=_wait)
    try:
        identity = sampler.arm(spare_energy=True)
        idle = None if metering.idle_s is None else sampler.measure_idle(metering.idle_s)
        sampler.start()
        try:
            content = bench()
        finally:
            sampler.stop()
    finally:
        sampler.close()
    document = json.loads(content)
    for name, check in LOOP.items():
        check(name, field_of(document, name))
    inferences, start_s, end_s = (field_of(document, name) for name in LOOP)
    document["energy"] = inference_energy(
        readings,
        clock.of_process_s(start_s),
        clock.of_process_s(end_s),
        inferences,
        identity,
        None if idle is None else idle.power_w,
    )
    return json.dumps(document).encode()


LOOP = {
    "energy_loop.inferences": whole(1, 10**12),
    "energy_loop.start_monotonic_s": number(0),
    "energy_loop.end_monotonic_s": number(0),
}


def _wait(event: threading.Event, seconds: float) -> None:
    event.wait(seconds)


def meter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that become the argument `metering`, None without a meter."""

    @click.option("--meter", help="Measure the energy per inference: a VISA address, sim:, rapl:, hwmon:.")
    @click.option(
        "--energy-loop",
        type=float,
        callback=above_0_s,
        help=f"Seconds of inferences for the meter; default: {DEFAULT_LOOP_S:g}.",
    )
    @click.option(
        "--idle",
        type=float,
        callback=above_0_s,
        help="Seconds to measure the idle device with the meter first.",
    )
    @wraps(command)
    def with_metering(
        *arguments: Any, meter: str | None, energy_loop: float | None, idle: float | None, **named: Any
    ) -> Any:
        if meter is None and (energy_loop is not None or idle is not None):
            raise click.UsageError("--energy-loop and --idle are for --meter.")
        metering = None if meter is None else Metering(meter, energy_loop or DEFAULT_LOOP_S, idle)
        return command(*arguments, metering=metering, **named)

    return with_metering
