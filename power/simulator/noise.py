"""A load that flickers, the same in every run, with integrals that are exact."""

from __future__ import annotations

import random
from array import array
from itertools import accumulate
from typing import Final

CELL_S: Final = 0.1
"""Each power holds so long: the shortest update interval, so that even the fastest readings differ."""
CELLS: Final = 36000
"""After so many cells, one hour, the noise repeats."""


class Noise:
    """Powers drawn from a normal distribution of mean `power_w` and deviation `deviation_w`, one for each cell.

    The mean over one round is exactly `power_w`: what the drawing lacks is taken off every cell.
    """

    def __init__(self, power_w: float, deviation_w: float, seed: int) -> None:
        draw = random.Random(seed).gauss  # noqa: S311  reproducible, and nothing is secret
        drawn = [draw(0.0, deviation_w) for _ in range(CELLS)]
        surplus_w = sum(drawn) / CELLS
        self._powers_w = array("d", [power_w + value - surplus_w for value in drawn])
        self._sums_ws = array("d", accumulate((value * CELL_S for value in self._powers_w), initial=0.0))
        self._round_ws = power_w * CELL_S * CELLS

    def mean_w(self, start_s: float, end_s: float) -> float:
        """Return the mean power from `start_s` to a later `end_s`."""
        return (self._integral_ws(end_s) - self._integral_ws(start_s)) / (end_s - start_s)

    def _integral_ws(self, t_s: float) -> float:
        rounds, rest_s = divmod(t_s, CELL_S * CELLS)
        cell = min(int(rest_s / CELL_S), CELLS - 1)
        inside_ws = self._powers_w[cell] * (rest_s - cell * CELL_S)
        return rounds * self._round_ws + self._sums_ws[cell] + inside_ws
