"""What was measured in one recording, and what it rests on."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from power.energy import Check, Measurement, above_idle_wh, energy_checks, mean_power_w
from power.energy.continuity import stopped_early_s, why_lost
from power.energy.integral import START_STOP_S
from power.meter import Identity, IntegratorState, Reading
from power.sampling.sampler import Idle, LinkEvent

LEAST_UPDATES: Final = 10
"""In a window of fewer, what the start and the stop add weighs too much to tell a mean power."""


@dataclass(frozen=True)
class Recorded:
    """One recording, its energy of record and what that rests on.

    The last of the `readings` is the one of record.
    """

    identity: Identity
    measured: Measurement
    readings: Sequence[Reading]
    idle: Idle | None
    link_events: Sequence[LinkEvent]
    file: str

    @functools.cached_property
    def no_energy(self) -> str | None:
        """Why there is no energy of record, as one sentence; None if there is one."""
        why = why_lost(self.readings, self.measured.start_s)
        return None if why is None else f"There is no energy of the meter {self.identity}: {why}."

    @property
    def energy_wh(self) -> float:
        """The energy of record, from the meter's integrator; NaN if there is none."""
        return math.nan if self.no_energy else self.measured.integrator_wh

    @property
    def integrated_s(self) -> float | None:
        """How long the integrator ran by its own clock; None where whole seconds do not tell.

        Ended by its timer it ran just so long; meters for rehearsing at home count no whole seconds.
        """
        integrator_s = self.measured.integrator_s
        told = self.readings[-1].state is IntegratorState.TIMEUP or not integrator_s.is_integer()
        return integrator_s if told and math.isfinite(integrator_s) else None

    @property
    def lasted_s(self) -> float:
        """How long the energy was counted: by the integrator where it can tell, else by the window."""
        return self.measured.elapsed_s if self.integrated_s is None else self.integrated_s

    @property
    def tells_power(self) -> bool:
        """Whether the time is known well enough for a mean power."""
        least_s = LEAST_UPDATES * self.measured.setup.update_interval_s
        return self.integrated_s is not None or self.measured.elapsed_s >= least_s

    @property
    def power_w(self) -> float:
        """The mean power; NaN if it cannot be told."""
        return mean_power_w(self.energy_wh, self.lasted_s) if self.tells_power else math.nan

    @property
    def above_idle_wh(self) -> float | None:
        """The energy above the idle baseline, if one was measured."""
        if self.idle is None:
            return None
        return above_idle_wh(self.energy_wh, self.idle.power_w, self.lasted_s)

    @functools.cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check of the energy."""
        return (*energy_checks(self.readings, self.measured), _integrator_stopped(self.readings))

    @property
    def failed(self) -> tuple[str, ...]:
        """The codes of the checks whose failure makes an energy one that needs review."""
        return tuple(check.code for check in self.checks if not check.ok and check.severity == "error")

    @property
    def start_stop_share(self) -> float:
        """How far the energy may be off because of the start and the stop, relative to it."""
        if self.integrated_s is not None:
            return 0.0
        # One update more: nothing says that a meter begins and ends to integrate between two of its updates.
        commands_s = START_STOP_S if self.measured.start_stop_s is None else self.measured.start_stop_s
        edges_s = commands_s + self.measured.setup.update_interval_s
        return edges_s / self.measured.elapsed_s if self.measured.elapsed_s > 0 else math.inf

    @property
    def uncertainty(self) -> float | None:
        """How far the energy may be off, relative to it: the meter's limit of error, and start and stop.

        None where the meter's limit is not known, or there is no energy.
        """
        limit = next(check.figures["uncertainty"] for check in self.checks if check.code == "accuracy")
        return None if limit is None or self.no_energy else limit + self.start_stop_share


def _integrator_stopped(readings: Sequence[Reading]) -> Check:
    """`integrator-stopped`: nobody else stopped the integrator."""
    early_s = stopped_early_s(readings)
    sentence = (
        "The integrator ran until this recording, or its timer, stopped it."
        if early_s is None
        else f"Somebody else, or a power failure, stopped the integrator {early_s:.1f} s before the end; what was "
        "drawn since is missing."
    )
    return Check("integrator-stopped", early_s is None, "error", sentence, {"stopped_early_s": early_s})
