"""Input and result types of the checks of a run's energy. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from lpirc_power.energy.reading_columns import chosen, column
from lpirc_power.meter import ALL_ELEMENTS, Limits, Reading, Setup
from lpirc_power.meter_standing import OFFICIAL_MAKERS, Standing

Severity = Literal["error", "warning"]

TIME_RESOLUTION_S: Final = 1.0
"""TIME is reported in whole seconds."""
SHORTEST_GAP_S: Final = 2.0
"""Longest pause between readings that is never a gap, whatever the update interval."""
MOST_OF_RANGE: Final = 2.0
"""Largest measurable power relative to voltage range x current range: each is over range above 1.4 times itself."""
START_STOP_S: Final = 1.0
"""Assumed time, if not measured, by which start and stop commands make the integrator outlast the window."""


@dataclass(frozen=True)
class Check:
    """Result of one check: outcome, severity, and the figures behind it."""

    code: str
    ok: bool
    severity: Severity
    sentence: str
    figures: dict[str, float | int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """Everything besides the readings that the checks of a run's energy need.

    `integrator_wh` and `integrator_s` are the meter's final values. `start_s` and `end_s` bound the window, on the
    clock of the readings' `monotonic_s`. `model` is the meter's model ("WT310E"), and `limits` states its accuracy.
    `official` is True if the meter's results are valid in a contest that accepts `official_makers`; `standing` says
    why, None if unknown. `changes` holds one phrase for each setting that differed from `setup` at the end.
    `start_stop_s` is how much longer than the window the integrator may have run because starting and stopping takes
    time; None if not measured. `late_s` is the further time that the stop had to wait for a lost link.
    `limits_refused` says why limits of error that were stated cannot be used, as a sentence.
    `is_before_budgets` asks for the checks as they were before there were uncertainty budgets: values had no age and
    were never read twice, and energy that a meter without ranges lost unseen was a warning.
    """

    integrator_wh: float
    integrator_s: float
    start_s: float
    end_s: float
    setup: Setup
    model: str
    limits: Limits | None
    official: bool = True
    changes: tuple[str, ...] = ()
    start_stop_s: float | None = None
    late_s: float = 0.0
    standing: Standing | None = None
    official_makers: tuple[str, ...] = OFFICIAL_MAKERS
    is_before_budgets: bool = False
    limits_refused: str = ""

    @property
    def elapsed_s(self) -> float:
        """Return the length of the window."""
        return self.end_s - self.start_s

    @property
    def start_stop_at_most_s(self) -> float:
        """Return the largest time by which the integrator may have outlasted the window because of start and stop."""
        return START_STOP_S if self.start_stop_s is None else self.start_stop_s

    def inside(self, readings: Sequence[Reading]) -> Sequence[Reading]:
        """Return the readings in the window."""
        times_s = column(readings, "monotonic_s")
        return chosen(readings, (self.start_s <= times_s) & (times_s <= self.end_s))

    @property
    def exact(self) -> bool:
        """Return True if TIME is known exactly: the timer ended the integrator, or the meter is one for rehearsals."""
        return (
            not self.integrator_s.is_integer()
            or 0 < self.integrator_s == self.setup.integrator_timer_s
        )

    def age_s(self, readings: Sequence[Reading]) -> float:
        """Return how old a value of the counter may be when it is read.

        If the driver states no age, that is one update interval for a meter whose TIME has fractions of a second: it is
        a counter that is read and not told to start. It is 0 for others, which integrate between two commands.
        """
        if self.is_before_budgets:
            return 0.0
        if self.limits is not None and self.limits.age_s is not None:
            return self.limits.age_s
        return 0.0 if self.is_time_whole(readings) else self.setup.update_interval_s

    def is_time_whole(self, readings: Sequence[Reading]) -> bool:
        """Return True if the integrator's time was in whole seconds, at the end and in the last two readings."""
        times_s = [self.integrator_s, *(one.integrator_s for one in readings[-2:])]
        known_s = (one for one in times_s if math.isfinite(one))
        return all(one.is_integer() for one in known_s)

    @property
    def energy_s(self) -> float:
        """Return the time that the energy covers.

        This is the window if it agrees with TIME, which is in whole seconds; otherwise TIME.
        """
        near = abs(self.integrator_s - self.elapsed_s) < TIME_RESOLUTION_S
        return self.elapsed_s if near and not self.exact else self.integrator_s

    @property
    def mean_power_w(self) -> float:
        """The energy's mean power, WH over TIME; NaN if nothing was integrated."""
        return (
            self.integrator_wh * 3600.0 / self.energy_s
            if self.energy_s > 0
            else math.nan
        )

    @property
    def longest_pause_s(self) -> float:
        """The longest pause between two readings that is not called a gap."""
        return max(3.0 * self.setup.update_interval_s, SHORTEST_GAP_S)

    @property
    def most_w(self) -> float:
        """The largest power that the meter can have measured between readings; infinite if the ranges give no bound."""
        range_w = self.setup.range_w
        return (
            math.inf
            if range_w is None or self.setup.element == ALL_ELEMENTS
            else MOST_OF_RANGE * range_w
        )


def check(
    code: str, ok: bool, severity: Severity, sentence: str, **figures: float | None
) -> Check:
    """Return a check whose figures are ready for JSON: NaN and infinity become None."""
    held: dict[str, float | int | None] = {}
    for name, one in figures.items():
        is_known = one is not None and math.isfinite(one)
        held[name] = one if is_known else None
    return Check(code, ok, severity, sentence, held)
