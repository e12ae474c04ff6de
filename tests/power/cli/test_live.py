from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from power.cli.live import BARS, sparkline

WATTS = st.floats(-1e9, 1e9) | st.sampled_from([math.nan, math.inf, -math.inf])
POINTS = st.lists(st.tuples(st.floats(0, 60), WATTS), max_size=50)


@given(POINTS, st.integers(1, 80))
def test_it_is_as_wide_as_asked_and_made_of_bars(points: list[tuple[float, float]], width: int) -> None:
    line = sparkline(points, 60.0, 60.0, width)
    assert len(line) == width
    assert set(line) <= {*BARS, " "}


def test_it_rises_from_the_lowest_to_the_highest_bar() -> None:
    assert sparkline([(second + 0.5, second) for second in range(8)], 8.0, 8.0, 8) == BARS


def test_a_steady_power_is_a_line_in_the_middle() -> None:
    assert sparkline([(1.0, 36.0), (3.0, 36.0001)], 4.0, 4.0, 2) == "▄▄"


def test_gaps_no_data_and_what_is_older_are_blank() -> None:
    points = [(-5.0, 900.0), (0.5, 1.0), (1.5, math.nan), (3.5, 2.0)]
    assert sparkline(points, 4.0, 4.0, 4) == "▁  █"
