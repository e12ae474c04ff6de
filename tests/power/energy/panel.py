"""A meter with a person at its panel, written from the manual's facts: a model of its integrator and of what it shows.

It shares nothing with the driver or the simulated meter. Time advances in steps of 10 ms; the load is known at each, so
the true energy is a sum. What the model says of a WT310E is in IM WT310E-17EN: the integrator's states and what START,
STOP and RESET do in each; TIME in whole seconds, five digits of a power, six of WH; an update shows the mean power since
the one before; HOLD freezes what is shown, not the integral; averaging smooths the power shown, not the integral; the
update interval is locked until the integrator is reset; a change of range costs the update that it falls into.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from power.addresses import limits_of
from power.energy import Measurement
from power.meter import IntegratorState, Reading, Setup

STEP_S = 0.01
UTC_START = datetime(2026, 1, 1, tzinfo=UTC)
VOLTS = 120.0
VOLTAGE_RANGES = (60.0, 150.0, 300.0, 600.0)
CURRENT_RANGES = (0.2, 0.5, 1.0, 2.0, 5.0)
SETTINGS = 14
"""So many settings are asked for in turn, each at least every two seconds."""
HOLD, AVERAGING, RATE, VOLTAGE, CURRENT = 0, 3, 5, 8, 9
LOADS = ("constant", "steps", "bursts", "noise", "ramp")
Rng = np.random.Generator


def load(kind: str, steps: int, rng: Rng) -> NDArray[np.float64]:
    """Return a power for each step, in watts: 10 to 60 W, which suits 150 V and 0.5 A."""
    at_s = np.arange(steps) * STEP_S
    low, high = sorted(rng.uniform(10.0, 60.0, 2))
    if kind == "steps":
        return np.where(at_s % (period := rng.uniform(0.7, 9.0)) < period / 2, low, high)
    if kind == "bursts":
        return np.where(rng.random(steps // 30 + 1).repeat(30)[:steps] < 0.1, high, low)
    if kind == "noise":
        return np.clip(rng.normal(low, 2.0, steps // 5 + 1), 5.0, 65.0).repeat(5)[:steps]
    if kind == "ramp":
        return low + (high - low) * at_s / at_s[-1]
    return np.full(steps, low)


@dataclass(frozen=True)
class Action:
    """Something done at the panel, or to what is read, at a time of the window."""

    at_s: float
    kind: str
    value: float = 0.0


@dataclass
class Panel:
    """The meter as it is at one moment."""

    state: IntegratorState = IntegratorState.RESET
    voltage: float = 150.0
    current: float = 0.5
    rate_s: float = 0.1
    hold: bool = False
    averaging: bool = False
    joules: float = 0.0
    ran: int = 0
    blind: bool = False  # the range changed since the last update
    shown: tuple[float, float, float] = (math.nan, 0.0, 0.0)  # P, WH, TIME
    smooth_w: float = math.nan
    since: list[float] = field(default_factory=list)

    def press(self, action: Action) -> None:
        """Do what the manual says of a key in this state."""
        states = IntegratorState
        kind, running = action.kind, self.state is states.START
        if kind == "start" and self.state in (states.RESET, states.STOP):
            self.state = states.START
        elif kind == "stop" and running:
            self.state = states.STOP
        elif kind == "reset" and not running:
            self.state, self.joules, self.ran = states.RESET, 0.0, 0
        elif kind == "voltage":
            self.blind, self.voltage = self.blind or self.voltage != action.value, action.value
        elif kind == "current":
            self.blind, self.current = self.blind or self.current != action.value, action.value
        elif kind == "hold":
            self.hold = bool(action.value)
        elif kind == "averaging":
            self.averaging = bool(action.value)
        elif kind == "rate" and self.state is states.RESET:
            self.rate_s = action.value

    @property
    def range_w(self) -> float:
        return self.voltage * self.current

    def update(self, gain: float) -> None:
        """Integrate and show the mean of all steps since the last update, with the error of the range."""
        mean_w = math.fsum(self.since) / len(self.since)
        over = 1.4 * self.voltage < VOLTS or mean_w / VOLTS > 1.4 * self.current
        measured_w = mean_w * (1 + 0.0009 * gain) + 0.00045 * gain * self.range_w
        self.smooth_w = (
            measured_w if math.isnan(self.smooth_w) else self.smooth_w + (measured_w - self.smooth_w) / 8
        )
        if self.hold:
            return
        power_w = math.inf if over else self.smooth_w if self.averaging else measured_w
        wh = float(f"{self.joules / 3600:.5e}")
        self.shown = (float(f"{power_w:.4e}"), wh, float(int(self.ran * STEP_S + 1e-9)))


@dataclass(frozen=True)
class Case:
    """A run: how it is measured, what is done in it, what it reads, and what is true."""

    actions: tuple[Action, ...]
    measured: Measurement
    readings: tuple[Reading, ...]
    true_wh: float
    most_w: float


def run(
    rng: Rng, kind: str, interval_s: float, length_s: float, actions: list[Action], busy: float = 0.0
) -> Case:
    """Measure a window; `busy` is the share of updates that the host misses."""
    lead, lag = (round(rng.uniform(0.02, 0.2) / STEP_S) for _ in range(2))
    total = lead + round(length_s / STEP_S) + lag + 1
    powers = load(kind, total, rng)
    start_s = 1000.0
    todo = sorted(actions, key=lambda action: action.at_s)
    lost = [(one.at_s, one.at_s + one.value) for one in todo if one.kind == "lost"]
    panel, next_update = (
        Panel(rate_s=interval_s, state=IntegratorState.START),
        round(rng.uniform(0, interval_s) / STEP_S),
    )
    gains: dict[tuple[float, float], float] = {}
    turn, readings, due = int(rng.integers(SETTINGS)), [], None
    at_once = math.ceil(SETTINGS * interval_s / 2)
    end_step, done = total - lag - 1, 0
    counted = 0.0
    for step in range(total):
        at_s = (step - lead) * STEP_S
        while done < len(todo) and todo[done].at_s <= at_s and step < total - 1:
            panel.press(todo[done])
            done += 1
        panel.since.append(float(powers[step]))
        running = panel.state is IntegratorState.START
        panel.ran += running
        counted += running * float(powers[step])
        if step >= next_update:
            gain = gains.setdefault((panel.voltage, panel.current), float(rng.choice([-1.0, 1.0])))
            mean_w = math.fsum(panel.since) / len(panel.since)
            clear = 1.4 * panel.voltage >= VOLTS and mean_w / VOLTS <= 1.4 * panel.current
            if clear and not panel.blind:
                seconds = len(panel.since) * STEP_S
                panel.joules += counted * STEP_S * (1 + 0.0009 * gain)
                panel.joules += 0.00045 * gain * panel.range_w * seconds * (counted > 0)
            panel.update(gain)
            panel.since, panel.blind, counted = [], False, 0.0
            next_update = step + round(panel.rate_s / STEP_S)
            if rng.random() >= busy:
                due = at_s + float(rng.uniform(0.0, 0.04) if rng.random() < 0.95 else rng.uniform(0.0, 0.3))
        if due is not None and at_s >= due and 0 <= at_s < length_s:
            due = None
            if not any(first <= at_s < last for first, last in lost):
                asked = [(turn + place) % SETTINGS for place in range(min(at_once, SETTINGS))]
                turn += len(asked)
                readings.append(_reading(panel, start_s + at_s, asked, interval_s))
    if panel.since and panel.state is IntegratorState.START:
        panel.joules += counted * STEP_S
    final_wh, final_s = float(f"{panel.joules / 3600:.5e}"), float(int(panel.ran * STEP_S + 1e-9))
    for one in todo:
        if one.kind == "false-final":
            final_wh *= one.value
    setup = Setup(150.0, 0.5, interval_s, math.ceil(length_s) + 1)
    measured = Measurement(
        final_wh, final_s, start_s, start_s + length_s, setup, "WT310E", limits_of("WT310E"),
        changes=tuple(_changes(panel, range(SETTINGS), interval_s)), start_stop_s=(lead + lag + 1) * STEP_S,
    )  # fmt: skip
    true_wh = float(powers[lead:end_step].sum()) * STEP_S / 3600
    return Case(
        tuple(todo), measured, tuple(_falsified(readings, todo, start_s)), true_wh, float(powers.max())
    )


def _reading(panel: Panel, at_s: float, asked: list[int], interval_s: float) -> Reading:
    power_w, wh, time_s = panel.shown
    amperes = power_w / VOLTS
    return Reading(
        at_s, UTC_START + timedelta(seconds=at_s), VOLTS, amperes, power_w, power_w, 1.0, wh, time_s, panel.state,
        math.isinf(power_w), False, False, panel.voltage, panel.current, "; ".join(_changes(panel, asked, interval_s)),
    )  # fmt: skip


def _changes(panel: Panel, asked: Any, interval_s: float) -> list[str]:
    differs = {
        HOLD: panel.hold,
        AVERAGING: panel.averaging,
        RATE: panel.rate_s != interval_s,
        VOLTAGE: panel.voltage != 150.0,
        CURRENT: panel.current != 0.5,
    }
    return [f"setting {one} differs" for one in asked if differs.get(one)]


def _falsified(readings: list[Reading], actions: list[Action], start_s: float) -> list[Reading]:
    """Replace single readings by well-formed false ones."""
    changed = list(readings)
    for action in actions:
        places = [place for place, one in enumerate(changed) if one.monotonic_s >= start_s + action.at_s]
        if not places or not action.kind.startswith("false-"):
            continue
        one = changed[places[0]]
        if action.kind == "false-power":
            one = replace(one, power_w=one.power_w * action.value)
        elif action.kind == "false-energy":
            one = replace(one, energy_wh=one.energy_wh * action.value)
        elif action.kind == "false-time":
            one = replace(one, integrator_s=one.integrator_s + action.value)
        changed[places[0]] = one
    return changed
