"""Statistics of single inferences: mean, spread, percentiles, and whether the mean is stable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

STABLE_REPEATS = 3
STABLE_SHARE = 0.02
NS_PER_MS = 1e6


def is_stable(repeat_means_ms: Sequence[float]) -> bool:
    """Return True if the last three means lie within 2 % of the middle of their range; False if there are fewer."""
    last = repeat_means_ms[-STABLE_REPEATS:]
    if len(last) < STABLE_REPEATS:
        return False
    half_width = (max(last) - min(last)) / 2
    middle = (max(last) + min(last)) / 2
    return half_width <= STABLE_SHARE * middle


def summarize(repeats: Sequence[NDArray[np.int64]], first_ns: int) -> dict[str, Any]:
    """Return the result document's `latency`, from the counted inferences of all repeats (ns each; no repeat is empty).

    `first_ns` is the very first inference, which is not counted. The standard deviation is that of a sample;
    `total_s` is the time of the first repeat, which a budget limits.
    """
    times_ms = np.concatenate(repeats) / NS_PER_MS
    means_ms = [float(each.mean()) / NS_PER_MS for each in repeats]
    p50, p90, p99 = np.percentile(times_ms, (50, 90, 99)).tolist()
    return {
        "mean_ms": float(times_ms.mean()),
        "sd_ms": float(times_ms.std(ddof=1)) if len(times_ms) > 1 else 0.0,
        "p50_ms": p50,
        "p90_ms": p90,
        "p99_ms": p99,
        "min_ms": float(times_ms.min()),
        "max_ms": float(times_ms.max()),
        "counted": len(times_ms),
        "first_ms": first_ns / NS_PER_MS,
        "total_s": float(repeats[0].sum()) / 1e9,
        "repeat_means_ms": means_ms,
        "is_stable": is_stable(means_ms),
    }
