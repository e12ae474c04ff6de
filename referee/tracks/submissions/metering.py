"""Measures the energy of an inference: a meter samples while the harness runs its energy loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lpirc_power.addresses import standing
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.sampler import Sampler
from referee.clock import Clock
from referee.tracks.submissions import harness
from referee.tracks.submissions.energy import inference_energy
from referee.tracks.submissions.fields import field_of, number, whole
from referee.tracks.submissions.harness import Limits
from referee.tracks.submissions.open_track import OpenTrack
from referee.tracks.submissions.submitting import Bench

UPDATE_INTERVAL_S = 0.1
DEFAULT_LOOP_S = 10.0
LOOP_FIELDS = {
    "energy_loop.inferences": whole(1, 10**12),
    "energy_loop.start_monotonic_s": number(0),
    "energy_loop.end_monotonic_s": number(0),
}


@dataclass(frozen=True)
class Metering:
    """The meter's address, the length of the energy loop, and how long to measure the idle device before it."""

    address: str
    loop_s: float = DEFAULT_LOOP_S
    idle_s: float | None = None


def bench_on(track: OpenTrack, limits: Limits, metering: Metering | None, clock: Clock) -> Bench:
    """What benches a model on a track's test set, within the rule's budget, with a meter where there is one."""
    images, rule = track.test_set, track.rule
    bench = partial(
        harness.bench,
        images=images.folder,
        rule=rule,
        budget_s=rule.budget_s(len(images.images)),
        limits=limits,
    )
    if metering is None:
        return bench
    return lambda model: metered(metering, lambda: bench(model, energy_loop_s=metering.loop_s), clock)


def metered(metering: Metering, bench: Callable[[], bytes], clock: Clock) -> bytes:
    """Bench while a meter samples, and add the energy to the result document.

    Raises MeterError; RefereeError as `bench`, and `energy-unmeasured`.
    """
    readings: list[Reading] = []
    setup = Setup(None, None, UPDATE_INTERVAL_S, integrator_timer_s=0)
    sampler = Sampler(metering.address, setup, readings.append, clock.monotonic_s, clock.utc)
    try:
        identity = sampler.arm(spare_energy=True)
        idle_w = None if metering.idle_s is None else sampler.measure_idle(metering.idle_s).power_w
        sampler.start()
        try:
            content = bench()
        finally:
            sampler.stop()
    finally:
        sampler.close()
    document = json.loads(content)
    for name, check in LOOP_FIELDS.items():
        check(name, field_of(document, name))
    inferences, *ends_s = (field_of(document, name) for name in LOOP_FIELDS)
    start_s, end_s = map(clock.of_process_s, ends_s)
    energy = inference_energy(readings, start_s, end_s, inferences, identity, idle_w)
    document["energy"] = energy | {"official": standing(identity, metering.address).official}
    return json.dumps(document).encode()
