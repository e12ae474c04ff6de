"""The ratio of two energies: its interval holds the truth, shared errors cancel, and attempts are counted rightly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lpirc_power.comparison.ratio import Attempts, Ratio, ratio_of
from lpirc_power.energy.budget import Budget, Distribution, Term

TRIALS = 2000
CONVOLVED = 300
"""Trials whose intervals are convolutions, which take some milliseconds each."""


def budget(energy_wh: float, *terms: Term) -> Budget:
    return Budget(energy_wh, terms)


def shared(energy_wh: float, limit: float = 0.01) -> Term:
    per_percent = energy_wh / 100
    return Term(
        "reading",
        "reading",
        100 * limit,
        "%",
        Distribution.RECTANGULAR,
        per_percent,
        "",
        is_shared=True,
    )


def offset(hours: float, limit_w: float = 0.1) -> Term:
    return Term(
        "range",
        "range",
        limit_w,
        "W",
        Distribution.RECTANGULAR,
        hours,
        "",
        is_shared=True,
    )


def own(limit_wh: float) -> Term:
    return Term("gaps", "gaps", limit_wh, "Wh", Distribution.RECTANGULAR, 1.0, "")


def side(energies_wh: list[float], *terms: Term) -> Attempts:
    return Attempts(energies_wh, [budget(one, *terms) for one in energies_wh])


def plain(energies_wh: list[float]) -> Attempts:
    return side(energies_wh, own(0.0))


def of_one_meter(energies_wh: list[float]) -> Attempts:
    return Attempts(energies_wh, [budget(wh, shared(wh)) for wh in energies_wh])


def found(first: Attempts, second: Attempts, **how: bool) -> Ratio:
    options = {"is_paired": False, "is_same_meter": True} | how
    return ratio_of(first, second, **options)


def test_the_reading_error_of_one_meter_cancels_in_the_ratio() -> None:
    first = Attempts([1.0], [budget(1.0, shared(1.0))])
    second = Attempts([2.0], [budget(2.0, shared(2.0))])
    assert found(first, second).half_width == pytest.approx(0.0, abs=1e-12)
    other = found(first, second, is_same_meter=False)
    assert other.half_width > 0.02


def test_an_offset_of_one_meter_cancels_only_between_equal_energies() -> None:
    one = Attempts([1.0], [budget(1.0, offset(1.0))])
    same = Attempts([1.0], [budget(1.0, offset(1.0))])
    twice = Attempts([2.0], [budget(2.0, offset(1.0))])
    assert found(one, same).half_width == 0.0
    # Truth a + e and b + e: b / a is off by e (1 - b / a) / a.
    assert found(one, twice).meter == found(one, twice).meter
    assert found(one, twice).half_width == pytest.approx(0.1 * 0.9545, rel=1e-2)


def test_single_attempts_show_nothing_however_far_apart_they_are() -> None:
    assert found(plain([1.0]), plain([2.0])).is_shown is None
    assert found(plain([1.0, 1.1, 0.9]), plain([2.0])).is_shown is None


def test_pairs_of_attempts_that_drift_together_show_what_welch_cannot() -> None:
    drift = [0.0, 1.0, 2.0, 3.0, 4.0]
    first = plain([10.0 + one for one in drift])
    second = plain([(10.0 + one) * 1.03 + 0.001 * one for one in drift])
    assert found(first, second, is_paired=True).is_shown
    assert not found(first, second).is_shown


def test_equal_attempts_have_no_spread_and_no_failure() -> None:
    ratio = found(plain([1.0, 1.0]), plain([1.0, 1.0]))
    assert ratio.half_width == 0.0
    assert not ratio.is_shown


def test_an_unknown_budget_leaves_the_spread_alone() -> None:
    unknown = Term(
        "reading", "reading", None, "%", Distribution.RECTANGULAR, 0.0, "why"
    )
    first = side([1.0, 1.1, 0.9], unknown)
    ratio = found(first, side([1.0, 1.1, 0.9], own(0.1)))
    assert ratio.meter is None
    assert ratio.half_width > 0


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize("attempts", [3, 8])
def test_the_interval_holds_the_true_ratio_in_93_to_97_percent(
    is_paired: bool, attempts: int
) -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(TRIALS):
        common = rng.normal(0, 0.05, attempts) if is_paired else np.zeros(attempts)
        first = 1.0 + common + rng.normal(0, 0.02, attempts)
        second = 1.05 * (1.0 + common) + rng.normal(0, 0.02, attempts)
        ratio = found(
            plain(first.tolist()), plain(second.tolist()), is_paired=is_paired
        )
        held += abs(ratio.value - 1.05) <= ratio.half_width
    assert 0.93 <= held / TRIALS <= 0.975


def test_the_interval_holds_the_true_ratio_with_the_errors_of_two_meters() -> None:
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(CONVOLVED):
        errors = 1.0 + rng.uniform(-0.01, 0.01, 2)
        first = (rng.normal(1.0, 0.005, 6) * errors[0]).tolist()
        second = (rng.normal(1.0, 0.005, 6) * errors[1]).tolist()
        ratio = found(of_one_meter(first), of_one_meter(second), is_same_meter=False)
        held += abs(ratio.value - 1.0) <= ratio.half_width
    assert 0.92 <= held / CONVOLVED <= 0.99


def test_the_advised_attempts_make_the_interval_as_narrow_as_promised() -> None:
    rng = np.random.default_rng(9)
    first = rng.normal(1.0, 0.03, 4)
    second = rng.normal(1.0, 0.03, 4)
    ratio = found(plain(first.tolist()), plain(second.tolist()))
    more = ratio.more_attempts(0.02)
    assert more
    grown = found(
        plain(np.tile(first, (4 + more) // 4 + 1)[: 4 + more].tolist()),
        plain(np.tile(second, (4 + more) // 4 + 1)[: 4 + more].tolist()),
    )
    assert grown.half_width == pytest.approx(0.02, rel=0.25)


def test_no_number_of_attempts_beats_the_errors_of_the_meters() -> None:
    first = Attempts([1.0, 1.01], [budget(1.0, shared(1.0, 0.05))] * 2)
    ratio = found(first, first, is_same_meter=False)
    assert ratio.more_attempts(0.02) is None
    assert ratio.meter_half_width > 0.02


def test_more_of_the_same_attempts_never_widen_what_remains() -> None:
    first = side([1.0, 1.02, 0.98], own(0.01))
    ratio = found(first, first)
    assert ratio.meter_half_width <= ratio.half_width
    assert math.isfinite(ratio.half_width)
