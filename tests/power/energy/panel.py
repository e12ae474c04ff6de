"""A meter with a person at its panel, written from the manual's facts: a model of its integrator and of what it shows.

It shares nothing with the driver or the simulated meter. Time advances in steps of 20 ms; the load is known at each, so
the true energy is a sum. What the model says of a WT310E is in IM WT310E-17EN: the integrator's states and what START,
STOP and RESET do in each; TIME in whole seconds, five digits of a power, six of WH; an update shows the mean power of
its interval; HOLD freezes what is shown, averaging smooths the power shown, neither touches the integral; the update
interval is locked until the integrator is reset; a change of range costs the update that it falls into.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.meter import IntegratorState, Reading, Setup

STEP_S = 0.02
UTC_START = datetime(2026, 1, 1, tzinfo=UTC)
START_S = 1000.0
VOLTS = 120.0
VOLTAGE_RANGES = (60.0, 150.0, 300.0, 600.0)
CURRENT_RANGES = (0.2, 0.5, 1.0, 2.0, 5.0)
SETTINGS = 14
"""So many settings are asked for in turn, each at least every two seconds."""
HOLD = 0
AVERAGING = 3
RATE = 5
VOLTAGE = 8
CURRENT = 9
LOADS = ("constant", "steps", "bursts", "noise", "ramp")
Rng = np.random.Generator


def load(
    kind: str,
    steps: int,
    rng: Rng,
) -> NDArray[np.float64]:
    """Return a power for each step, in watts: 10 to 60 W, which suits 150 V and 0.5 A."""
    at_s = np.arange(steps) * STEP_S
    low, high = sorted(rng.uniform(10.0, 60.0, 2))
    if kind == "steps":
        return np.where(
            at_s % (period := rng.uniform(0.7, 9.0)) < period / 2,
            low,
            high,
        )
    if kind == "bursts":
        return np.where(rng.random(steps // 30 + 1).repeat(30)[:steps] < 0.1, high, low)
    if kind == "noise":
        return np.clip(rng.normal(low, 2.0, steps // 5 + 1), 5.0, 65.0).repeat(5)[
            :steps
        ]
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
    latches: bool = True
    hold: bool = False
    averaging: bool = False
    joules: float = 0.0
    ran: int = 0
    blind: bool = False  # the range changed since the last update
    shown: tuple[float, float, float] = (math.nan, 0.0, 0.0)  # P, WH, TIME
    smooth_w: float = math.nan
    since: list[float] = field(default_factory=list)
    latched: set[str] = field(
        default_factory=set
    )  # what happened since the last question, by the event register

    def press(
        self,
        action: Action,
    ) -> None:
        """Do what the manual says of a key in this state."""
        states = IntegratorState
        kind = action.kind
        running = self.state is states.START
        if kind == "start" and self.state in (states.RESET, states.STOP):
            self.state = states.START
        elif kind == "stop" and running:
            self.state = states.STOP
            self.latched.add("stop")
        elif kind == "reset" and not running:
            self.state = states.RESET
            self.joules = 0.0
            self.ran = 0
        elif kind == "voltage":
            self.blind = self.blind or self.voltage != action.value
            self.voltage = action.value
        elif kind == "current":
            self.blind = self.blind or self.current != action.value
            self.current = action.value
        elif kind == "hold":
            self.hold = bool(action.value)
        elif kind == "averaging":
            self.averaging = bool(action.value)
        elif kind == "rate" and self.state is states.RESET:
            self.rate_s = action.value

    @property
    def range_w(self) -> float:
        return self.voltage * self.current

    @property
    def mean_w(self) -> float:
        return math.fsum(self.since) / len(self.since)

    @property
    def is_over(self) -> bool:
        return 1.4 * self.voltage < VOLTS or self.mean_w / VOLTS > 1.4 * self.current

    def update(
        self,
        gain: float,
    ) -> None:
        """Show the mean of all steps since the last update, with the error of the range."""
        measured_w = self.mean_w * (1 + 0.0009 * gain) + 0.00045 * gain * self.range_w
        if self.is_over:
            self.latched.add("over")
        smooth_w = measured_w if math.isnan(self.smooth_w) else self.smooth_w
        self.smooth_w = smooth_w + (measured_w - smooth_w) / 8
        if not self.hold:
            power_w = self.smooth_w if self.averaging else measured_w
            power_w = math.nan if self.blind else math.inf if self.is_over else power_w
            time_s = float(int(self.ran * STEP_S + 1e-9))
            self.shown = (_rounded(power_w, 5), _rounded(self.joules / 3600, 6), time_s)


@dataclass(frozen=True)
class Case:
    """A run: how it is measured, what is done in it, what it reads, and what is true."""

    actions: tuple[Action, ...]
    measured: Measurement
    readings: tuple[Reading, ...]
    true_wh: float
    most_w: float
    kind: str


class Window:
    """A run in progress: the panel, what was integrated since its last update, and what the host has read."""

    def __init__(
        self,
        rng: Rng,
        interval_s: float,
        length_s: float,
        busy: float,
    ) -> None:
        self.rng = rng
        self.interval_s = interval_s
        self.length_s = length_s
        self.busy = busy
        self.panel = Panel(rate_s=interval_s, state=IntegratorState.START)
        self.readings: list[Reading] = []
        self.lost: list[tuple[float, float]] = []
        self._gains: dict[tuple[float, float], float] = {}
        self._turn = int(rng.integers(SETTINGS))
        self._next_s = float(rng.uniform(0.0, interval_s))
        self._counted_ws = 0.0
        self._due_s = math.inf

    def measure(
        self,
        at_s: float,
        power_w: float,
    ) -> None:
        """Take one step of the load."""
        self.panel.since.append(power_w)
        if self.panel.state is IntegratorState.START:
            self.panel.ran += 1
            self._counted_ws += power_w * STEP_S
        if at_s >= self._next_s:
            self._update()
            self._next_s = at_s + self.panel.rate_s
            late_s = self.rng.uniform(0.0, 0.04 if self.rng.random() < 0.95 else 0.3)
            if self.rng.random() >= self.busy:
                self._due_s = at_s + float(late_s)

    def _update(self) -> None:
        panel = self.panel
        gain = self._gains.setdefault(
            (panel.voltage, panel.current),
            float(self.rng.choice([-1.0, 1.0])),
        )
        if not (panel.blind or panel.is_over):
            panel.joules += self._counted_ws * (1 + 0.0009 * gain)
            if self._counted_ws:
                panel.joules += (
                    0.00045 * gain * panel.range_w * len(panel.since) * STEP_S
                )
        panel.update(gain)
        panel.since = []
        panel.blind = False
        self._counted_ws = 0.0

    def read(
        self,
        at_s: float,
    ) -> None:
        """Read what is shown if an update is due, with some of the settings."""
        if at_s < max(self._due_s, 0.0) or at_s >= self.length_s:
            return
        self._due_s = math.inf
        if not any(first <= at_s < last for first, last in self.lost):
            count = min(SETTINGS, math.ceil(SETTINGS * self.interval_s / 2))
            asked = [(self._turn + place) % SETTINGS for place in range(count)]
            self._turn += count
            self.readings.append(
                _reading(self.panel, START_S + at_s, asked, self.interval_s)
            )

    def end(self) -> tuple[float, float]:
        """Stop, and return WH and TIME."""
        joules = self.panel.joules + self._counted_ws
        return _rounded(joules / 3600, 6), float(int(self.panel.ran * STEP_S + 1e-9))


def run(
    rng: Rng,
    kind: str,
    interval_s: float,
    length_s: float,
    actions: list[Action],
    busy: float = 0.0,
    *,
    latches: bool = True,
) -> Case:
    """Measure a window; `busy` is the share of updates that the host misses."""
    lead, lag = (round(rng.uniform(0.02, 0.2) / STEP_S) for _ in range(2))
    total = lead + round(length_s / STEP_S) + lag
    powers = load(kind, total, rng)
    window = Window(rng, interval_s, length_s, busy)
    window.panel.latches = latches
    todo = sorted(actions, key=lambda action: action.at_s)
    window.lost = [
        (one.at_s, one.at_s + one.value) for one in todo if one.kind == "lost"
    ]
    left = [one for one in todo if one.at_s < length_s]
    for step, power_w in enumerate(powers):
        at_s = (step - lead) * STEP_S
        while left and left[0].at_s <= at_s:
            window.panel.press(left.pop(0))
        window.measure(at_s, float(power_w))
        window.read(at_s)
    final_wh, final_s = window.end()
    final_wh *= math.prod(one.value for one in todo if one.kind == "false-final")
    measured = Measurement(
        final_wh,
        final_s,
        START_S,
        START_S + length_s,
        Setup(150.0, 0.5, interval_s, math.ceil(length_s) + 1),
        "WT310E",
        limits_of("WT310E"),
        changes=tuple(_changes(window.panel, range(SETTINGS), interval_s)),
        start_stop_s=(lead + lag) * STEP_S,
    )
    true_wh = float(powers[lead : total - lag].sum()) * STEP_S / 3600
    readings = tuple(_falsified(window.readings, todo))
    return Case(tuple(todo), measured, readings, true_wh, float(powers.max()), kind)


def _rounded(
    value: float,
    digits: int,
) -> float:
    return float(f"{value:.{digits - 1}e}")


def _reading(
    panel: Panel,
    at_s: float,
    asked: list[int],
    interval_s: float,
) -> Reading:
    power_w, wh, time_s = panel.shown
    amperes = power_w / VOLTS
    latched = panel.latched if panel.latches else set()
    panel.latched = set()
    return Reading(
        at_s, UTC_START + timedelta(seconds=at_s), VOLTS, amperes, power_w, power_w, 1.0, wh, time_s, panel.state,
        math.isinf(power_w) or "over" in latched, False, False, panel.voltage, panel.current,
        "; ".join(_changes(panel, asked, interval_s)), "stop" in latched,
    )  # fmt: skip


def _changes(
    panel: Panel,
    asked: Any,
    interval_s: float,
) -> list[str]:
    differs = {
        HOLD: panel.hold,
        AVERAGING: panel.averaging,
        RATE: panel.rate_s != interval_s,
        VOLTAGE: panel.voltage != 150.0,
        CURRENT: panel.current != 0.5,
    }
    return [f"setting {one} differs" for one in asked if differs.get(one)]


def _falsified(readings: list[Reading], actions: list[Action]) -> list[Reading]:
    """Replace single readings by well-formed false ones."""
    changed = list(readings)
    for action in actions:
        places = [
            place
            for place, one in enumerate(changed)
            if one.monotonic_s >= START_S + action.at_s
        ]
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
