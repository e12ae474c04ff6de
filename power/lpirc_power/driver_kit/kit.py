"""The kit: every check of a driver, in an order in which a failure spoils as little as possible of what follows."""

from __future__ import annotations

import contextlib
import functools
import math
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from lpirc_power.addresses.driver_registry import FAILURES
from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.addresses.visa_address import family_of
from lpirc_power.driver_kit import (
    contract,
    dialect,
    freshness,
    integrator,
    losses,
    readings,
    recording,
    statements,
)
from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.finding import Finding, fails, not_tried
from lpirc_power.errors import (
    MeterBusy,
    MeterDriverError,
    MeterError,
    PassingMeterError,
)
from lpirc_power.meter import IntegratorState, Meter, require_no_energy
from lpirc_power.sampling.armed_meter import lacks_ranges

TO_RAISE: Final = (
    "Catch it in the driver, and raise the MeterError of lpirc_power.errors that fits."
)

NO_LINK: Final = "Is the device there, and the address right?"

DEMANDS: Final = (
    "address", "find", "standing", "library", "family", "identity", "limits", "choices", "calls", "refusals",
    "two-links", "reset", "start", "busy", "readings", "units", "load", "updates", "speed", "order", "energy", "time",
    "late", "link", "stop", "timer", "second-run", "age", "same-limits", "lost", "back", "silent", "rubbish", "restart",
    "dialect", "no-data", "over-range", "headers", "short-words", "close", "unreachable", "restore", "recording",
    "uncertainty",
)  # fmt: skip
"""Codes of the findings, in their order; `recording-CODE` is a check of the energy that fails."""

Check = Callable[[], Iterable[Finding]]


def examined(bench: Bench) -> Iterator[Finding]:
    """Yield the finding of each check, and of a recording by the real sampler, which runs on this machine's clock.

    The driver is found by its address, as if it were installed. Raises MeterInUseError, before anything is
    set, if the meter integrates or holds an energy.
    """
    yield from examined_alone(bench)
    if bench.samples:
        with bench.subject.installed():
            yield from _tried("recording", lambda: recording.recording(bench))


def examined_alone(bench: Bench) -> Iterator[Finding]:
    """Yield the finding of each check of the driver itself, at the bench's clocks."""
    with bench.subject.installed():
        yield from _tried("address", lambda: contract.addresses(bench))
        yield from _tried("find", lambda: contract.search(bench))
        if bench.subject.address is None:
            yield not_tried(
                "meter", "Give an address: the rest needs a meter, or a fake of it."
            )
            return
        yield from _tried("standing", lambda: statements.standing(bench))
        yield from _tried("library", lambda: losses.missing_library(bench))
        yield from _tried("open", lambda: _with_meter(bench))
        yield from _tried("unreachable", lambda: losses.unreachable(bench))
        if not bench.samples:
            yield not_tried("recording", "Nothing else was tried without readings.")
            return
        yield from _tried("restore", lambda: recording.give_back(bench))


def _with_meter(bench: Bench) -> Iterator[Finding]:
    with contextlib.closing(bench.opened()) as address:
        yield from _tried("identity", lambda: _first_link(bench, address))
        if not bench.samples:
            return
        for code, check in _ON_LINK:
            yield from _tried(code, functools.partial(_linked, bench, address, check))
        yield from _tried("lost", lambda: losses.lost(bench, address))
        yield from _tried("silent", lambda: losses.silent(bench, address))
        yield from _tried("rubbish", lambda: freshness.rubbish(bench, address))
        yield from _tried("restart", lambda: losses.restart(bench, address))
    yield from _tried("dialect", lambda: dialect.dialects(bench, bench.setup))
    yield from _tried("close", lambda: contract.closing(bench))


def _first_link(bench: Bench, address: MeterAddress) -> Iterator[Finding]:
    """Identify the meter, make every call, and measure once, with a link lost between."""
    with contextlib.closing(address.connect(bench.clocks)) as meter:
        if not bench.subject.is_scheme:
            problem = _family_problem(bench, meter)
            if problem:
                yield problem
                return
        _require_free(meter)
        checks: tuple[tuple[str, Check], ...] = (
            ("identity", lambda: contract.identity(bench, meter)),
            ("limits", lambda: statements.limits(bench, meter.identity)),
            ("choices", lambda: _fitted(bench, meter)),
            ("calls", lambda: contract.calls(bench, meter)),
            ("refusals", lambda: contract.refusals(bench, meter)),
            ("two-links", lambda: contract.two_links(bench, meter)),
            ("reset", lambda: integrator.reset(bench, meter)),
            ("start", lambda: integrator.start(bench, meter)),
            ("readings", lambda: _polled(bench, meter)),
        )
        for code, check in checks:
            yield from _tried(code, check)
        if bench.samples:
            yield from _tried("late", lambda: integrator.late(bench, meter))
            yield from _tried("link", lambda: integrator.link(bench, meter, address))


def _family_problem(bench: Bench, meter: Meter) -> Finding | None:
    """Return the failure that another driver than the one under test has made the meter; None if it is its own."""
    plugin, kind = family_of(meter.identity)
    if kind is bench.subject.kind:
        return None
    return fails(
        "family",
        f"The meter {meter.identity} is taken by {plugin.point.value}.",
        "Let `matches` return True for it; a meter of a built-in family stays with the built-in driver.",
    )


def _polled(bench: Bench, meter: Meter) -> Iterator[Finding]:
    bench.samples = bench.polled(meter, bench.seconds)
    yield from readings.values(bench)
    yield from readings.units(bench)
    yield from readings.load(bench, meter.identity)
    yield from readings.updates(bench)
    yield from readings.speed(bench)
    yield from readings.order(bench)
    yield from integrator.counts(bench)


def _linked(
    bench: Bench,
    address: MeterAddress,
    check: Callable[[Bench, Meter], Iterable[Finding]],
) -> Iterator[Finding]:
    with contextlib.closing(address.connect(bench.clocks)) as meter:
        meter.attach(bench.setup.element)
        yield from check(bench, meter)


_ON_LINK: Final = (
    ("stop", integrator.stop),
    ("timer", integrator.timer),
    ("second-run", integrator.second_run),
    ("age", freshness.age),
    ("same-limits", statements.same_limits),
)


class MeterInUseError(MeterBusy):
    """The meter integrates or holds an energy: its driver is not tried."""


def _require_free(meter: Meter) -> None:
    try:
        require_no_energy(meter)
    except MeterBusy as error:
        raise MeterInUseError(error.sentence) from error
    if meter.state() is IntegratorState.START:
        raise MeterInUseError(
            f"The meter {meter.identity} is integrating; end what uses it, and reset it, before its driver is tried."
        )


def _tried(code: str, check: Check) -> Iterator[Finding]:
    """Yield the findings of a check; whatever it raises is a failure of that check."""
    try:
        yield from check()
    except MeterInUseError:
        raise
    except MeterDriverError as error:
        yield fails(code, f"{error.sentence}{_place(error.__cause__)}", TO_RAISE)
    except MeterError as error:
        advice = NO_LINK if isinstance(error, PassingMeterError) else ""
        yield fails(code, f"{error.code}: {error.sentence}", advice)
    except FAILURES as error:
        told = " ".join(str(error).split())
        yield fails(code, f"{type(error).__name__}: {told}{_place(error)}.", TO_RAISE)


def _place(error: BaseException | None) -> str:
    """Return the file and line that raised an exception, for a person who mends it."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    if not frames:
        return ""
    last = frames[-1]
    return f" ({Path(last.filename).name}, line {last.lineno})"


def _fitted(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """Take the update interval of the meter that is nearest to the one that is wanted, and no ranges that it lacks."""
    if lacks_ranges(meter, bench.setup):
        bench.setup = replace(bench.setup, voltage_range_v=None, current_range_a=None)
        yield not_tried(
            "choices", "The meter offers no ranges, so the fixed ones are left out."
        )
    offered = meter.choices().update_intervals_s
    if offered:
        wanted_s = bench.setup.update_interval_s
        nearest_s = min(offered, key=lambda one: abs(math.log(one / wanted_s)))
        bench.setup = replace(bench.setup, update_interval_s=nearest_s)
