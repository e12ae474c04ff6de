"""The state of a run's figures: whether its mAP, energy and score are current. Pure.

Every view uses this state: the console, the board, the command line, and the answer to a team.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lpirc_power.meter import IntegratorState
from referee.store.records import RunState

UPDATES = 2
"""Maximum age of a fresh reading, in update intervals of the meter."""

LEAST_LIMIT_S = 2.0
"""Lower bound of the age limit. Figures are published each second, and a busy host stores readings late."""


class FigureState(StrEnum):
    """The state of a run's figures; `referee.pages.figure_text` has the wording."""

    FRESH = "fresh"
    METER_AWAY = "meter-away"
    INTEGRATOR_STOPPED = "integrator-stopped"
    IN_REVIEW = "in-review"
    FINAL = "final"


@dataclass(frozen=True)
class Readings:
    """Ages of an open run's newest reading and of its newest reading with an energy, and the integrator's state.

    The integrator's state is that of the newest reading, None if there is no reading yet. Ages are in seconds by the
    clock of the host; without a reading, the age is the time since the run opened.
    """

    age_s: float
    energy_age_s: float
    integrator: IntegratorState | None


def figure_state(
    run: RunState,
    *,
    is_lost: bool,
    has_energy: bool,
    readings: Readings,
    update_interval_s: float,
) -> FigureState | None:
    """Return the state of the figures of a run that is not judged, or None if it is armed or void: it has no figures.

    `is_lost` says that the run's energy is lost, `has_energy` that the run has a valid energy.
    """
    if run in (RunState.ARMED, RunState.VOID):
        return None
    if is_lost:
        return FigureState.IN_REVIEW
    if run is RunState.OPEN:
        return _while_open(readings, limit_s(update_interval_s))
    return FigureState.FRESH if has_energy else FigureState.METER_AWAY


def judged_state(*, needs_review: bool) -> FigureState:
    """Return the state of the figures of a judged run."""
    return FigureState.IN_REVIEW if needs_review else FigureState.FINAL


def limit_s(update_interval_s: float) -> float:
    """Return the age up to which the newest reading of an open run counts as fresh."""
    return max(UPDATES * update_interval_s, LEAST_LIMIT_S)


def _while_open(readings: Readings, most_s: float) -> FigureState:
    # A reading from the future does not count: somebody has set the host's clock back.
    is_read = abs(readings.age_s) <= most_s
    if is_read and readings.integrator not in (IntegratorState.START, None):
        return FigureState.INTEGRATOR_STOPPED
    if abs(readings.energy_age_s) > most_s:
        return FigureState.METER_AWAY
    return FigureState.FRESH
