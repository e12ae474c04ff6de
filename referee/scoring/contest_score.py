"""The contest's score: accuracy divided by energy."""

from __future__ import annotations

import math

from referee.errors import RefereeError


def score(map_value: float, energy_wh: float) -> float:
    """Mean average precision (0..1) divided by the energy of the run in watt-hours; the unit is 1/Wh.

    Raises `RefereeError` `bad-energy` unless the energy is finite and above 0.
    """
    if not (math.isfinite(energy_wh) and energy_wh > 0):
        raise RefereeError(
            "bad-energy", f"A score needs an energy above 0 Wh, not {energy_wh}.", energy_wh=str(energy_wh)
        )
    value = map_value / energy_wh
    if not math.isfinite(value):
        raise RefereeError(
            "bad-energy", f"An energy of {energy_wh} Wh is too small for a score.", energy_wh=str(energy_wh)
        )
    return value


def format_score(value: float) -> str:
    """Return the score as the contest publishes it, with four decimals."""
    return f"{value:.4f}"
