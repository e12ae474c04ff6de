"""Thinning loses no peak, draws nothing where nothing was read, and stays small."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.page.scale import duration_words, time_scale, value_scale
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.page.traces import (
    COLUMNS,
    Span,
    Trace,
    merged,
    pauses_of,
    spans_where,
    thinned,
)


def trace_of(values: list[float], longest_pause_s: float = math.inf) -> Trace:
    times = np.arange(len(values), dtype=np.float64)
    return Trace("power", times, np.array(values), longest_pause_s)


@given(
    st.lists(
        st.one_of(st.floats(-1e6, 1e6), st.just(math.nan)), min_size=1, max_size=5000
    )
)
def test_each_column_keeps_its_least_and_its_largest_value(values: list[float]) -> None:
    trace = trace_of(values)
    end_s = float(len(values))
    lines = thinned(trace, 0.0, end_s)
    shown_s = np.concatenate([times for times, _ in lines] or [np.empty(0)])
    shown = np.concatenate([kept for _, kept in lines] or [np.empty(0)])
    width_s = end_s / COLUMNS
    for column in np.unique(trace.times_s // width_s):
        whole = trace.values[trace.times_s // width_s == column]
        kept = shown[shown_s // width_s == column]
        if np.isfinite(whole).any():
            assert kept.max() == np.nanmax(whole)
            assert kept.min() == np.nanmin(whole)
        else:
            assert not kept.size


def test_one_reading_of_360000_that_is_higher_is_drawn() -> None:
    values = [2.0] * 360_000
    values[123_456] = 77.0
    lines = thinned(trace_of(values), 0.0, 360_000.0)
    assert sum(len(times) for times, _ in lines) <= 4 * COLUMNS + 4
    assert max(kept.max() for _, kept in lines) == 77.0


def test_a_line_is_broken_where_nothing_was_read() -> None:
    times = np.array([0.0, 1.0, 2.0, 30.0, 31.0])
    trace = Trace("power", times, np.array([5.0, 5.0, math.nan, 5.0, 5.0]), 2.0)
    lines = [list(one) for one, _ in thinned(trace, 0.0, 31.0)]
    assert lines == [[0.0, 1.0], [30.0, 31.0]]
    assert [(one.begin_s, one.end_s) for one in pauses_of(trace)] == [(2.0, 30.0)]


def test_flags_beside_each_other_are_one_span_that_counts_them() -> None:
    times = np.arange(100.0)
    flags = np.zeros(100, dtype=np.bool_)
    flags[[10, 11, 12, 50]] = True
    spans = spans_where(times, flags, "over range", 1.0)
    assert [one.name for one in spans] == [
        "over range: 3 readings",
        "over range: 1 reading",
    ]
    assert (spans[0].begin_s, spans[0].end_s) == (9.0, 12.0)


def test_a_million_flags_make_no_more_spans_than_columns() -> None:
    times = np.arange(1_000_000.0)
    flags = times % 2 == 0
    assert len(spans_where(times, flags, "clipped", 1.0)) <= COLUMNS


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_value_scale_holds_its_values_and_0_between_few_round_steps(
    one: float, other: float
) -> None:
    low, high = sorted((one, other))
    scale = value_scale(low, high)
    rounding = 1e-6 * (high - low)
    assert scale.low <= min(low, 0.0) + rounding
    assert scale.high >= max(high, 0.0) - rounding
    assert 2 <= len(scale.ticks) <= 8


@given(st.floats(0, 1e6), st.floats(0, 1e7))
def test_a_time_scale_has_few_ticks_within_it(begin_s: float, length_s: float) -> None:
    scale = time_scale(begin_s, begin_s + length_s)
    assert scale.ticks[0] == begin_s
    assert 1 <= len(scale.ticks) <= 7
    assert scale.ticks[-1] <= scale.high * (1 + 1e-9)


def test_times_are_named_in_the_unit_of_their_steps() -> None:
    assert duration_words(0.5, 0.5) == "0.5 s"
    assert duration_words(90, 30) == "90 s"
    assert duration_words(150, 30) == "2:30 min"
    assert duration_words(900, 900) == "15 min"
    assert duration_words(5400, 1800) == "1:30 h"
    assert duration_words(172_800, 86_400) == "48 h"


def test_an_hour_at_100_hz_is_a_chart_of_less_than_a_tenth_of_a_megabyte() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(9.0, 1.0, 360_000)
    trace = Trace("power", np.arange(360_000) / 100, values, 2.0)
    chart = TimeChart("power over time", "W", [trace], 0.0, 3600.0)
    assert len(chart.svg()) < 100_000


def test_names_of_marks_are_text_and_never_tags() -> None:
    chart = TimeChart(
        "<i>label", "W", [trace_of([1.0, 2.0])], 0, 2, [Span("<script>alert(1)", 0, 1)]
    )
    assert "<script" not in chart.svg()
    assert "<i>" not in chart.svg()


def test_a_hundred_thousand_marks_of_one_name_are_few_bands_and_other_names_keep_theirs() -> (
    None
):
    many = [Span("inference", 0.01 * one, 0.01 * one + 0.005) for one in range(100_000)]
    found = merged([*many, Span("load", 5.0, 6.0)], 1.0)
    assert [one.name for one in found] == ["inference", "load"]
    assert found[0].end_s == many[-1].end_s


def test_a_chart_without_any_value_still_has_its_axes() -> None:
    chart = TimeChart("nothing", "W", [trace_of([math.nan])], 0.0, 0.0)
    assert "<text" in chart.svg()
    assert "nan" not in chart.svg()
