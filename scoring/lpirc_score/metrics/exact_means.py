"""Exact means of shares: each sum is rounded once, as by `math.fsum`, but whole columns are added at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UPPER_BITS = 30
_LOWER_BITS = 44
_ONE = 1 << (_UPPER_BITS + _LOWER_BITS)
_MOST = 1 << 19
"""Numbers in a row; so many of 44 bits cannot overflow 63."""


def exact_means(values: Floats) -> list[float]:
    """Return `math.fsum(row) / len(row)` of each row of values (K, n), n above 0; NaN for a row with a NaN.

    Values from 0 to 1 that are multiples of 2**-74 are added as whole numbers; any others one by one.
    """
    count = values.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):  # huge values are no shares
        scaled = values * (1 << _UPPER_BITS)
        upper = np.floor(scaled)
        lower = (scaled - upper) * (1 << _LOWER_BITS)
    is_known = ~np.asarray(np.isnan(values).any(axis=1))
    is_share = (values >= 0) & (values <= 1) & (lower == np.floor(lower))
    if count > _MOST or not is_share[is_known].all():
        return [math.fsum(row) / count for row in values.tolist()]
    upper[~is_known] = 0
    lower[~is_known] = 0
    uppers = upper.astype(np.int64).sum(axis=1).tolist()
    lowers = lower.astype(np.int64).sum(axis=1).tolist()
    means = []
    for row, (high, low) in enumerate(zip(uppers, lowers, strict=True)):
        total = (high << _LOWER_BITS) + low
        # The quotient of two whole numbers is rounded once.
        means.append(total / _ONE / count if is_known[row] else math.nan)
    return means
