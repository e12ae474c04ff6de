from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.meter import ELEMENTS, IntegratorState
from lpirc_power.wt300.answers import NEW_DATA
from lpirc_power.wt300.dialogue import LONGEST_MESSAGE
from lpirc_power.wt300.sample import SampleForm

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


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_question_fits_into_an_input_buffer_of_256_characters(
    element: str,
) -> None:
    measured = ("1", "2", "3") if element == "sum" else (element,)
    for form in (SampleForm.of_run(element), SampleForm.of_onlooker(element)):
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
