"""The interval of a sum of errors: known factors, and a Monte-Carlo of the same errors (JCGM 101:2008).

COVERAGE_BUDGETS=500 tries as many random budgets; `make test-all` takes fewer.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_power.energy.coverage import (
    LEVEL,
    Distribution,
    ErrorShape,
    half_width_of,
    student_factor,
)

BUDGETS = int(
    os.environ.get(
        "COVERAGE_BUDGETS",
        "40",
    )
)
DRAWS = 1_000_000
WITHIN = 0.01

Rng = np.random.Generator
Floats = NDArray[np.float64]


def test_many_degrees_of_freedom_are_a_normal_distribution() -> None:
    for freedom in (2e3, 1e4, 1e6, 1e9, 1e15):
        assert student_factor(freedom) == pytest.approx(2.0, rel=2e-3)
        shape = ErrorShape(Distribution.STUDENT, 1.0, freedom)
        other = ErrorShape(Distribution.RECTANGULAR, 0.1)
        assert half_width_of([shape, other]) == pytest.approx(2.0, rel=6e-3)


def drawn(one: ErrorShape, rng: Rng, draws: int = DRAWS) -> Floats:
    """Draw errors by their definition; nothing of the code under test is used."""
    width = one.width
    match one.distribution:
        case Distribution.RECTANGULAR:
            return rng.uniform(
                -width,
                width,
                draws,
            )
        case Distribution.STUDENT:
            return width * rng.standard_t(
                one.freedom or 1.0,
                draws,
            )
        case Distribution.MIXED:
            widths = width * rng.choice(
                np.array(one.profile),
                draws,
            )
            return widths * rng.uniform(
                -1.0,
                1.0,
                draws,
            )
        case Distribution.TWO_POINT:
            signs = rng.choice(np.array([-1.0, 1.0]), draws)
            return width * signs * rng.choice(np.array(one.profile), draws)


def random_shape(rng: Rng) -> ErrorShape:
    kind = Distribution(rng.choice([one.value for one in Distribution]))
    width = 10.0 ** float(
        rng.uniform(
            -3.0,
            0.0,
        )
    )
    freedom = (
        float(
            rng.integers(
                2,
                30,
            )
        )
        if kind is Distribution.STUDENT
        else None
    )
    profile = (1.0,)
    if kind in (Distribution.MIXED, Distribution.TWO_POINT):
        profile = tuple(
            rng.uniform(
                0.0,
                4.0,
                20,
            )
        )
    return ErrorShape(
        kind,
        width,
        freedom,
        profile,
    )


def factor(*shapes: ErrorShape) -> float:
    combined = math.hypot(*(one.standard for one in shapes))
    return half_width_of(shapes) / combined


RECTANGLE = ErrorShape(
    Distribution.RECTANGULAR,
    0.2,
)


def test_one_rectangle_has_the_factor_1_653() -> None:
    assert factor(RECTANGLE) == pytest.approx(
        math.sqrt(3.0) * LEVEL,
        rel=1e-4,
    )
    assert (
        round(
            factor(RECTANGLE),
            3,
        )
        == 1.653
    )


def test_two_equal_rectangles_are_a_triangle_of_twice_the_width() -> None:
    exact = 0.4 * (1.0 - math.sqrt(1.0 - LEVEL))
    assert half_width_of([RECTANGLE, RECTANGLE]) == pytest.approx(
        exact,
        rel=1e-4,
    )


def test_a_normal_error_has_the_factor_2_whatever_is_negligible_beside_it() -> None:
    normal = ErrorShape(Distribution.STUDENT, 3.0, freedom=1e6)
    assert factor(normal) == pytest.approx(
        2.0,
        rel=1e-4,
    )
    least = ErrorShape(
        Distribution.RECTANGULAR,
        1e-9,
    )
    assert factor(
        normal,
        least,
    ) == pytest.approx(
        2.0,
        rel=1e-4,
    )


# JCGM 100:2008, table G.2, column 95.45 %.
@pytest.mark.parametrize(
    ("freedom", "student"),
    [(1, 13.97), (2, 4.53), (3, 3.31), (4, 2.87), (9, 2.32), (20, 2.13), (50, 2.05)],
)
def test_few_degrees_of_freedom_widen_the_interval_as_in_the_table_of_the_gum(
    freedom: float,
    student: float,
) -> None:
    found = factor(
        ErrorShape(
            Distribution.STUDENT,
            0.7,
            freedom,
        )
    )
    assert found == pytest.approx(
        student,
        abs=0.006,
    )


def test_a_known_offset_that_is_not_corrected_is_wholly_in_the_interval() -> None:
    offset = ErrorShape(
        Distribution.TWO_POINT,
        0.5,
    )
    assert half_width_of([offset]) == pytest.approx(
        0.5,
        rel=1e-3,
    )
    both = half_width_of(
        [
            offset,
            ErrorShape(
                Distribution.RECTANGULAR,
                0.1,
            ),
        ]
    )
    assert both == pytest.approx(
        0.5 + 0.1 * (2.0 * LEVEL - 1.0),
        rel=1e-3,
    )


def test_an_error_on_one_side_has_the_interval_of_the_rectangle_to_both_sides() -> None:
    # What docs/energy.md says of start and stop: beside errors symmetric about 0, both lie within +-c as often.
    rng = np.random.default_rng(3)
    beside = rng.uniform(
        -0.3,
        0.3,
        DRAWS,
    ) + rng.normal(
        0.0,
        0.05,
        DRAWS,
    )
    error = beside + rng.uniform(
        0.0,
        1.0,
        DRAWS,
    )
    shapes = [
        ErrorShape(
            Distribution.RECTANGULAR,
            0.3,
        ),
        ErrorShape(Distribution.STUDENT, 0.05, freedom=1e6),
        ErrorShape(
            Distribution.RECTANGULAR,
            1.0,
        ),
    ]
    held = np.mean(np.abs(error) <= half_width_of(shapes))
    assert held == pytest.approx(
        LEVEL,
        abs=0.001,
    )


def test_no_error_has_no_interval() -> None:
    assert half_width_of([]) == 0.0
    assert (
        half_width_of(
            [
                ErrorShape(
                    Distribution.RECTANGULAR,
                    0.0,
                )
            ]
        )
        == 0.0
    )


def test_random_budgets_agree_with_a_monte_carlo_of_the_same_terms() -> None:
    apart = []
    for seed in range(BUDGETS):
        rng = np.random.default_rng(seed)
        shapes = [
            random_shape(rng)
            for _ in range(
                int(
                    rng.integers(
                        1,
                        9,
                    )
                )
            )
        ]
        errors = np.zeros(DRAWS)
        for one in shapes:
            errors += drawn(
                one,
                rng,
            )
        found = half_width_of(shapes)
        held = np.quantile(
            np.abs(errors),
            LEVEL,
        )
        if abs(found / held - 1.0) > WITHIN:
            apart.append((seed, found, held, shapes))
        # The GUM gives a Student term the standard deviation of its mean, not that of t.
        has_student = any(one.distribution is Distribution.STUDENT for one in shapes)
        combined = math.hypot(*(one.standard for one in shapes))
        if not has_student and abs(combined / errors.std() - 1.0) > WITHIN:
            apart.append((seed, combined, float(errors.std()), shapes))
    assert apart == []
