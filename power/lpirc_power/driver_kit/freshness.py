"""Checks of how fresh a meter's values are: how often WH really changes, and what rubbish on the link does."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from lpirc_power.addresses.meter_address import MeterAddress, limits_at
from lpirc_power.driver_kit.bench import Bench, Sample
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.driver_kit.integrator import continued_problems
from lpirc_power.errors import MeterDriverError, MeterError, PassingMeterError
from lpirc_power.home.meter import SHORTEST_UPDATE_S
from lpirc_power.meter import Limits, Meter, Setup

LEAST_CHANGES: Final = 4
LOOSE: Final = 1.2
STEP_LOOSE: Final = 1.5
RUBBISH_S: Final = 3.0
"""Longest time in which a driver must have read what the device sends."""
UNSEEN: Final = "A delay that is always the same cannot be seen."


def age(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`age`: WH changes as often as the driver states, so that a value is no older than that."""
    finest = _finest(bench, meter)
    meter.configure(finest)
    meter.start()
    samples = _asked(bench, meter)
    meter.stop()
    looks_s = statistics.median(
        later.asked_s - earlier.asked_s for earlier, later in pairwise(samples)
    )
    limits = limits_at(bench.address, meter.identity)
    changes = [
        (later.asked_s, later.reading.energy_wh - earlier.reading.energy_wh)
        for earlier, later in pairwise(samples)
        if later.reading.energy_wh != earlier.reading.energy_wh
    ]
    if len(changes) < LEAST_CHANGES:
        yield not_tried(
            "age",
            f"WH changed {len(changes)} times in {bench.seconds:g} s; give more --seconds, or connect a larger load.",
        )
        return
    each_s = statistics.median(
        later - earlier for (earlier, _), (later, _) in pairwise(changes)
    )
    step_wh = statistics.median(abs(rise) for _, rise in changes)
    # What a meter with updates of its own shows is of its last update, by its own clock.
    own_s = finest.update_interval_s if meter.choices().update_intervals_s else 0.0
    yield _judged(bench, limits, each_s, step_wh, looks_s + own_s)


def _judged(
    bench: Bench, limits: Limits | None, each_s: float, step_wh: float, looks_s: float
) -> Finding:
    stated_s = limits.age_s if limits else None
    told = f"WH changes each {each_s:.2g} s"
    if stated_s is not None:
        taken = f"the driver states values up to {stated_s:g} s old"
    else:
        stated_s = bench.interval_s
        taken = f"without `age_s` a value is taken to be up to an update interval old, {stated_s:g} s"
    own_wh = max((one.energy_wh for one in limits.own), default=0.0) if limits else 0.0
    if each_s <= LOOSE * stated_s + looks_s:
        return holds("age", f"{told}; {taken}. {UNSEEN}")
    if step_wh <= STEP_LOOSE * own_wh:
        return holds("age", f"{told}, by the step that the driver states. {UNSEEN}")
    advice = f"State `age_s={each_s:.2g}` in Limits, or the step of the counter as an OwnTerm with `energy_wh`."
    return fails("age", f"{told}, but {taken}.", advice)


def _finest(bench: Bench, meter: Meter) -> Setup:
    """Return the setup with the shortest update interval of the meter."""
    offered = meter.choices().update_intervals_s or (SHORTEST_UPDATE_S,)
    finest = replace(bench.setup, update_interval_s=min(offered))
    try:
        meter.require_possible(finest)
    except MeterError:
        return bench.setup
    return finest


def _asked(bench: Bench, meter: Meter) -> list[Sample]:
    end_s = bench.clocks.monotonic() + bench.seconds
    found = [bench.sampled(meter)]
    while bench.clocks.monotonic() < end_s:
        bench.clocks.pause(SHORTEST_UPDATE_S)
        found.append(bench.sampled(meter))
    return found


def rubbish(bench: Bench, address: MeterAddress) -> Iterator[Finding]:
    """`rubbish`: bytes without a meaning, in the middle of a recording, are no reading, and do not end a run."""
    cable = bench.cable
    if not (cable.can_spoil and bench.subject.is_scheme):
        yield not_tried("rubbish", "The kit cannot change what the device sends.")
        return
    meter = address.connect(bench.clocks)
    meter.configure(bench.setup)
    meter.start()
    bench.clocks.pause(3 * bench.interval_s)
    before = meter.read()
    cable.spoil()
    try:
        seen, problem = _after_rubbish(bench, meter)
    finally:
        cable.plug()
    if problem:
        advice = "Raise MeterAnswerError for an answer without a meaning: a run then opens a new link."
        yield fails("rubbish", problem, advice)
        meter.close()
        return
    if seen:
        meter.close()
        meter = address.connect(bench.clocks)
        meter.attach(bench.setup.element)
    bench.clocks.pause(2 * bench.interval_s)
    after = meter.read()
    yield judged(
        "rubbish",
        continued_problems(bench, before, after, meter.state(), bench.rate_w),
        f"Rubbish from the device is no reading ({seen or 'it is left out'}), and the integrator has gone on.",
        "Check that an answer has every value before it becomes a Sample.",
    )
    meter.stop()
    meter.close()


def _after_rubbish(bench: Bench, meter: Meter) -> tuple[str, str]:
    """Ask until the rubbish was read; return the error that tells of it, and what is wrong."""
    end_s = bench.clocks.monotonic() + RUBBISH_S + 2 * bench.interval_s
    told = "For rubbish from the device `read_update` raises"
    while bench.cable.is_spoiled and bench.clocks.monotonic() < end_s:
        bench.clocks.pause(bench.interval_s / 5)
        try:
            meter.read_update()
        except MeterDriverError as error:
            return "", f"{told} what is no MeterError: {error.sentence}"
        except PassingMeterError as error:
            return error.code, ""
        except MeterError as error:
            return "", f"{told} {error.code}, which ends a run."
    return "", ""
