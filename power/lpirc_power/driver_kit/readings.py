"""Checks of readings: types and clocks, units that fit one another, a known load, and speed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from lpirc_power.addresses.meter_address import limits_at
from lpirc_power.driver_kit.bench import Bench, Sample, mean_power_w
from lpirc_power.driver_kit.contract import clock_problem, reading_problem
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.energy.power_error_limit import Load, limit_of_load
from lpirc_power.meter import Identity, Limits, Reading
from lpirc_power.own_term import own_limit_w

VA_SHARE: Final = 0.05
"""Allowed difference of volt-amperes from voltage x current, which is none in mode rms but for rounding."""
FACTOR: Final = 0.03
UNKNOWN_SHARE: Final = 0.05
"""Allowed difference from a known load, if the driver states no limits."""
NEAR_UPDATES: Final = 0.3
"""Part of the updates that may be missing or too many: the device has a clock of its own."""
SPARED: Final = 2
LEAST_CHANGED: Final = 0.75
"""Least part of the updates whose values differ from those before, if the device itself makes each of them."""
BUSY: Final = (
    "This computer was busy elsewhere for {:.2g} s; end other programs, and try again."
)


def values(bench: Bench) -> Iterator[Finding]:
    """`readings`: numbers, flags and times of every reading are what the protocol says."""
    problems: list[str] = []
    for one in bench.samples:
        problem = reading_problem(one.reading)
        if problem and f"a reading {problem}" not in problems:
            problems.append(f"a reading {problem}")
    if not problems and bench.samples:
        problem = clock_problem(bench.samples[-1].reading, bench)
        problems += [problem] if problem else []
    yield judged(
        "readings",
        problems[:3],
        f"{len(bench.samples)} readings have numbers, flags and times as they should.",
        "lpirc_power.meter.Reading says what each value is.",
    )


def units(bench: Bench) -> Iterator[Finding]:
    """`units`: volts, amperes, volt-amperes, watts and power factor fit one another."""
    problems: list[str] = []
    compared = 0
    for one in bench.samples:
        problem = unit_problem(one.reading)
        compared += problem is not None
        if problem and problem not in problems:
            problems.append(problem)
    if problems:
        advice = "Give V, A, VA and W, and NaN for what the device does not measure."
        yield fails("units", f"{problems[0]}.", advice)
    elif not compared:
        yield not_tried("units", "No reading has two values that can be compared.")
    else:
        yield holds("units", "Voltage x current, VA, W and power factor fit together.")


def unit_problem(reading: Reading) -> str | None:
    """Return what does not fit in a reading, "" if all does, None if nothing can be compared."""
    power_w = reading.power_w
    product_va = reading.voltage_v * reading.current_a
    apparent_va = reading.apparent_va
    factor = reading.power_factor
    has_both = math.isfinite(product_va) and math.isfinite(apparent_va)
    largest_va = apparent_va if math.isfinite(apparent_va) else product_va
    has_power = math.isfinite(power_w) and math.isfinite(largest_va)
    if has_both and abs(apparent_va - product_va) > VA_SHARE * product_va + 1e-3:
        return (
            f"{reading.voltage_v:.4g} V x {reading.current_a:.4g} A are {product_va:.4g} VA, not {apparent_va:.4g} "
            f"VA{_thousand(apparent_va, product_va)}"
        )
    if has_power and abs(power_w) > (1 + VA_SHARE) * abs(largest_va) + 1e-3:
        return (
            f"{power_w:.4g} W is more than the {largest_va:.4g} VA of voltage and current"
            f"{_thousand(power_w, largest_va)}"
        )
    if math.isfinite(factor) and abs(factor) > 1 + FACTOR:
        return f"a power factor of {factor:.4g} is more than 1: give a fraction, not percent"
    if math.isfinite(factor) and has_power and largest_va > 0:
        found = power_w / largest_va
        if abs(abs(factor) - abs(found)) > FACTOR:
            return f"the power factor is {factor:.4g}, but {power_w:.4g} W / {largest_va:.4g} VA are {found:.4g}"
    return "" if has_both or has_power or math.isfinite(factor) else None


def _thousand(shown: float, expected: float) -> str:
    ratio = abs(shown / expected) if expected else math.nan
    for factor, words in ((1000.0, "milli for units"), (0.001, "kilo for units")):
        if math.isclose(ratio, factor, rel_tol=0.6):
            return f": {words}?"
    return ""


def load(bench: Bench, identity: Identity) -> Iterator[Finding]:
    """`load`: the known load is measured within the limits that the driver states."""
    known = bench.load
    if known is None:
        yield not_tried("load", "No load is known; give one, as --load 36W.")
        return
    fresh = [one for one in bench.samples if one.is_new]
    finite = [one for one in fresh if math.isfinite(one.reading.power_w)]
    if not finite:
        yield fails(
            "load", "No reading shows a power.", "Connect the load, and give power_w."
        )
        return
    limits = limits_at(bench.address, identity)
    problems = []
    if known.is_steady:
        shown_w = mean_power_w(finite)
        problems += _off(shown_w, known.levels_w[0], finite, bench, limits)
    elif bench.seconds < known.period_s:
        yield not_tried(
            "load",
            f"The schedule takes {known.period_s:g} s: add --seconds {known.period_s:g}.",
        )
        return
    else:
        for level_w in known.levels_w:
            nearest = min(finite, key=lambda one: abs(one.reading.power_w - level_w))
            shown_w = nearest.reading.power_w
            problems += _off(shown_w, level_w, [nearest], bench, limits)
    stated = "the stated limits" if limits else f"{UNKNOWN_SHARE:.0%}"
    yield judged(
        "load",
        problems,
        f"The known load is measured within {stated}.",
        "Look for a wrong unit, element, wire or ratio; or state the meter's own limits.",
    )


def _off(
    shown_w: float,
    level_w: float,
    samples: Sequence[Sample],
    bench: Bench,
    limits: Limits | None,
) -> list[str]:
    reading = samples[-1].reading
    share = bench.load.share if bench.load else 0.0
    shown = Load(reading.voltage_v, reading.current_a, level_w, reading.apparent_va)
    stated = limit_of_load(bench.setup, limits, shown)
    meter_w = UNKNOWN_SHARE * level_w
    if limits is not None and stated is not None:
        meter_w = stated.whole_w + own_limit_w(limits.own, level_w)
    allowed_w = meter_w + share * level_w
    if abs(shown_w - level_w) <= allowed_w:
        return []
    thousand = _thousand(shown_w, level_w)
    return [
        f"{shown_w:.5g} W are shown for a load of {level_w:g} W; {allowed_w:.3g} W are allowed{thousand}"
    ]


def updates(bench: Bench) -> Iterator[Finding]:
    """`updates`: each update is marked as new once, and nothing changes without the mark."""
    samples = bench.samples
    lasted_s = samples[-1].asked_s - samples[0].asked_s
    expected = lasted_s / bench.interval_s
    marked = sum(one.is_new for one in samples)
    spared = SPARED + NEAR_UPDATES * expected
    silent = [
        later
        for earlier, later, after in zip(
            samples, samples[1:], [*samples[2:], None], strict=False
        )
        if not later.is_new
        and _shown(earlier.reading) != _shown(later.reading)
        and not (after is not None and after.is_new)
    ]
    told = f"{marked} of {len(samples)} answers in {lasted_s:.3g} s"
    each = f"an update each {bench.interval_s:g} s makes about {expected:.0f}"
    advice = (
        "`read_update` returns True for the first sample of an update, and False until the next; the update interval "
        "is that of the setup."
    )
    if bench.is_busy and not expected - spared <= marked <= expected + spared:
        yield not_tried("updates", BUSY.format(bench.stall_s))
    elif not marked:
        yield fails(
            "updates", f"No answer in {lasted_s:.3g} s was marked as new.", advice
        )
    elif marked > expected + spared:
        yield fails("updates", f"{told} were marked as new; {each}.", advice)
    elif marked < expected - spared:
        yield fails("updates", f"Only {told} were marked as new; {each}.", advice)
    elif len(silent) > SPARED:
        yield fails(
            "updates",
            f"{len(silent)} answers differ from the one before without being marked as new.",
            advice,
        )
    else:
        yield holds("updates", f"{told} were marked as new{_fresh_words(samples)}.")


def _fresh_words(samples: Sequence[Sample]) -> str:
    """Say that each update was marked once; of repeated values, that the device may update less often."""
    fresh = [_shown_with_energy(one.reading) for one in samples if one.is_new]
    changed = 1 + sum(after != before for before, after in pairwise(fresh))
    if changed >= LEAST_CHANGED * len(fresh):
        return ": each update once"
    return (
        f", with {changed} different values: a device that updates less often states `age_s`, and is asked with a "
        "longer --update"
    )


def _shown_with_energy(reading: Reading) -> tuple[str, str]:
    return _shown(reading), repr(reading.energy_wh)


def _shown(reading: Reading) -> str:
    # As text, since NaN does not equal itself. WH may go on between two updates.
    return repr((reading.voltage_v, reading.current_a, reading.power_w))


def speed(bench: Bench) -> Iterator[Finding]:
    """`speed`: a sample takes less than an update interval."""
    # A driver may show the last update from memory; only a new one is asked of the device.
    fresh = [one for one in bench.samples if one.is_new] or bench.samples
    took = [one.answered_s - one.asked_s for one in fresh]
    median_s = statistics.median(took)
    quickest_s = min(took)
    rate = f"{1 / median_s:.0f}" if median_s > 0 else "any number of"
    told = (
        f"{rate} updates a second could be read; the quickest took {1000 * quickest_s:.3g} ms, the slowest "
        f"{1000 * max(took):.3g} ms"
    )
    # The quickest, because a busy computer makes any other one slow.
    if quickest_s > bench.interval_s and bench.is_busy:
        yield not_tried("speed", BUSY.format(bench.stall_s))
    elif quickest_s > bench.interval_s:
        yield fails(
            "speed",
            f"{told}, and an update comes each {1000 * bench.interval_s:g} ms.",
            "Ask for everything in one message, keep the connection open, or refuse so short an update interval.",
        )
    else:
        yield holds("speed", f"{told}.")


def order(bench: Bench) -> Iterator[Finding]:
    """`order`: times and sums of a running integrator never fall from reading to reading."""
    problems: list[str] = []
    for earlier, later in pairwise(one.reading for one in bench.samples):
        for name in ("monotonic_s", "integrator_s"):
            before = getattr(earlier, name)
            after = getattr(later, name)
            if after < before and not problems:
                problems.append(f"{name} falls from {before:.6g} to {after:.6g}")
    yield judged(
        "order",
        problems,
        "Times never fall from reading to reading.",
        "Count on from one origin.",
    )
