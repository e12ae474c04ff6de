"""Finds out from a run's events whether its energy was lost. Pure functions.

Two kinds of events record a loss: ENERGY_LOST, from the readings of an open run, and ENERGY_MISSING, from the values
that the meter holds when the run is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lpirc_power.energy.continuity import EnergyLoss
from referee.store.records import ENERGY_LOST, ENERGY_MISSING, EnergyMissing

WAY_OUT = "void the run and arm another"


@dataclass(frozen=True)
class Lost:
    """The reason why a run's energy was lost, and the time in its window at which a reading showed it.

    The time is None if the loss was found when the run ended.
    """

    loss: EnergyLoss
    elapsed_s: float | None

    def sentence(self, run: int, team: str) -> str:
        """Return a sentence for people that also says what to do.

        It does not state the energy, which not everyone may see.
        """
        found = (
            ""
            if self.elapsed_s is None
            else f", seen {max(self.elapsed_s, 0.0):.0f} s into its window"
        )
        return f"The energy of run {run} of {team} {self.loss.words}{found}; {WAY_OUT}."


def energy_lost(events: Iterable[Mapping[str, Any]]) -> Lost | None:
    """Return how the energy was lost, from a run's events, oldest first.

    Returns None if it was not lost, or if the meter may still be read.
    """
    found = [
        Lost(EnergyLoss(one["code"]), one.get("elapsed_s"))
        for one in events
        if _tells(one)
    ]
    # After a power failure the energy before it is still known; a later loss may destroy that, too.
    whole = (one for one in found if one.loss is not EnergyLoss.CUT_SHORT)
    return next(whole, found[0] if found else None)


def _tells(event: Mapping[str, Any]) -> bool:
    kind = event["kind"]
    code = event.get("code")
    return kind == ENERGY_LOST or (
        kind == ENERGY_MISSING and code != EnergyMissing.READ_LATER
    )
