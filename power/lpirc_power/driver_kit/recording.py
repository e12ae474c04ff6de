"""A short recording by the real sampler, and all checks of its energy."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lpirc_power.addresses.meter_address import limits_at, standing
from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.finding import Finding, fails, holds, not_tried
from lpirc_power.energy import Check, Energy, Measurement, energy_checks, energy_of
from lpirc_power.energy.energy_budget import budget_of
from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading
from lpirc_power.report.budget_words import interval_words
from lpirc_power.sampling.sampler import Sampler

OF_THE_METER: Final = ("official-meter", "accuracy", "low-load")
"""Checks that judge the meter, its ranges or the load, not how the driver works."""


def recording(bench: Bench) -> Iterator[Finding]:
    """`recording-...`: the sampler records, and every check of the energy holds; `uncertainty`: it is known."""
    readings: list[Reading] = []
    timer_s = math.ceil(bench.seconds)
    setup = replace(bench.setup, integrator_timer_s=timer_s)
    clocks = bench.clocks
    sampler = Sampler(
        bench.address, setup, readings.append, clocks.monotonic, clocks.utcnow
    )
    with contextlib.closing(sampler):
        identity = sampler.arm(spare_energy=False)
        sampler.start()
        start_s = clocks.monotonic()
        clocks.pause(bench.seconds)
        end_s = clocks.monotonic()
        final = sampler.stop()
        changes = sampler.changes
        ran_s = sampler.ran_s
    elapsed_s = min(end_s - start_s, timer_s)
    counts = standing(identity, bench.subject.address or bench.address)
    measured = Measurement(
        integrator_wh=final.energy_wh,
        integrator_s=final.integrator_s,
        start_s=start_s,
        end_s=start_s + elapsed_s,
        setup=setup,
        model=identity.model,
        limits=limits_at(bench.address, identity),
        official=counts.official,
        changes=changes,
        start_stop_s=None if ran_s is None else ran_s - elapsed_s,
        standing=counts,
    )
    energy = energy_of(measured.inside(readings), measured)
    yield from _checked(readings, measured, energy)
    yield _uncertainty(energy)


def _checked(
    readings: list[Reading], measured: Measurement, energy: Energy
) -> Iterator[Finding]:
    told = f"{len(readings)} readings, {energy.energy_wh:.4g} Wh"
    found = energy_checks([*readings], measured, energy)
    missed = [one for one in found if not one.ok and _is_of_driver(one)]
    wrong = [one for one in missed if one.severity == "error"]
    for one in wrong:
        advice = "docs/energy.md, 'Checks', says what this check compares."
        yield fails(f"recording-{one.code}", one.sentence, advice)
    if not wrong:
        # A changing load on automatic ranges, or a busy host, is no fault of a driver.
        warned = " ".join(f"A warning: {one.sentence}" for one in missed)
        sentence = (
            f"The sampler recorded {told}; no check of severity error fails. {warned}"
        )
        yield holds("recording", sentence.strip())


def _is_of_driver(one: Check) -> bool:
    return one.code not in OF_THE_METER


def _uncertainty(energy: Energy) -> Finding:
    if energy.source is None:
        return not_tried(
            "uncertainty", "The driver states no limits of error that can be used."
        )
    budget = budget_of(energy)
    if not budget.is_known:
        advice = "Give what the stated limits need: VA if apparent_share is not 0."
        return fails("uncertainty", budget.unknown, advice)
    own = [part.name for part in energy.parts if part.is_own]
    told = f", with {', '.join(own)}" if own else ""
    return holds(
        "uncertainty", f"{len(budget.terms)} terms make {interval_words(budget)}{told}."
    )


def give_back(bench: Bench) -> Iterator[Finding]:
    """`restore`: at the end the integrator is reset and the settings that were found are back."""
    with contextlib.closing(bench.opened()) as address:
        meter = address.connect(bench.clocks)
        try:
            before = meter.status()
            meter.configure(bench.setup)
            meter.restore()
            after = meter.status()
        except MeterError as error:
            yield fails("restore", error.sentence, "`restore` undoes `configure`.")
            return
        finally:
            meter.close()
    same = (before.mode, before.crest_factor, before.line_filter)
    if same != (after.mode, after.crest_factor, after.line_filter):
        yield fails(
            "restore",
            f"The settings were {before}, and are {after}.",
            "`restore` brings back what the first `configure` found.",
        )
    else:
        yield holds("restore", "`restore` brings back the settings that were found.")
