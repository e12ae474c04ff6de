"""What the drivers installed here say of a recording's meter, beside what its record states."""

from __future__ import annotations

from dataclasses import replace

from lpirc_power.addresses.meter_address import Answering, driver_at, standing
from lpirc_power.energy import Measurement
from lpirc_power.limit_problems import limit_problems, limits_that_differ
from lpirc_power.meter import Limits
from lpirc_power.record.document import Record, Started


def as_known(
    measured: Measurement, record: Record
) -> tuple[Measurement, tuple[str, ...]]:
    """Return a measurement with the limits and the standing that count here, and a sentence for what differed.

    Anybody can write a record. The standing is that of the driver here, and so are the limits of a built-in one. A
    plug-in may state other limits today than when it measured: then those of the recording count. A meter that no
    driver here knows keeps what its record says. Limits that cannot be are none.
    """
    started = record.started
    usable, sentences = _usable(measured)
    driver = None if started is None else driver_at(record.address, started.identity)
    if started is None or driver is None:
        return usable, sentences
    stated = driver.statement(started.identity.model)
    limits, differing = _limits(
        usable.limits, stated.limits, started.identity.model, driver
    )
    known, of_standing = _standing(usable, record, started)
    refused = "" if limits else stated.refused or usable.limits_refused
    known = replace(known, limits=limits, limits_refused=refused)
    return known, (*sentences, *differing, *of_standing)


def _usable(measured: Measurement) -> tuple[Measurement, tuple[str, ...]]:
    """Leave out limits of error that cannot be."""
    problems = () if measured.limits is None else limit_problems(measured.limits)
    if not problems:
        return measured, ()
    sentence = f"The limits of error in the record cannot be ({'; '.join(problems)}), so they are left out."
    left = replace(measured, limits=None, limits_refused=sentence)
    return left, (sentence,)


def _limits(
    stated: Limits | None, found: Limits | None, model: str, driver: Answering
) -> tuple[Limits | None, tuple[str, ...]]:
    """Return the limits that count, and how those of the record differ from the driver's."""
    if stated == found:
        return found, ()
    if stated is None:
        sentence = f"The record states no limits of error of this {model}; those of the driver here are used."
        return found, (sentence,)
    if found is None:
        sentence = (
            f"The record states limits of error of this {model}, and the driver here none; those of the record are "
            "used."
        )
        return stated, (sentence,)
    figures = limits_that_differ(stated, found)
    told = f"The record states other limits of error of this {model} than the driver here: {figures}."
    if driver.is_built_in:
        return found, (f"{told} Those of the driver are used.",)
    return stated, (f"{told} Those of the record are used.",)


def _standing(
    measured: Measurement, record: Record, started: Started
) -> tuple[Measurement, tuple[str, ...]]:
    """Return a measurement with the standing that its meter has here, and how that of the record differs."""
    counts = standing(started.identity, record.address)
    known = replace(
        measured,
        model=started.identity.model,
        standing=counts,
        official=counts.official,
    )
    if measured.standing in (counts, None):
        return known, ()
    sentence = (
        f"The record states the standing {measured.standing} of this meter, and the driver here {counts}, which is "
        "used."
    )
    return known, (sentence,)
