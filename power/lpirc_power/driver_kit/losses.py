"""Checks of what goes wrong: no meter, a pulled cable, a silent meter, a restart of the device."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Final

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.driver_kit.integrator import continued_problems
from lpirc_power.errors import (
    MeterBackendMissing,
    MeterDriverError,
    MeterError,
    MeterTimeout,
    MeterUnreachable,
    PassingMeterError,
)
from lpirc_power.meter import IntegratorState, Meter, Reading

LONGEST_S: Final = 15.0
"""Longest time in which a dead meter must be noticed; a run waits ten seconds for its energy."""
UPDATES: Final = 8.0
RETRY_S: Final = 0.25


def unreachable(bench: Bench) -> Iterator[Finding]:
    """`unreachable`: where no meter is, `connect` raises MeterUnreachable (or MeterTimeout), in time."""
    address = bench.nowhere
    if address is None and bench.cable.why_not:
        yield not_tried(
            "unreachable",
            "Give an address at which nothing answers: --nowhere ADDRESS.",
        )
        return
    if address is not None:
        with contextlib.closing(MeterAddress(address)) as opened:
            yield _unreachable(bench, opened)
        return
    bench.cable.pull()
    try:
        with contextlib.closing(bench.opened()) as opened:
            yield _unreachable(bench, opened)
    finally:
        bench.cable.plug()


def _unreachable(bench: Bench, address: MeterAddress) -> Finding:
    advice = "Raise MeterUnreachable from `connect`: a run then tries again."
    began_s = bench.clocks.monotonic()
    try:
        address.connect(bench.clocks).close()
    except MeterDriverError:
        raise
    except (MeterUnreachable, MeterTimeout) as error:
        took_s = bench.clocks.monotonic() - began_s
        if took_s > LONGEST_S:
            return fails(
                "unreachable",
                f"`connect` takes {took_s:.0f} s to say that no meter answers.",
                "Use a timeout of a few seconds.",
            )
        return holds("unreachable", f"No meter: {error.code} after {took_s:.2g} s.")
    except MeterError as error:
        return fails(
            "unreachable", f"Where no meter is, `connect` raises {error.code}.", advice
        )
    return fails(
        "unreachable",
        "Where no meter is, `connect` returns a meter.",
        f"Ask the device for its identity in `connect`. {advice}",
    )


def lost(bench: Bench, address: MeterAddress) -> Iterator[Finding]:
    """`lost` and `back`: a pulled cable is an error that passes, and afterwards the integrator has gone on."""
    cable = bench.cable
    if cable.why_not:
        for code in ("lost", "back"):
            yield not_tried(code, cable.why_not)
        return
    meter = address.connect(bench.clocks)
    meter.configure(bench.setup)
    meter.start()
    bench.clocks.pause(3 * bench.interval_s)
    before = meter.read()
    cable.pull()
    try:
        yield _lost(bench, meter, "lost", "The cable is pulled")
        meter.close()
    finally:
        cable.plug()
    power_w = bench.rate_w
    again = _reached(bench, address)
    again.attach(bench.setup.element)
    state = again.state()
    bench.clocks.pause(2 * bench.interval_s)
    after = again.read()
    yield judged(
        "back",
        continued_problems(bench, before, after, state, power_w),
        "After the link is back the integrator has gone on.",
        "The integrator must outlive a link: use the device's own counter, and keep its start in the Scheme or Driver.",
    )
    again.stop()
    again.close()


def silent(bench: Bench, address: MeterAddress) -> Iterator[Finding]:
    """`silent`: a meter that keeps its link and answers nothing is an error that passes, in time."""
    if bench.cable.why_not or not bench.cable.can_hang:
        yield not_tried(
            "silent",
            bench.cable.why_not or "The kit cannot keep a link and pass nothing on.",
        )
        return
    meter = _reached(bench, address)
    meter.attach(bench.setup.element)
    bench.cable.hang()
    try:
        yield _lost(bench, meter, "silent", "The meter answers nothing")
        meter.close()
    finally:
        bench.cable.pull()
        bench.cable.plug()


def _lost(bench: Bench, meter: Meter, code: str, what: str) -> Finding:
    """Ask until an error tells of the loss."""
    advice = "Raise MeterLost (the link broke) or MeterTimeout (no answer): a run then opens a new link."
    began_s = bench.clocks.monotonic()
    end_s = began_s + max(UPDATES * bench.interval_s, 3.0)
    while bench.clocks.monotonic() < end_s:
        try:
            meter.read_update()
        except MeterDriverError:
            raise
        except PassingMeterError as error:
            took_s = bench.clocks.monotonic() - began_s
            if took_s > LONGEST_S:
                return fails(
                    code,
                    f"{what}, and `read_update` says so after {took_s:.0f} s.",
                    "Use a timeout of a few seconds.",
                )
            return holds(code, f"{what}: {error.code} after {took_s:.2g} s.")
        except MeterError as error:
            return fails(
                code,
                f"{what}, and `read_update` raises {error.code}, which ends a run.",
                advice,
            )
        bench.clocks.pause(bench.interval_s / 5)
    lasted_s = bench.clocks.monotonic() - began_s
    return fails(
        code,
        f"{what}, and `read_update` goes on returning readings for {lasted_s:.2g} s.",
        f"Ask the device at each update. {advice}",
    )


def _reached(bench: Bench, address: MeterAddress) -> Meter:
    """Return the meter at a new link; a device may take a moment to answer again."""
    end_s = bench.clocks.monotonic() + LONGEST_S
    while True:
        try:
            return address.connect(bench.clocks)
        except PassingMeterError:
            if bench.clocks.monotonic() > end_s:
                raise
        bench.clocks.pause(RETRY_S)


def restart(bench: Bench, address: MeterAddress) -> Iterator[Finding]:
    """`restart`: after a restart of the device the energy is not silently another one."""
    if bench.restart is None:
        yield not_tried(
            "restart", "The kit cannot restart the device; give --restart COMMAND."
        )
        return
    meter = _reached(bench, address)
    meter.configure(bench.setup)
    meter.start()
    bench.clocks.pause(max(4 * bench.interval_s, 1.0))
    before = meter.read()
    bench.restart()
    bench.clocks.pause(2 * bench.interval_s)
    seen = ""
    try:
        after = meter.read_update()[0]
        state = meter.state()
    except MeterDriverError:
        raise
    except MeterError as error:
        seen = f"{error.code}, "
        meter.close()
        meter = _reached(bench, address)
        meter.attach(bench.setup.element)
        state = meter.state()
        bench.clocks.pause(2 * bench.interval_s)
        after = meter.read()
    yield _restarted(bench, before, after, state, seen)
    with contextlib.suppress(MeterError):
        meter.stop()
    meter.close()


def _restarted(
    bench: Bench, before: Reading, after: Reading, state: IntegratorState, seen: str
) -> Finding:
    power_w = bench.rate_w
    if state in (IntegratorState.RESET, IntegratorState.ERROR):
        return holds("restart", f"A restart shows: {seen}state {state.value}.")
    if after.energy_wh < 0 <= before.energy_wh:
        advice = (
            "A counter that begins anew makes WH fall: raise MeterChanged or MeterRefused, or go to state ERROR, so "
            "that the run says that its energy is lost."
        )
        return fails(
            "restart",
            f"After a restart WH is {after.energy_wh:.4g} Wh, since the device counts from 0 again.",
            advice,
        )
    if after.energy_wh < before.energy_wh or math.isnan(after.energy_wh):
        return holds(
            "restart", f"A restart shows: {seen}WH falls to {after.energy_wh:.4g} Wh."
        )
    problems = continued_problems(bench, before, after, state, power_w)
    return judged(
        "restart",
        problems,
        f"The device's counter survives a restart: {seen}WH went on.",
        "A restart that costs energy must show: as state RESET or ERROR, or as WH that falls.",
    )


def missing_library(bench: Bench) -> Iterator[Finding]:
    """`library`: without the maker's library, `connect` says which command installs it."""
    from lpirc_power.driver_kit.without_library import fresh_kind

    name = bench.library
    if name is None:
        yield not_tried(
            "library",
            "Name the library that the driver needs, if there is one: --library NAME.",
        )
        return
    advice = "Import it in `connect`: lpirc_power.maker_library.library(NAME, 'pip install ...')."
    with fresh_kind(bench.subject, name) as (kind, problem):
        if kind is None:
            yield fails(
                "library",
                f"Without {name} the module cannot be imported: {problem}.",
                advice,
            )
            return
        try:
            kind(bench.subject.rest).connect(bench.clocks)
        except MeterBackendMissing as error:
            yield holds("library", f"Without {name}: {error.sentence}")
        except Exception as error:  # noqa: BLE001 - the driver's code may raise anything
            told = " ".join(str(error).split()).removesuffix(".")
            yield fails(
                "library",
                f"Without {name} `connect` raises {type(error).__name__}: {told}.",
                advice,
            )
        else:
            yield fails(
                "library",
                f"Without {name} `connect` works.",
                f"Name the module that the driver imports. {advice}",
            )
