"""The contest's score: mAP divided by the energy in watt-hours."""

from __future__ import annotations

import math

from lpirc_score.arguments import number_of
from lpirc_score.errors import CodedError


def score(map_value: float, energy_wh: float) -> float:
    """Return the score: mean average precision (0..1) divided by the energy of the run in watt-hours, in 1/Wh.

    Raises `CodedError` `bad-energy` unless the energy is finite and above 0.
    """
    map_value = number_of(map_value, "mAP")
    energy_wh = number_of(energy_wh, "energy", "bad-energy")
    problem = f"A score needs an energy above 0 Wh, not {energy_wh}."
    if math.isfinite(energy_wh) and energy_wh > 0:
        if math.isfinite(value := map_value / energy_wh):
            return value
        problem = f"An energy of {energy_wh} Wh is too small for a score."
    raise CodedError("bad-energy", problem, energy_wh=str(energy_wh))


def format_score(value: float) -> str:
    """Return the score with four decimals, as the contest publishes it."""
    return f"{value:.4f}"
