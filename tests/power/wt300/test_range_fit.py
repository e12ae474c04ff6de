from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.meter import Choices, Peaks, Reading
from lpirc_power.wt300.range_fit import drawn, fit, fits, reason

Make = Callable[..., Reading]
VOLTAGES_V = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
CURRENTS_A = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CHOICES = Choices(VOLTAGES_V, CURRENTS_A, (0.25,), ("1",))
AMPERES = st.floats(0, 100)
ROOM = st.floats(1, 3)
FACTOR = st.sampled_from([3, 6])


@given(AMPERES, AMPERES, FACTOR, ROOM)
def test_a_proposed_range_holds_the_load_with_headroom(
    rms: float,
    peak: float,
    factor: int,
    room: float,
) -> None:
    found = fit(CURRENTS_A, "A", rms, peak, factor, room)
    if found.value is not None:
        assert found.value >= rms * room
        assert found.value * factor >= peak * room * (1 - 1e-12)


@given(AMPERES, AMPERES, FACTOR, ROOM)
def test_no_smaller_range_would_do_and_none_is_proposed_only_if_none_does(
    rms: float,
    peak: float,
    factor: int,
    room: float,
) -> None:
    found = fit(CURRENTS_A, "A", rms, peak, factor, room)
    smaller = [
        choice for choice in CURRENTS_A if found.value is None or choice < found.value
    ]
    assert all(
        choice < rms * room or choice < peak * room / factor for choice in smaller
    )


@given(AMPERES, AMPERES, AMPERES, AMPERES, ROOM)
def test_a_larger_load_never_gets_a_smaller_range(
    rms: float,
    peak: float,
    more_rms: float,
    more_peak: float,
    room: float,
) -> None:
    small = fit(CURRENTS_A, "A", rms, peak, 3, room).value
    large = fit(CURRENTS_A, "A", rms + more_rms, peak + more_peak, 3, room).value
    assert (small or 0.0) <= (large or math.inf)
    assert not (small is None and large is not None)


@given(AMPERES, AMPERES, ROOM)
def test_a_higher_crest_factor_never_asks_for_more_of_the_same_ranges(
    rms: float,
    peak: float,
    room: float,
) -> None:
    needed = fit(CURRENTS_A, "A", rms, peak, 6, room).needed
    assert needed <= fit(CURRENTS_A, "A", rms, peak, 3, room).needed


@given(st.permutations(CURRENTS_A), AMPERES, AMPERES)
def test_the_order_of_the_choices_does_not_matter(
    choices: list[float],
    rms: float,
    peak: float,
) -> None:
    assert fit(choices, "A", rms, peak, 3) == fit(CURRENTS_A, "A", rms, peak, 3)


@pytest.mark.parametrize(
    ("rms", "peak", "value"),
    [
        (0.3, 0.42, 0.5),  # a sine
        (0.3, 1.2, 0.5),
        (0.3, 1.3, 1.0),  # a switching supply: 1.3 A x 1.2 does not fit in 3 x 0.5 A
        (0.3, math.nan, 0.5),
        (math.nan, 0.1, 0.05),
        (0.0, 0.0, 0.005),
        (17.0, 20.0, None),
    ],
)
def test_peaks_decide_where_the_wave_is_steep(
    rms: float,
    peak: float,
    value: float | None,
) -> None:
    assert fit(CURRENTS_A, "A", rms, peak, 3).value == value


def test_what_was_drawn_is_the_largest_of_everything_and_the_mean_power(
    reading: Make,
) -> None:
    readings = [
        reading(
            0.0,
            voltage_v=math.nan,
            current_a=math.nan,
            power_w=math.nan,
            apparent_va=math.nan,
        ),
        reading(1.0, current_a=0.05, power_w=6.0, apparent_va=8.0),
        reading(
            2.0,
            current_a=-0.1,
            power_w=12.0,
            apparent_va=12.0,
            current_peak_over=True,
        ),
        reading(
            3.0,
            current_a=math.inf,
            power_w=math.inf,
            apparent_va=math.inf,
            over_range=True,
        ),
    ]
    peaks = [
        Peaks(math.nan, math.nan),
        Peaks(170.0, 0.3),
        Peaks(169.0, 0.2),
    ]
    load = drawn(readings, peaks)
    assert load.readings == 4
    assert load.flagged == 2
    assert load.voltage_v == 120.0
    assert load.current_a == 0.1
    assert load.voltage_peak_v == 170.0
    assert load.current_peak_a == 0.3
    assert load.power_w == 9.0
    assert load.apparent_va == 10.0


def test_nothing_measured_is_nothing_known(reading: Make) -> None:
    load = drawn([], [])
    assert math.isnan(
        load.voltage_v + load.current_a + load.voltage_peak_v + load.power_w
    )
    assert load.readings == 0


def test_both_ranges_of_a_load_come_with_their_reasons(reading: Make) -> None:
    voltage, current = fits(
        drawn([reading(0.0)], [Peaks(169.7, 0.0707)]),
        CHOICES,
        3,
        1.2,
    )
    assert voltage.value == 150.0
    assert current.value == 0.1
    assert reason(voltage, 3, 1.2) == (
        "The smallest range that holds 120 V rms x 1.2 = 144 V; peaks of 169.7 V x 1.2 = 203.6 V, within 3 x 150 V."
    )
    assert reason(fit((0.5,), "A", 3.0, 9.0, 3), 3, 1.2).startswith(
        "No range of this meter holds 3 A rms"
    )
