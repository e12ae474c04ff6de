"""Measures the energy of an inference: a meter samples while the harness runs its energy loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lpirc_power.errors import EnergyUnmeasured
from lpirc_power.sampling import inference_loop
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.open_track import OpenTrack
from lpirc_tracks.submissions.submitting import Bench
from referee.clock import Clock
from referee.errors import RefereeError

DEFAULT_LOOP_S = 10.0


@dataclass(frozen=True)
class Metering:
    """The meter's address, the length of the energy loop, and how long to measure the device idle beforehand."""

    address: str
    loop_s: float = DEFAULT_LOOP_S
    idle_s: float | None = None


def bench_on(
    track: OpenTrack, limits: Limits, metering: Metering | None, clock: Clock
) -> Bench:
    """Return a function that benches a model on a track's test set within the rule's budget, with a meter if given."""
    images = track.test_set
    rule = track.rule
    bench = partial(
        harness.bench,
        images=images.folder,
        rule=rule,
        budget_s=rule.budget_s(len(images.images)),
        limits=limits,
    )
    if metering is None:
        return bench
    return lambda model: metered(
        metering, lambda: bench(model, energy_loop_s=metering.loop_s), clock
    )


def metered(metering: Metering, bench: Callable[[], bytes], clock: Clock) -> bytes:
    """Bench while a meter samples, and add the energy to the result document.

    Raises MeterError; RefereeError as `bench` does, and `energy-unmeasured`.
    """
    address = metering.address
    idle_s = metering.idle_s
    of_process_s = clock.of_process_s
    try:
        return inference_loop.metered(
            address,
            bench,
            clock.monotonic_s,
            clock.utc,
            idle_s=idle_s,
            of_process_s=of_process_s,
        )
    except EnergyUnmeasured as error:
        raise RefereeError(error.code, error.sentence) from error
