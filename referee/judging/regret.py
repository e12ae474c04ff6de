"""Stop regret: the score of a closed run had its team logged out at the best moment, over the score that it got."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.contest import Contest
from referee.store.records import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StopRegret:
    """Moments (n,) at which the team could have logged out, each after a POST, and last the end of the run.

    `score` is `map` / `energy_wh` of each; `best` is the place of the best one, the earliest of equals, and `ratio`
    its score over the last one, 1 where all scores are 0.
    """

    elapsed_s: Floats
    map: Floats
    energy_wh: Floats
    score: Floats
    best: int
    ratio: float


def stop_regret(contest: Contest, run: Run) -> StopRegret | None:
    """The stop regret of a closed run; None without an energy above 0, posts, or readings that tell the energy.

    Raises RefereeError `testset-changed`, TestSetError.
    """
    raise NotImplementedError
