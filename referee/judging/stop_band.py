"""The smoothed curve of stop regret, and a band that holds at all moments at once. Pure.

The curve is, at each moment, the score of a log-out there over the score of the run, as a local mean of its logarithm.
Its weights are not below 0 and add up to 1: a curve that is nowhere above 1 stays so. The band includes how the mAPs
depend on the order of the images (`lpirc_score.analysis.image_orders`), and the limit of error of each energy. Of runs
whose best moment is their end, at most 1 - LEVEL have a moment with a band above 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.interval import LEVEL

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BANDWIDTH = 1 / 40
"""The standard deviation of the weights of the local mean, as a part of the run."""
DRAWS = 4000
SEED = 0


@dataclass(frozen=True, eq=False)
class StopBand:
    """The smoothed ratio (n,) of a log-out at each moment, and its band from `low` to `high`, at LEVEL.

    All three are 1 at the last moment, the end of the run. NaN: nothing is known of that moment.
    """

    ratio: Floats
    low: Floats
    high: Floats


def stop_band(
    elapsed_s: Floats,
    maps: Floats,
    in_orders: Floats,
    energy_wh: Floats,
    limit_wh: Floats,
    is_known: Bools,
) -> StopBand:
    """Return the band at the moments (n,), the last of which is the end, from the mAPs (n, R) in other orders.

    `limit_wh` is the possible error of each energy. A moment counts if it is `is_known`, with a mAP and an energy
    above 0.
    """
    ends = [np.full(len(maps), np.nan) for _ in range(3)]
    for one in ends:
        one[-1] = 1.0
    band = StopBand(*ends)
    able = is_known & (maps > 0) & (energy_wh > 0)
    able[-1] = False
    if not able.any() or not maps[-1] > 0:
        return band

    whole = np.log(maps[able] / maps[-1]) - np.log(energy_wh[able] / energy_wh[-1])
    off = np.log1p(limit_wh[able] / energy_wh[able])
    varies = _variations(in_orders)[able]

    weights = _weights(elapsed_s[able], elapsed_s[-1] * BANDWIDTH)
    middle = weights @ whole
    half_width = _half_width(weights @ varies)
    limit = weights @ off
    band.ratio[able] = np.exp(middle)
    band.low[able] = np.exp(middle - half_width - limit)
    band.high[able] = np.exp(middle + half_width + limit)
    return band


def _variations(in_orders: Floats) -> Floats:
    """Return how far the mAP over that of the end (n, R) lies from its mean, relative to it, in each order."""
    ratios = in_orders / np.maximum(in_orders[-1], 1e-12)
    means = ratios.mean(axis=1, keepdims=True)
    varies: Floats = np.divide(
        ratios - means,
        means,
        out=np.zeros_like(ratios),
        where=means > 0,
    )
    return varies


def _weights(elapsed_s: Floats, bandwidth_s: float) -> Floats:
    """Return the weights (n, n) of the local mean at each moment."""
    apart = (elapsed_s[:, None] - elapsed_s) / max(bandwidth_s, 1e-9)
    weights: Floats = np.exp(-0.5 * apart**2)
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _half_width(varies: Floats) -> Floats:
    """Return the half width (n,) of a band that holds at all moments at once, from variations (n, R).

    It is the same number of standard deviations at each moment: the largest deviation of all moments stays below it
    with the chance LEVEL, drawn from normal sums of the variations. Few orders widen it, as by Student's distribution.
    """
    freedom = varies.shape[1] - 1
    spread: Floats = np.sqrt(np.sum(varies**2, axis=1) / freedom)
    has_spread = spread > 0
    if not has_spread.any():
        return spread
    chance = np.random.default_rng(SEED)
    drawn = chance.standard_normal((varies.shape[1], DRAWS))
    sums = varies[has_spread] @ drawn / np.sqrt(freedom)
    largest = np.abs(sums / spread[has_spread, None]).max(axis=0)
    largest *= np.sqrt(freedom / chance.chisquare(freedom, DRAWS))
    half_width: Floats = spread * float(np.quantile(largest, LEVEL))
    return half_width
