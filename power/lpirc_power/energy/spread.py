"""The spread between repeated attempts, as a term of the uncertainty of their mean energy (type A). Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

from lpirc_power.energy.budget import Distribution, Term

SPREAD: Final = "spread"
LEAST_ATTEMPTS: Final = 2


def spread_of(energies_wh: Sequence[float]) -> Term | None:
    """Return the term `spread` of the mean of repeated energies; None for fewer than two, which show no spread.

    It is the standard deviation of the mean with n - 1 degrees of freedom (JCGM 100, 4.2.3 and G.3.2).
    """
    attempts = len(energies_wh)
    if attempts < LEAST_ATTEMPTS:
        return None
    return Term(
        code=SPREAD,
        name="the spread between attempts",
        half_width=statistics.stdev(energies_wh) / math.sqrt(attempts),
        unit="Wh",
        distribution=Distribution.STUDENT,
        sensitivity_wh=1.0,
        source=f"the standard deviation of the mean of {attempts} attempts",
        freedom=attempts - 1.0,
        is_guaranteed=False,
    )
