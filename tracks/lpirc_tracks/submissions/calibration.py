"""Differences between the calibrations of the devices in a pool, and contradictions within one device. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from referee.store.model_records import Calibration

LATENCY_TOLERANCE = 0.05
"""Relative difference allowed between a device's latency and the median of its pool, and between its own latencies."""
ACCURACY_TOLERANCE = 0.1  # percentage points; equal devices answer alike
AGAIN_AFTER = timedelta(days=1)
AGAIN_AFTER_RESULTS = 20


def is_due(newest: Calibration | None, results: int, now: datetime) -> bool:
    """Return True if a device must calibrate again, by the age of its newest calibration and the results since then."""
    if newest is None or newest.measured_utc is None:
        return True
    age = now - datetime.fromisoformat(newest.measured_utc)
    return results >= AGAIN_AFTER_RESULTS or age >= AGAIN_AFTER


def by_how_much(own: Calibration, pool: Sequence[Calibration]) -> tuple[str, bool]:
    """Return, in words, how far a device's calibration differs from its pool, and True if it is within the tolerances.

    `pool` has the newest valid calibration of each device, including its own.
    """
    middle_ms = median(_latency_ms(one) for one in pool)
    middle_percent = median(_accuracy_percent(one) for one in pool)
    apart = _latency_ms(own) / middle_ms - 1
    apart_percent = _accuracy_percent(own) - middle_percent
    words = (
        f"{_latency_ms(own):.3f} ms, {apart:+.1%} from its pool's median of {middle_ms:.3f} ms;"
        f" accuracy {_accuracy_percent(own):.3f} %, {apart_percent:+.3f} points from the median"
    )
    is_near = (
        abs(apart) <= LATENCY_TOLERANCE and abs(apart_percent) <= ACCURACY_TOLERANCE
    )
    return words, is_near


def contradiction(newest: Calibration, earlier: Sequence[Calibration]) -> str | None:
    """Return how a device's newest calibration contradicts an earlier one, or None if it does not."""
    for one in earlier:
        found = difference(
            (_latency_ms(one), _accuracy_percent(one)),
            (_latency_ms(newest), _accuracy_percent(newest)),
        )
        if found is not None:
            return f"its calibrations {one.id} and {newest.id} differ: {found}"
    return None


def difference(one: tuple[float, float], other: tuple[float, float]) -> str | None:
    """Say how two results for the same model differ beyond the tolerances, or return None.

    A result is (latency [ms], accuracy [%]).
    """
    (one_ms, one_percent) = one
    (other_ms, other_percent) = other
    apart = max(one_ms, other_ms) / min(one_ms, other_ms) - 1
    if apart > LATENCY_TOLERANCE:
        return f"{one_ms:.3f} and {other_ms:.3f} ms, {apart:.1%} apart; at most {LATENCY_TOLERANCE:.0%} is allowed"
    if abs(one_percent - other_percent) > ACCURACY_TOLERANCE:
        accuracies = f"accuracies of {one_percent:.3f} % and {other_percent:.3f} %"
        return f"{accuracies}; a difference of {ACCURACY_TOLERANCE} points is allowed"
    return None


def _latency_ms(one: Calibration) -> float:
    if one.latency_ms is None:
        raise ValueError(f"calibration {one.id} is not measured")
    return one.latency_ms


def _accuracy_percent(one: Calibration) -> float:
    if one.accuracy_percent is None:
        raise ValueError(f"calibration {one.id} is not measured")
    return one.accuracy_percent
