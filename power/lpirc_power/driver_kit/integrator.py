"""Checks of the integrator: reset, start, what it counts, late questions, stop, timer, and a link between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.driver_kit.bench import (
    Bench,
    Sample,
    energy_problem,
    mean_power_w,
)
from lpirc_power.driver_kit.finding import Finding, fails, holds, judged, not_tried
from lpirc_power.errors import MeterBusy, MeterDriverError, MeterError
from lpirc_power.meter import IntegratorState, Meter, Reading

TIMER_S: Final = 2
LATE_S: Final = 1.0
LATE_UPDATES: Final = 6.0
WHOLE_S: Final = 1.0
"""Resolution of TIME of a meter that counts whole seconds."""
ATTEMPTS: Final = 3
"""An update may fall between two questions, so a doubled one is one that is doubled each time."""
HOME: Final = "lpirc_power.home.meter.HomeMeter makes an integrator of a counter."
FELL: Final = (
    "the state is ERROR: the counter fell, since it began anew or is full at a known energy, for which HomeMeter takes "
    "wrap=Wrap(at_wh, most_w)"
)


def reset(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`reset`: after `configure` the integrator is reset: state RESET, WH and TIME 0."""
    meter.configure(bench.setup)
    bench.clocks.pause(2 * bench.interval_s)
    reading = meter.read()
    problems = []
    if meter.state() is not IntegratorState.RESET:
        problems.append(f"the state is {meter.state().value}")
    for name in ("energy_wh", "integrator_s"):
        value = getattr(reading, name)
        if value != 0.0 and not math.isnan(value):  # NaN: nothing measured yet
            problems.append(f"{name} is {value:.6g}")
    if changed := meter.changes(bench.setup):
        problems.append(f"`changes` says {'; '.join(changed)}")
    if problems:
        problems[0] = f"after `configure` {problems[0]}"
    yield judged(
        "reset",
        problems,
        "`configure` resets the integrator, and the setup reads back.",
        f"`configure` sets the meter up and resets WH and TIME. {HOME}",
    )


def start(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`start`: after `start` the integrator runs; `busy`: and is then not set up again."""
    meter.start()
    state = meter.state()
    problems = []
    if state is not IntegratorState.START:
        problems.append(f"after `start` the state is {state.value}")
    yield judged(
        "start",
        problems,
        "`start` starts the integrator.",
        "Return from `start` once the meter says that it integrates.",
    )
    try:
        meter.configure(bench.setup)
    except MeterBusy:
        yield holds("busy", "A meter that integrates is not set up again.")
    except MeterDriverError:
        raise
    except MeterError as error:
        yield fails(
            "busy",
            f"`configure` of a running integrator raises {error.code}.",
            "Raise MeterBusy.",
        )
    else:
        advice = "Raise MeterBusy: the energy of a run that goes on would be lost."
        yield fails("busy", "`configure` resets an integrator that runs.", advice)
        meter.start()


def counts(bench: Bench) -> Iterator[Finding]:
    """`energy` and `time`: WH rises with power x time, and TIME with the clock."""
    running = [
        one
        for one in bench.samples
        if one.is_new and one.reading.state is IntegratorState.START
    ]
    if len(running) < 2:
        why = "Fewer than two updates of a running integrator were seen."
        yield fails("energy", why, "Give the integrator's state with each reading.")
        return
    first = running[0].reading
    last = running[-1].reading
    lasted_s = last.monotonic_s - first.monotonic_s
    power_w = mean_power_w(running)
    if math.isnan(power_w) and bench.load and bench.load.is_steady:
        power_w = bench.load.levels_w[0]
    rises = [one.reading.energy_wh for one in running]
    counted_wh = last.energy_wh - first.energy_wh
    found = _energy(bench, counted_wh, power_w, lasted_s, rises)
    bench.rate_w = power_w
    if found.failed and counted_wh > 0 and lasted_s > 0:
        bench.rate_w = 3600.0 * counted_wh / lasted_s
    yield found
    yield _time(bench, last.integrator_s - first.integrator_s, lasted_s)


def _energy(
    bench: Bench, counted_wh: float, power_w: float, lasted_s: float, rises: list[float]
) -> Finding:
    if not math.isfinite(power_w) or power_w == 0:
        return not_tried(
            "energy", "The power is unknown or 0 W: connect a load, or give --load."
        )
    told = f"WH rose by {counted_wh:.4g} Wh in {lasted_s:.3g} s at {power_w:.4g} W."
    coarse_s = _coarse_s(bench, rises, lasted_s)
    if coarse_s > lasted_s / 3:
        advice = f"It counts nothing, or in steps too coarse for this time: add --seconds {10 * lasted_s:.0f}."
        return fails("energy", f"WH seldom rises: {told}", advice)
    unsure_s = bench.unsure_s + coarse_s + _unsteady_s(bench, lasted_s)
    problem = energy_problem("", counted_wh, power_w, lasted_s, unsure_s).strip()
    advice = f"WH is the energy in watt-hours since the reset. {HOME}"
    return judged("energy", [problem] if problem else [], told, advice)


def _coarse_s(bench: Bench, rises: list[float], lasted_s: float) -> float:
    """Return how long the counter stands still between two of its steps; 0 if it moves with each update."""
    steps = sum(later > earlier for earlier, later in pairwise(rises))
    each_s = lasted_s / max(steps, 1)
    return each_s if each_s > 1.5 * bench.interval_s else 0.0


def _unsteady_s(bench: Bench, lasted_s: float) -> float:
    """Return the allowance for a load that changes between the readings."""
    powers = [one.reading.power_w for one in bench.samples]
    known = [one for one in powers if math.isfinite(one)]
    mean_w = mean_power_w(bench.samples)
    if not known or not mean_w:
        return 0.0
    spread = (max(known) - min(known)) / abs(mean_w)
    return min(spread, 1.0) * max(2 * bench.interval_s, lasted_s / 10)


def _time(bench: Bench, counted_s: float, lasted_s: float) -> Finding:
    allowed_s = bench.interval_s + WHOLE_S + 0.02 * lasted_s
    problems = []
    if not abs(counted_s - lasted_s) <= allowed_s:
        problems.append(f"TIME rose by {counted_s:.4g} s in {lasted_s:.4g} s")
    return judged(
        "time",
        problems,
        f"TIME rose by {counted_s:.4g} s in {lasted_s:.4g} s.",
        "integrator_s is for how long the integrator has run since the reset, in seconds.",
    )


def late(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`late`: after a pause there is one new update, and WH has risen by what the pause cost."""
    pause_s = max(LATE_UPDATES * bench.interval_s, LATE_S)
    doubled = 0
    problems: list[str] = []
    for _ in range(ATTEMPTS):
        before = _fresh(bench, meter)
        bench.clocks.pause(pause_s)
        after = bench.sampled(meter)
        is_doubled = bench.sampled(meter).is_new
        doubled += is_doubled
        problem = _late_problem(bench, before, after, pause_s)
        problems = [problem] if problem else []
        if not (problem or is_doubled):
            break
    if doubled >= ATTEMPTS:
        problems.append("the update after a pause is marked as new twice")
    yield judged(
        "late",
        problems,
        f"After {pause_s:.3g} s without a question nothing is doubled or lost.",
        f"The energy between two questions is the counter's rise, however late the second comes. {HOME}",
    )


def _late_problem(bench: Bench, before: Reading, after: Sample, pause_s: float) -> str:
    """Return what is wrong with the first sample after a pause; empty if nothing is."""
    if not after.is_new:
        return f"after a pause of {pause_s:.3g} s no update is marked as new"
    power_w = bench.rate_w
    if math.isnan(power_w):
        return ""
    lasted_s = after.reading.monotonic_s - before.monotonic_s
    rise_wh = after.reading.energy_wh - before.energy_wh
    told = f"in a pause of {pause_s:.3g} s"
    unsure_s = bench.unsure_s + _unsteady_s(bench, lasted_s)
    return energy_problem(told, rise_wh, power_w, lasted_s, unsure_s)


def _fresh(bench: Bench, meter: Meter) -> Reading:
    """Return the newest reading, at an update."""
    for _ in range(1000):
        sample = bench.sampled(meter)
        if sample.is_new:
            return sample.reading
        bench.clocks.pause(bench.interval_s / 10)
    return sample.reading


def link(bench: Bench, meter: Meter, address: MeterAddress) -> Iterator[Finding]:
    """`link`: the integrator goes on while no link is open, and a new link shows what it has counted."""
    before = _fresh(bench, meter)
    power_w = bench.rate_w
    meter.close()
    bench.clocks.pause(max(LATE_S, 2 * bench.interval_s))
    again = address.connect(bench.clocks)
    again.attach(bench.setup.element)
    state = again.state()
    after = _fresh(bench, again)
    again.close()
    yield judged(
        "link",
        continued_problems(bench, before, after, state, power_w),
        "WH goes on without a link, and a new link shows it.",
        f"Keep in the Scheme or Driver object what must outlive a link. {HOME}",
    )


def continued_problems(
    bench: Bench,
    before: Reading,
    after: Reading,
    state: IntegratorState,
    power_w: float,
) -> list[str]:
    """Return what says that the integrator did not go on between two readings."""
    if state is not IntegratorState.START:
        return [f"the integrator that ran is in state {state.value} at the new link"]
    lasted_s = after.monotonic_s - before.monotonic_s
    rise_wh = after.energy_wh - before.energy_wh
    if not math.isfinite(power_w) or power_w == 0:
        return [] if rise_wh >= 0 else ["WH has fallen at the new link"]
    unsure_s = bench.unsure_s + _unsteady_s(bench, lasted_s)
    told = f"in {lasted_s:.3g} s with the link down"
    problem = energy_problem(told, rise_wh, power_w, lasted_s, unsure_s)
    return [problem] if problem else []


def stop(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`stop`: WH and TIME stand still after the stop, and a second stop does nothing."""
    meter.stop()
    state = meter.state()
    bench.clocks.pause(2 * bench.interval_s)
    first = meter.read_final()
    meter.stop()
    bench.clocks.pause(max(LATE_S, 2 * bench.interval_s))
    second = meter.read_final()
    problems = [FELL] if state is IntegratorState.ERROR else []
    if state not in (IntegratorState.STOP, IntegratorState.ERROR):
        problems.append(f"after `stop` the state is {state.value}")
    for name in ("energy_wh", "integrator_s"):
        before = getattr(first, name)
        after = getattr(second, name)
        if before != after:
            problems.append(
                f"{name} goes from {before:.6g} to {after:.6g} after the stop"
            )
    yield judged(
        "stop",
        problems,
        "WH and TIME stand still after the stop.",
        f"`stop` ends counting, and WH is kept until the next `configure`. {HOME}",
    )


def timer(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`timer`: the timer ends the integrator by itself, though no one asks, and WH covers the timer's time."""
    meter.configure(bench.timed(TIMER_S))
    meter.start()
    bench.clocks.pause(TIMER_S + 2.0 + 2 * bench.interval_s)
    state = meter.state()
    final = meter.read_final()
    power_w = bench.rate_w
    problems = [FELL] if state is IntegratorState.ERROR else []
    if not problems and state is not IntegratorState.TIMEUP:
        problems.append(f"the state is {state.value} after the timer's end, not TIMEUP")
    if not (problems or abs(final.integrator_s - TIMER_S) <= WHOLE_S):
        problems.append(
            f"TIME is {final.integrator_s:.4g} s with a timer of {TIMER_S} s"
        )
    if math.isfinite(power_w) and power_w and not problems:
        unsure_s = bench.unsure_s + _unsteady_s(bench, TIMER_S)
        unsure_s += 0.1 * TIMER_S
        told = "with the timer"
        problem = energy_problem(told, final.energy_wh, power_w, TIMER_S, unsure_s)
        problems += [problem] if problem else []
    meter.stop()
    yield judged(
        "timer",
        problems,
        f"A timer of {TIMER_S} s ends the integrator, and WH is that of {TIMER_S} s.",
        f"integrator_timer_s ends the integrator by itself; a late question counts no more than that. {HOME}",
    )


def second_run(bench: Bench, meter: Meter) -> Iterator[Finding]:
    """`second-run`: a second run begins at 0 Wh."""
    meter.configure(bench.setup)
    meter.start()
    bench.clocks.pause(2 * bench.interval_s)
    reading = meter.read()
    power_w = bench.rate_w
    problems = []
    most_wh = abs(power_w) * (4 * bench.interval_s + LATE_S) / 3600.0
    if math.isfinite(power_w) and power_w and abs(reading.energy_wh) > 2 * most_wh:
        problems.append(
            f"a new run shows {reading.energy_wh:.4g} Wh after {2 * bench.interval_s:.3g} s at {power_w:.4g} W"
        )
    meter.stop()
    yield judged(
        "second-run",
        problems,
        "A second run begins at 0 Wh.",
        f"Subtract what the counter showed at `start`. {HOME}",
    )
