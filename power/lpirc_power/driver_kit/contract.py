"""Checks of the contract: addresses, identity, every call and its types, errors, two links, closing."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, Final

from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.errors import (
    MeterAddressError,
    MeterBusy,
    MeterDriverError,
    MeterError,
    MeterRangeError,
    MeterRefused,
    PassingMeterError,
)
from lpirc_power.meter import Identity, Meter, Reading
from lpirc_power.reading_problem import reading_problem as type_problem
from lpirc_power.scheme import Scheme

Allowed = tuple[type[MeterError], ...]
ADDRESSES: Final = ("", " ", "/", "\N{SNOWMAN}", "x" * 300)
"""What people write behind the colon by mistake."""
FOREVER_S: Final = 1e9
"""An update interval that no meter has."""
WALL_S: Final = 5.0
"""Allowed difference of a reading's UTC from the host's clock."""


def addresses(bench: Bench) -> Iterator[Finding]:
    """`address`: an address of another form is taken, or refused with MeterAddressError, before anything is opened."""
    if not bench.subject.is_scheme:
        yield not_tried("address", "The address of a VISA meter is not the driver's.")
        return
    problems = []
    for rest in ADDRESSES:
        try:
            bench.subject.kind(rest)
        except MeterAddressError:
            continue
        except Exception as error:  # noqa: BLE001 - the driver's code may raise anything
            problems.append(f"{rest[:20]!r} raises {type(error).__name__}: {error}")
    advice = (
        "Raise MeterAddressError in __init__ with a sentence that shows the right form."
    )
    yield judged(
        "address", problems, "Other forms of an address are refused in words.", advice
    )


def search(bench: Bench) -> Iterator[Finding]:
    """`find`: every address that the driver lists begins with its scheme and can be taken."""
    kind = bench.subject.kind
    if not bench.subject.is_scheme:
        yield not_tried("find", "VISA meters are found by their answer to *IDN?.")
        return
    listed = list(kind.find())
    scheme = f"{bench.subject.name}:"
    wrong = [one for one in listed if not str(one).startswith(scheme)]
    if wrong:
        advice = f"`find` returns whole addresses, as {scheme}..."
        yield fails("find", f"{wrong[0]!r} is listed.", advice)
    elif kind.find is Scheme.find:
        yield not_tried("find", "The driver lists no meters for `meter find`.")
    else:
        yield holds("find", f"{len(listed)} addresses are listed.")


def identity(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`identity`: four words that survive being written and read; the model is what `limits` knows."""
    found = meter.identity
    named = {one.name: getattr(found, one.name) for one in fields(Identity)}
    problems = []
    for name, value in named.items():
        if not isinstance(value, str) or not value.strip():
            problems.append(f"{name} is {value!r}")
        elif not value.isprintable():
            problems.append(f"{name} {value!r} has control characters")
    if not problems and str(Identity.parse(str(found))) != str(found):
        problems.append(f"{str(found)!r} reads back as {Identity.parse(str(found))}")
    yield judged(
        "identity",
        problems,
        f"The meter is {found}.",
        "Give maker, model, serial number and firmware as plain words, such as 'unknown' for one that there is not.",
    )


def calls(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`calls`: every call before a run returns what the protocol says, or raises the error that it names."""
    setup = bench.setup
    wanted: tuple[tuple[str, Callable[[], Any], Allowed], ...] = (
        ("look", meter.look, ()),
        ("attach", meter.attach, ()),
        ("require_possible", lambda: meter.require_possible(setup), ()),
        ("state", meter.state, ()),
        ("choices", lambda: _choices_problem(meter), ()),
        ("status", lambda: _status_problem(meter), ()),
        ("peaks", lambda: _floats_problem(meter.peaks()), ()),
        ("read", lambda: reading_problem(meter.read()), ()),
        ("zero", meter.zero, (MeterRefused, MeterBusy)),
    )
    problems = []
    for name, call, allowed in wanted:
        try:
            problem = call()
        except allowed:
            continue
        except MeterDriverError:
            raise
        except MeterError as error:
            problem = f"raises {error.code} ({error.sentence})"
        if isinstance(problem, str) and problem:
            problems.append(f"`{name}` {problem}".removesuffix("."))
    yield judged(
        "calls",
        problems,
        f"{len(wanted)} calls return what the protocol says.",
        "lpirc_power.meter.Meter says what each returns; lpirc_power.home.meter.HomeMeter has all of them.",
    )


def refusals(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`refusals`: what the meter cannot do is refused with MeterRangeError, and nothing else."""
    setup = bench.setup
    impossible = replace(setup, update_interval_s=FOREVER_S)
    problems = []
    try:
        meter.require_possible(impossible)
        problems.append(f"an update interval of {FOREVER_S:g} s is taken")
    except MeterRangeError:
        pass
    except MeterDriverError:
        raise
    except MeterError as error:
        problems.append(f"an update interval of {FOREVER_S:g} s raises {error.code}")
    elements = meter.choices().elements
    for element in ("2", "3"):
        if element in elements:
            continue
        try:
            meter.attach(element)
            problems.append(
                f"element {element}, which the meter does not have, is taken"
            )
        except MeterRangeError:
            pass
        except MeterDriverError:
            raise
        except MeterError as error:
            problems.append(f"element {element} raises {error.code}")
    meter.attach(setup.element)
    yield judged(
        "refusals",
        problems,
        "An impossible update interval and another element are refused.",
        "Raise MeterRangeError in `require_possible` and `attach`, before anything is set.",
    )


def two_links(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`two-links`: a second link shows the same meter, or is refused as locked; the first link goes on working."""
    told = str(meter.identity)
    problems = []
    sentence = "A second link shows the same meter, and the first goes on working."
    with contextlib.closing(bench.opened()) as other:
        try:
            second = other.connect(bench.clocks)
        except MeterDriverError:
            raise
        except PassingMeterError as error:
            sentence = f"A second link is refused: {error.code}."
        except MeterError as error:
            problems.append(
                f"a second link raises {error.code}, which says that no later link can work"
            )
        else:
            if str(second.identity) != told:
                problems.append(f"a second link shows {second.identity}, not {told}")
            second.close()
    try:
        meter.state()
        meter.read()
    except MeterDriverError:
        raise
    except MeterError as error:
        problems.append(f"closing the second link breaks the first ({error.code})")
    yield judged(
        "two-links",
        problems,
        sentence,
        "Two programs may use a meter: share it, or raise MeterLocked (`meter-locked`) in `connect`.",
    )


def closing(bench: Bench) -> Iterator[Finding]:
    """`close`: a link and an address are closed twice without harm, and a new link then works."""
    problems = []
    address = bench.opened()
    meter = address.connect(bench.clocks)
    before = str(meter.identity)
    for _ in range(2):
        meter.close()
    again = address.connect(bench.clocks)
    if str(again.identity) != before:
        problems.append(f"after closing, {again.identity} answers, not {before}")
    again.close()
    for _ in range(2):
        address.close()
    yield judged(
        "close",
        problems,
        "Links and address can be closed twice, and a new link shows the same meter.",
        "A second `close` does nothing.",
    )


def reading_problem(reading: Reading) -> str:
    """Return what in a reading is not as the protocol says; empty if all is."""
    if problem := type_problem(reading):
        return problem
    shown = reading.voltage_v, reading.current_a, reading.power_w
    if any(math.isinf(one) for one in shown) and not reading.over_range:
        return "has an infinite value, which is over range, and over_range is False"
    return ""


def clock_problem(reading: Reading, bench: Bench) -> str:
    """Return what is wrong with the times of a reading that was just taken; empty if nothing is."""
    late_s = bench.clocks.monotonic() - reading.monotonic_s
    if not -1e-6 <= late_s <= 2 * bench.interval_s + WALL_S:
        return f"monotonic_s is {late_s:.4g} s away from the host's clock: use clocks.monotonic()"
    off_s = (bench.clocks.utcnow() - reading.utc).total_seconds()
    if abs(off_s) > 2 * bench.interval_s + WALL_S:
        return f"utc is {off_s:.4g} s away from the host's clock: use clocks.utcnow()"
    return ""


def _status_problem(meter: Meter) -> str:
    status = meter.status()
    if not isinstance(status.errors, tuple):
        return f"has errors = {status.errors!r}, which is not a tuple"
    numbers = status.voltage_range_v, status.current_range_a, status.update_interval_s
    if not all(isinstance(one, (int, float)) for one in numbers):
        return f"has {numbers}, which are not numbers"
    return ""


def _choices_problem(meter: Meter) -> str:
    choices = meter.choices()
    for one in fields(choices):
        found = getattr(choices, one.name)
        if not isinstance(found, tuple):
            return f"has {one.name} = {found!r}, which is not a tuple"
    return ""


def _floats_problem(value: Any) -> str:
    for one in fields(value):
        found = getattr(value, one.name)
        if not isinstance(found, (int, float)):
            return f"has {one.name} = {found!r}, where a number must be"
    return ""
