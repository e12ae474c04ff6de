"""Checks of what a driver states of its meters: limits of error, whether they are simulated or on this machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.cable import place_of
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.loopback import is_this_machine
from lpirc_power.meter import Identity, Limits

NO_MODEL: Final = "no such model"
LARGEST_SHARE: Final = 0.2
"""A larger share is a percentage: 1.0 for 1 %."""


def limits(bench: Bench, found: Identity) -> Iterator[Finding]:
    """`limits`: shares are fractions, the source is named, and other models have none."""
    kind = bench.subject.kind
    stated: object = kind.limits(found.model)
    elsewhere = limits_of(found.model)
    if stated is None and elsewhere is not None:
        yield holds("limits", f"Another driver states them, from: {elsewhere.source}.")
        return
    if stated is None:
        yield not_tried(
            "limits",
            f"`limits` states none for {found.model!r}, so its energies have no uncertainty; state those of its data "
            "sheet.",
        )
        return
    if not isinstance(stated, Limits):
        yield fails(
            "limits", f"`limits` returns {stated!r:.60}.", "Return Limits or None."
        )
        return
    problems = limit_problems(stated)
    if kind.limits(NO_MODEL) is not None:
        problems.append("a model that does not exist has limits, too")
    yield judged(
        "limits",
        problems,
        f"The limits of {found.model} are from: {stated.source}.",
        "Shares are fractions (1 % is 0.01); `source` names document and page; another model has None.",
    )


def limit_problems(stated: Limits) -> list[str]:
    """Return what cannot be in limits of error."""
    problems = []
    for one in fields(stated):
        value = getattr(stated, one.name)
        if not one.name.endswith("_share") or value is None:
            continue
        if not 0 <= value <= LARGEST_SHARE:
            problems.append(f"{one.name} = {value:g} is {100 * value:g} %")
    shares = stated.reading_share, stated.range_share, stated.apparent_share
    if not any(shares):
        problems.append("all shares are 0, as no meter's are")
    if not 0 < stated.smallest_range_w < math.inf:
        problems.append(f"smallest_range_w = {stated.smallest_range_w:g} W")
    if not stated.source.strip():
        problems.append("`source` is empty")
    for own in stated.own:
        given = [one for one in (own.share, own.power_w, own.energy_wh) if one]
        if len(given) != 1 or given[0] < 0 or own.share > LARGEST_SHARE:
            problems.append(
                f"the term {own.code!r} has share = {own.share:g}, power_w = {own.power_w:g} and energy_wh = "
                f"{own.energy_wh:g}, of which one is above 0"
            )
        if not (own.name.strip() and own.source.strip()):
            problems.append(f"the term {own.code!r} has no name or no source")
    return problems


def standing(bench: Bench) -> Iterator[Finding]:
    """`loopback` and `simulated`: what the address says of the meter is told as it is."""
    kind = bench.subject.kind
    rest = bench.subject.rest
    if not bench.subject.is_scheme:
        yield not_tried("standing", "The address of a VISA meter is not the driver's.")
        return
    told: dict[str, object] = {
        name: getattr(kind, name)(rest) for name in ("is_loopback", "is_simulated")
    }
    problems = [
        f"`{name}` returns {value!r}"
        for name, value in told.items()
        if not isinstance(value, bool)
    ]
    place = place_of(rest)
    near = place is not None and is_this_machine(place.host)
    if near and not problems and not any(told.values()):
        problems.append(
            f"{bench.subject.address} leads to this machine, and neither `is_loopback` nor `is_simulated` says so"
        )
    if problems:
        advice = "Return is_this_machine(HOST) of lpirc_power.loopback: any program of this machine can answer there."
        yield fails("standing", f"{'; '.join(problems)}.", advice)
        return
    said = [name for name, value in told.items() if value]
    words = " and ".join(said) or "neither loopback nor simulated"
    yield holds("standing", f"The address is stated as {words}.")
