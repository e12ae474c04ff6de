"""The difference of two energies: shared errors cancel where they are the same, and attempts are counted rightly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lpirc_power.comparison.difference import Attempts, Difference, difference_of
from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.common_error import Common


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


def found(
    first: Attempts,
    second: Attempts,
    common: Common = Common.ALL,
    *,
    is_paired: bool = False,
) -> Difference:
    return difference_of(first, second, is_paired=is_paired, common=common)


def test_the_reading_error_in_common_is_one_of_the_difference_alone() -> None:
    first = of_one_meter([1.0])
    second = of_one_meter([2.0])
    for common in (Common.ALL, Common.READING):
        half_wh = found(
            first,
            second,
            common,
        ).half_wh
        assert half_wh == pytest.approx(0.01 * 0.9545, rel=1e-2)
    assert (
        found(
            first,
            second,
            Common.NOTHING,
        ).half_wh
        > 0.02
    )


def test_the_range_s_error_is_in_common_only_where_loads_are_alike() -> None:
    one = side([1.0], offset(1.0))
    assert (
        found(
            one,
            one,
            Common.ALL,
        ).half_wh
        == 0.0
    )
    # Two rectangles of 0.1: 95.45 % of their triangle of 0.2 is within 0.2 (1 - sqrt(0.0455)).
    half_wh = found(
        one,
        one,
        Common.READING,
    ).half_wh
    assert half_wh == pytest.approx(0.2 * (1.0 - math.sqrt(0.0455)), rel=1e-2)


def test_terms_of_one_group_are_added_on_each_side() -> None:
    grouped = [replace(offset(1.0), group="range", code=code) for code in ("a", "b")]
    one = side([1.0], *grouped)
    assert found(one, plain([1.0]), Common.NOTHING).half_wh == pytest.approx(
        0.2 * 0.9545, rel=1e-2
    )


def test_the_interval_is_the_same_whichever_side_is_first() -> None:
    first = side([1.0, 1.3, 0.9], shared(1.0), offset(1.0), own(0.01))
    second = side([0.5, 0.55, 0.6, 0.52], shared(0.5), offset(1.0), own(0.02))
    for common in Common:
        forth = found(
            first,
            second,
            common,
        )
        back = found(second, first, common)
        assert forth.half_wh == back.half_wh
        assert forth.value_wh == -back.value_wh


def test_single_attempts_show_nothing_however_far_apart_they_are() -> None:
    assert (
        found(
            plain([1.0]),
            plain([2.0]),
        ).is_shown
        is None
    )
    assert (
        found(
            plain([1.0, 1.1, 0.9]),
            plain([2.0]),
        ).is_shown
        is None
    )


def test_pairs_of_attempts_that_drift_together_show_what_welch_cannot() -> None:
    drift = [0.0, 1.0, 2.0, 3.0, 4.0]
    first = plain([10.0 + one for one in drift])
    second = plain([(10.0 + one) * 1.03 + 0.001 * one for one in drift])
    assert found(
        first,
        second,
        is_paired=True,
    ).is_shown
    assert not found(
        first,
        second,
    ).is_shown


def test_equal_attempts_have_no_spread_and_no_failure() -> None:
    difference = found(
        plain([1.0, 1.0]),
        plain([1.0, 1.0]),
    )
    assert difference.half_wh == 0.0
    assert difference.is_shown is False


UNKNOWN = Term("x", "the error x", None, "%", Distribution.RECTANGULAR, 0.0, "why")


def test_an_unknown_term_leaves_the_known_ones_in_the_interval() -> None:
    energies_wh = [1.0, 1.1, 0.9]
    known = found(side(energies_wh, own(0.1)), side(energies_wh, own(0.2)))
    with_unknown = found(
        side(energies_wh, own(0.1), UNKNOWN), side(energies_wh, own(0.2))
    )
    assert with_unknown.half_wh == known.half_wh
    assert with_unknown.unknown == ("the error x",)
    assert known.unknown == ()


def test_an_unknown_term_shows_nothing_however_large_the_difference_is() -> None:
    light = side([1.0, 1.01, 1.02], own(0.01))
    heavy = side([4.0, 4.01, 4.02], own(0.01), UNKNOWN)
    for difference in (found(light, heavy), found(heavy, light)):
        assert difference.is_beyond
        assert difference.is_shown is False
        assert difference.more_attempts(0.001) is None


def test_an_energy_without_a_budget_is_named_as_unknown() -> None:
    difference = found(Attempts([1.0, 1.1], [None, None]), plain([2.0, 2.1]))
    assert difference.unknown == ("the errors of an energy without a budget",)
    assert difference.is_shown is False


def test_attempts_without_budgets_that_agree_to_the_last_digit_show_no_spread() -> None:
    first, second = (Attempts([wh, wh], [None, None]) for wh in (1.0, 1.02))
    difference = found(
        first,
        second,
    )
    assert not difference.is_known
    assert difference.is_shown is None


def test_the_advised_attempts_make_the_interval_as_narrow_as_promised() -> None:
    rng = np.random.default_rng(9)
    first = rng.normal(1.0, 0.03, 4)
    second = rng.normal(1.0, 0.03, 4)
    difference = found(plain(first.tolist()), plain(second.tolist()))
    more = difference.more_attempts(0.02)
    assert more
    grown = found(
        plain(np.tile(first, (4 + more) // 4 + 1)[: 4 + more].tolist()),
        plain(np.tile(second, (4 + more) // 4 + 1)[: 4 + more].tolist()),
    )
    assert grown.half_wh == pytest.approx(0.02, rel=0.25)


def test_no_number_of_attempts_beats_the_errors_of_the_meters() -> None:
    first = Attempts([1.0, 1.01], [budget(1.0, shared(1.0, 0.05))] * 2)
    difference = found(
        first,
        first,
        Common.NOTHING,
    )
    assert difference.more_attempts(0.02) is None
    assert difference.meter_half_wh > 0.02


def test_more_of_the_same_attempts_never_widen_what_remains() -> None:
    first = side([1.0, 1.02, 0.98], own(0.01))
    difference = found(
        first,
        first,
    )
    assert difference.meter_half_wh <= difference.half_wh
    assert math.isfinite(difference.half_wh)
