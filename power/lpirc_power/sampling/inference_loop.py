"""Energy of an inference: the meter samples while a program runs a model and then its energy loop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from lpirc_power.addresses.meter_address import standing
from lpirc_power.energy.inference import inference_energy
from lpirc_power.errors import EnergyUnmeasured
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.sampler import Sampler

UPDATE_INTERVAL_S: Final = 0.1


def metered(
    address: str,
    bench: Callable[[], bytes],
    monotonic: Callable[[], float],
    utcnow: Callable[[], datetime],
    *,
    idle_s: float | None = None,
    take_over: bool = False,
    of_process_s: Callable[[float], float] = float,
    require_going_on: Callable[[], object] = lambda: None,
) -> bytes:
    """Run `bench` while a meter samples, and add `energy` for the `energy_loop` that the result document states.

    The idle device is measured first, for `idle_s`. The document states the loop in Python's monotonic clock;
    `of_process_s` converts such a time to the clock `monotonic`. `require_going_on` may raise before `bench`, to end
    the run. If the meter still holds an energy, `meter-busy` is raised unless `take_over`. Raises MeterError, including
    EnergyUnmeasured, and whatever `bench` raises.
    """
    readings: list[Reading] = []
    setup = Setup(None, None, UPDATE_INTERVAL_S, integrator_timer_s=0)
    sampler = Sampler(address, setup, readings.append, monotonic, utcnow)
    try:
        identity = sampler.arm(take_over=take_over, spare_energy=True)
        idle_w = (
            None
            if idle_s is None
            else sampler.measure_idle(idle_s, require_going_on).power_w
        )
        require_going_on()
        sampler.start()
        try:
            content = bench()
        finally:
            sampler.stop()
    finally:
        sampler.close()
    document, inferences, start_s, end_s = _parsed(content)
    start_s = of_process_s(start_s)
    end_s = of_process_s(end_s)
    energy = inference_energy(readings, start_s, end_s, inferences, identity, idle_w)
    document["energy"] = energy | {"official": standing(identity, address).official}
    return json.dumps(document).encode()


def _parsed(content: bytes) -> tuple[dict[str, Any], int, float, float]:
    """Return the document, its number of loop inferences, and the loop's start and end. Raises EnergyUnmeasured."""
    try:
        document = json.loads(content)
        loop = document["energy_loop"]
        inferences = int(loop["inferences"])
        start_s = float(loop["start_monotonic_s"])
        end_s = float(loop["end_monotonic_s"])
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        sentence = "The program that was measured states no energy_loop; run lpirc-harness with --energy-loop-s."
        raise EnergyUnmeasured(sentence) from error
    if inferences < 1 or not (math.isfinite(start_s) and start_s < end_s < math.inf):
        sentence = f"The energy loop of {inferences} inferences from {start_s:g} s to {end_s:g} s is impossible."
        raise EnergyUnmeasured(sentence)
    return document, inferences, start_s, end_s
