"""Checks of what a driver states of its meters: limits of error, whether they are simulated or on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.cable import place_of
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.limit_problems import limit_problems, limits_that_differ
from lpirc_power.loopback import is_this_machine
from lpirc_power.meter import Identity, Limits, Meter

NO_MODEL: Final = "no such model"
LARGEST_SHARE: Final = 0.2
"""A larger share is a percentage: 1.0 for 1 %."""


def limits(bench: Bench, found: Identity) -> Iterator[Finding]:
    """`limits`: shares are fractions, the source is named, and other models have none."""
    kind = bench.subject.kind
    stated: object = kind.limits(found.model)
    bench.stated = stated
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
    problems = problems_of(stated)
    if kind.limits(NO_MODEL) is not None:
        problems.append("a model that does not exist has limits, too")
    yield judged(
        "limits",
        problems,
        f"The limits of {found.model} are from: {stated.source}.",
        "Shares are fractions (1 % is 0.01); `source` names document and page; another model has None.",
    )


def problems_of(stated: Limits) -> list[str]:
    """Return what cannot be in limits of error, and what no data sheet states."""
    problems = list(limit_problems(stated))
    if problems:
        return problems
    for one in fields(stated):
        value = getattr(stated, one.name)
        if one.name.endswith("_share") and value and value > LARGEST_SHARE:
            problems.append(f"{one.name} = {value:g} is {100 * value:g} %")
    shares = stated.reading_share, stated.range_share, stated.apparent_share
    if not any(shares):
        problems.append("all shares are 0, as no meter's are")
    if not stated.smallest_range_w:
        problems.append("smallest_range_w = 0 W")
    if not stated.source.strip():
        problems.append("`source` is empty")
    for own in stated.own:
        if own.share > LARGEST_SHARE:
            problems.append(
                f"the own term {own.code!r} has share = {own.share:g}, which is {100 * own.share:g} %"
            )
        if not (own.name.strip() and own.source.strip()):
            problems.append(f"the own term {own.code!r} has no name or no source")
    return problems


def same_limits(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`same-limits`: asked again later, the driver states the same, since a recording is checked for years."""
    before = bench.stated
    after: object = bench.subject.kind.limits(meter.identity.model)
    problems = []
    if isinstance(before, Limits) and before != after and not limit_problems(before):
        differ = f"{before!r:.60} became {after!r:.60}"
        if isinstance(after, Limits):
            differ = limits_that_differ(before, after)
        problems.append(f"`limits` states others than at the beginning: {differ}")
    yield judged(
        "same-limits",
        problems,
        "`limits` states the same at the end as at the beginning.",
        "State by the model alone: not by the time, the settings or a file.",
    )


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
