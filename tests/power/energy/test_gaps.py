from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st


def test_gaps_are_a_warning_with_their_lengths(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = [reading(t) for t in (1.0, 2.0, 7.0)]
    found = checks(readings, measurement())["reading-gaps"]
    assert not found.ok
    assert found.severity == "warning"
    assert found.figures == {
        "gaps": 1,
        "longest_s": 5.0,
        "limit_s": 3.0,
        "readings": 3,
        "expected": 5,
    }


def test_readings_that_begin_late_or_end_early_are_gaps(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    assert checks([reading(5.0)], measurement())["reading-gaps"].figures["gaps"] == 2


@given(
    st.lists(st.integers(0, 100), max_size=40),
    st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0]),
)
def test_a_gap_is_exactly_a_pause_of_more_than_three_updates_and_two_seconds(
    reading: Any,
    measurement: Any,
    checks: Any,
    tenths: list[int],
    interval_s: float,
) -> None:
    times = [tenth / 10 for tenth in tenths]
    found = checks(
        [reading(t) for t in times],
        measurement({"update_interval_s": interval_s}),
    )["reading-gaps"]
    limit_s = max(3 * interval_s, 2.0)
    pauses_s = [
        later - earlier for earlier, later in pairwise([0.0, *sorted(times), 10.0])
    ]
    assert found.figures["gaps"] == sum(pause_s > limit_s for pause_s in pauses_s)
    assert not found.ok or max(pauses_s) <= limit_s


def test_no_data_is_normal_at_the_start_only(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    start = [reading(t / 2, power_w=math.nan) for t in range(3)]
    rest = [reading(float(t)) for t in range(2, 10)]
    assert checks([*start, *rest], measurement())["no-data"].ok
    later = checks([*start, *rest, reading(9.5, power_w=math.nan)], measurement())[
        "no-data"
    ]
    assert later.ok is False
    assert later.severity == "warning"
    never = checks(start, measurement())["no-data"]
    assert never.ok is False
    assert never.severity == "error"


@pytest.mark.parametrize(("at_s", "ok"), [(2.0, True), (2.001, False)])
def test_two_updates_may_pass_before_there_is_data(
    reading: Any,
    measurement: Any,
    checks: Any,
    at_s: float,
    ok: bool,
) -> None:
    readings = [
        reading(at_s, power_w=math.nan),
        *(reading(float(t)) for t in range(3, 10)),
    ]
    assert checks(readings, measurement())["no-data"].ok is ok


@pytest.mark.parametrize(
    ("every", "ok"),
    [
        (1, True),
        (20, True),
        (2, False),
        (5, False),
    ],
)
def test_missed_updates_are_told_though_no_pause_is_long(
    reading: Any,
    measurement: Any,
    checks: Any,
    every: int,
    ok: bool,
) -> None:
    kept = [
        number
        for number in range(1, 301)
        if every == 1 or (number % every if every > 5 else not number % every)
    ]
    readings = [reading(number / 10) for number in kept]
    measured = measurement({"update_interval_s": 0.1}, end_s=30.0)
    found = checks(readings, measured)["reading-gaps"]
    assert found.ok == ok
    assert found.severity == "warning"
    assert found.figures["gaps"] == 0
    assert found.figures["readings"] == len(kept)
    assert found.figures["expected"] == 300
    assert ok or f"{len(kept)} readings of about 300 updates" in found.sentence


@given(
    st.floats(2.0, 5.0),
    st.sampled_from([0.1, 0.25, 0.5, 1.0, 5.0]),
    st.floats(0, 1),
    st.floats(0, 0.3),
)
def test_no_short_window_misses_updates_for_its_edges_or_a_meter_deaf_after_its_start(
    reading: Any,
    measurement: Any,
    checks: Any,
    length_s: float,
    interval_s: float,
    phase: float,
    deaf_s: float,
) -> None:
    times = [
        interval_s * (phase + number)
        for number in range(int(length_s / interval_s) + 1)
    ]
    readings = [reading(t) for t in times if deaf_s <= t <= length_s]
    found = checks(
        readings,
        measurement({"update_interval_s": interval_s}, end_s=length_s),
    )["reading-gaps"]
    assert "missed" not in found.sentence.replace("few updates were missed", "")
