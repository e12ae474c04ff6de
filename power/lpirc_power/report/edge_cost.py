"""What makes the edges of a recording unsure: start and stop, and the age of a counter's values. Pure."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.energy import Budget
from lpirc_power.energy.energy_budget import AGE, START_STOP

LEAST_PART: Final = 0.02
"""Part of what all causes cost below which one of them is not named."""


def limit_share(budget: Budget | None, code: str) -> float | None:
    """Return the limit of the terms of a code relative to the energy, 0 without such a term; None if it is unknown."""
    if budget is None:
        return None
    limits_wh = [one.limit_wh for one in budget.terms if one.code == code]
    known_wh = [one for one in limits_wh if one is not None]
    is_known = len(known_wh) == len(limits_wh)
    return budget.relative(math.fsum(known_wh)) if is_known else None


def edge_shares(budget: Budget | None) -> dict[str, float]:
    """Return the causes by name, each with its limit relative to the energy, the largest first.

    Empty if one of them is unknown, and where nothing is unsure.
    """
    if budget is None:
        return {}
    of_edges = [one for one in budget.terms if one.code in (START_STOP, AGE)]
    shares = {one.name: limit_share(budget, one.code) for one in of_edges}
    known = {name: share for name, share in shares.items() if share}
    if None in shares.values():
        return {}
    least = LEAST_PART * math.fsum(known.values())
    names = sorted(known, key=known.__getitem__, reverse=True)
    return {name: known[name] for name in names if known[name] >= least}
