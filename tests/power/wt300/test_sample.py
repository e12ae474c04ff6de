from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.channels import Channel, SummedReading
from lpirc_power.errors import MeterError
from lpirc_power.meter import ELEMENTS, IntegratorState
from lpirc_power.wt300.answers import NEW_DATA, Flags
from lpirc_power.wt300.dialogue import LONGEST_MESSAGE
from lpirc_power.wt300.sample import SampleForm

NOW = datetime(2026, 1, 2, tzinfo=UTC)
RUN = SampleForm.of_run("1")
ASIDE = SampleForm.of_onlooker("1")


def parts(*given: Any) -> Any:
    return given


def test_a_sample_is_values_flags_state_and_whether_it_is_new() -> None:
    taken, events = RUN.taken("1;1,2,3,4,5,6,7,8,9;P,1;WH,1;65;TIM", parts)
    assert taken == ([1, 2, 3, 4, 5, 6, 7, 8, 9], 65, 1, IntegratorState.TIMEUP)  # type: ignore[comparison-overlap]
    assert events == NEW_DATA


def test_events_that_earlier_questions_have_cleared_are_kept_until_an_update() -> None:
    taken, events = RUN.taken("64;1,2,3,4,5,6,7,8,9;P,1;WH,1;0;START", parts, earlier=2)
    assert taken[2] == 66
    assert events == 66  # type: ignore[index]


def test_an_onlooker_gets_the_same_but_not_whether_it_is_new() -> None:
    taken, events = ASIDE.taken(
        "1;2;3;4;5;6;7;:NUM:NORM:ITEM204 P,1;:NUM:NORM:ITEM206 WH,1;65;TIM",
        parts,
    )
    assert taken == ([1, 2, 3, 4, 5, 6, 7], 65, 0, IntegratorState.TIMEUP)  # type: ignore[comparison-overlap]
    assert events == 0


def test_a_range_that_is_no_number_costs_no_sample() -> None:
    taken, _ = RUN.taken("1;1,2,3,4,5,6,7,-----,.5;P,1;WH,1;65;START", parts)
    assert str(taken[0]) == "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, nan, 0.5]"  # type: ignore[index]


def test_a_value_that_no_result_needs_and_that_makes_no_sense_is_unknown() -> None:
    taken, _ = RUN.taken("1;x,1.5.5,ERROR,4,ERROR,6,7,8,9;P,1;WH,1;65;START", parts)
    assert str(taken[0]) == "[nan, nan, nan, 4.0, nan, 6.0, 7.0, 8.0, 9.0]"  # type: ignore[index]
    taken, _ = ASIDE.taken("1;2;3;4;ERROR;6;7;P,1;WH,1;65;START", parts)
    assert str(taken[0]) == "[1.0, 2.0, 3.0, 4.0, nan, 6.0, 7.0]"  # type: ignore[index]


def test_a_sample_of_several_elements_has_the_values_of_each_and_their_sum() -> None:
    form = SampleForm.of_run("1+3")
    main = "230,1,230,207,0.9,5,60,300,2"
    answer = f"1;{main},231,0.5,115.5,92.4,0.8,7;P,1;WH,1;0;START"
    stamp = form.stamp(1.0, NOW, Flags.of(("1", "3")))
    taken, _ = form.taken(answer, stamp)
    assert isinstance(taken, SummedReading)
    one, other = taken.channels
    assert one == Channel("1", 230.0, 1.0, 230.0, 207.0, 0.9, 5.0, is_flagged=False)
    assert other == Channel("3", 231.0, 0.5, 115.5, 92.4, 0.8, 7.0, is_flagged=False)
    assert (taken.power_w, taken.apparent_va, taken.energy_wh) == (299.4, 345.5, 12.0)
    assert (taken.voltage_v, taken.current_a) == (230.5, 0.75)
    assert taken.power_factor == pytest.approx(299.4 / 345.5)
    assert (taken.integrator_s, taken.voltage_range_v, taken.current_range_a) == (
        60.0,
        300.0,
        2.0,
    )


def test_each_value_of_several_elements_is_that_of_the_element_it_is_taken_for() -> (
    None
):
    number, *items = (one.command for one in SampleForm.of_run("1+3").settings)
    assert number.endswith("NUMBER 15")
    functions = [one.rpartition(" ")[2] for one in items]
    first = ["U,1", "I,1", "S,1", "P,1", "LAMBDA,1", "WH,1"]
    common = ["TIME", "URANGE,1", "IRANGE,1"]
    third = ["U,3", "I,3", "S,3", "P,3", "LAMBDA,3", "WH,3"]
    assert functions == [*first, *common, *third]
    places = [one.rpartition(" ")[0].rpartition("ITEM")[2] for one in items]
    assert places == [str(place) for place in range(1, 16)]


def test_a_flag_of_an_element_is_that_of_its_channel_and_of_the_sum() -> None:
    form = SampleForm.of_run("1+2+3")
    values = ",".join(["1"] * 21)
    for place, clipped in ((8, "1"), (11, "2"), (14, "3")):
        stamp = form.stamp(1.0, NOW, Flags.of(("1", "2", "3")))
        taken, _ = form.taken(f"1;{values};P,1;WH,1;{1 << place};START", stamp)
        assert isinstance(taken, SummedReading)
        assert taken.current_peak_over
        assert [one.element for one in taken.channels if one.is_flagged] == [clipped]


@pytest.mark.parametrize("element", [*ELEMENTS, "1+2+3"])
def test_every_question_fits_into_an_input_buffer_of_256_characters(
    element: str,
) -> None:
    measured = ("1", "2", "3") if element == "sum" else tuple(element.split("+"))
    forms = [SampleForm.of_run(element)]
    if element in ELEMENTS:
        forms.append(SampleForm.of_onlooker(element))
    for form in forms:
        assert len(form.question) <= LONGEST_MESSAGE
        assert len(form.peak_question(measured)) <= LONGEST_MESSAGE


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "0;1,2,3,ERROR,5,6,7,8,9;P,1;WH,1;0;START",
        "0;1,2,3,4,5,ERROR,7,8,9;P,1;WH,1;0;START",
        "0;1,2,3,4,5,6,ERROR,8,9;P,1;WH,1;0;START",
        "0;1;2",
        "0;1,2;P,1;WH,1;0;RESET",
        "0;1,2,3,4,5,6,7,8,9,10;P,1;WH,1;0;RESET",
        "x;1,2,3,4,5,6,7,8,9;P,1;WH,1;0;RESET",
        "0;1,2,3,4,5,6,7,8,9;P,1;WH,1;0;NO",
    ],
)
def test_a_sample_that_makes_no_sense_is_a_meter_error(answer: str) -> None:
    with pytest.raises(MeterError) as caught:
        RUN.taken(answer, parts)
    assert caught.value.code == "meter-answer"


@pytest.mark.parametrize(
    ("power", "energy"),
    [
        ("P,2", "WH,1"),
        ("P,1", "WH,SIGMA"),
        ("I,1", "WH,1"),
    ],
)
def test_values_of_something_else_are_no_sample(
    power: str,
    energy: str,
) -> None:
    with pytest.raises(
        MeterError,
        match="another program has changed the items of its answers",
    ):
        RUN.taken(f"0;1,2,3,4,5,6,7,8,9;{power};{energy};0;START", parts)


@given(st.text())
def test_whatever_is_answered_is_a_sample_or_a_meter_error(answer: str) -> None:
    for form in (RUN, ASIDE):
        with pytest.raises(MeterError):
            form.taken(answer, parts)


def test_an_onlooker_touches_nothing_of_a_run_or_of_another_element() -> None:
    run = {
        setting.header
        for element in ELEMENTS
        for form in [SampleForm.of_run(element)]
        for setting in (*form.settings, *form.peak_settings(("1", "2", "3")))
    }
    taken = [
        setting.header
        for element in ELEMENTS
        for form in [SampleForm.of_onlooker(element)]
        for setting in (
            *form.settings,
            *form.peak_settings(("1", "2", "3") if element == "sum" else (element,)),
        )
    ]
    assert len(set(taken)) == len(taken)
    assert not run & set(taken)
    assert all(40 < int(header.rpartition("ITEM")[2]) <= 255 for header in taken)
    assert "EESR" not in SampleForm.of_onlooker("1").question
