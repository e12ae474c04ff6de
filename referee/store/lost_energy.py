"""Tells from a run's events whether its energy is lost. Pure.

Two parts record it: the recorder, from the readings of an open run (ENERGY_LOST), and the close of the run, from the
values that the meter then holds (ENERGY_MISSING).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lpirc_power.energy.continuity import EnergyLoss
from referee.store.records import ENERGY_LOST, ENERGY_MISSING, EnergyMissing

WAY_OUT = "void the run and arm it again"


@dataclass(frozen=True)
class Lost:
    """The reason a run's energy was lost, and when a reading of its window showed it; None: found at its end."""

    loss: EnergyLoss
    elapsed_s: float | None

    def sentence(self, run: int, team: str) -> str:
        """The sentence shown to people, with the way out; without the energy, which not everyone may know."""
        found = (
            ""
            if self.elapsed_s is None
            else f", seen {max(self.elapsed_s, 0.0):.0f} s into its window"
        )
        return f"The energy of run {run} of {team} {self.loss.words}{found}; {WAY_OUT}."


def energy_lost(events: Iterable[Mapping[str, Any]]) -> Lost | None:
    """Return how the energy was lost, from a run's events, oldest first; None if it is not, or may still be read."""
    found = [
        Lost(EnergyLoss(one["code"]), one.get("elapsed_s"))
        for one in events
        if _tells(one)
    ]
    # A power failure leaves the energy before it; what comes after may take that, too.
    whole = (one for one in found if one.loss is not EnergyLoss.CUT_SHORT)
    return next(whole, found[0] if found else None)


def _tells(event: Mapping[str, Any]) -> bool:
    kind = event["kind"]
    code = event.get("code")
    return kind == ENERGY_LOST or (
        kind == ENERGY_MISSING and code != EnergyMissing.READ_LATER
    )
