from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.wt300.models import listed, measured_elements, model_named


@pytest.mark.parametrize(
    "name",
    ["WT310", "WT310E", "wt310eh", "WT332E", "WT333E", "WT310HC", "WT332", "WT333"],
)
def test_the_family_is_accepted(name: str) -> None:
    assert model_named(name).currents_a


@pytest.mark.parametrize("name", ["WT210", "WT1800", "PZ4000", ""])
def test_another_model_is_not_known(name: str) -> None:
    assert model_named(name) is None


@pytest.mark.parametrize("name", ["WT332", "WT333"])
def test_first_models_of_several_elements_are_those_of_today_with_the_first_rates_and_limits(
    name: str,
) -> None:
    first = model_named(name)
    second = model_named(f"{name}E")
    assert first.elements == second.elements
    assert first.currents_a == second.currents_a
    assert first.sum_wiring == second.sum_wiring
    assert first.rates_s == model_named("WT310").rates_s
    assert first.limits.range_share == model_named("WT310").limits.range_share


def test_models_differ_in_their_ranges() -> None:
    assert model_named("WT310EH").currents_a == (1, 2, 5, 10, 20, 40)
    assert model_named("WT332E").currents_a == (0.5, 1, 2, 5, 10, 20)
    assert model_named("WT310E").currents_a[0] == 0.005
    assert model_named("WT310E").current_ranges_a(6)[:4] == (0.0025, 0.005, 0.01, 0.025)
    assert model_named("WT310E").voltage_ranges_v(6) == (7.5, 15, 30, 75, 150, 300)


@pytest.mark.parametrize("name", ["WT310E", "WT310EH", "WT332E", "WT333E"])
def test_e_models_have_slow_updates_too(name: str) -> None:
    assert model_named(name).rates_s[-2:] == (10, 20)
    assert 20.0 not in model_named("WT310").rates_s


@pytest.mark.parametrize(
    ("name", "measurable"),
    [
        ("WT310", ("1",)),
        ("WT310EH", ("1",)),
        ("WT332E", ("1", "3", "sum")),
        ("WT333E", ("1", "2", "3", "sum")),
    ],
)
def test_each_model_has_its_elements(
    name: str,
    measurable: tuple[str, ...],
) -> None:
    model = model_named(name)
    assert model.measurable == measurable
    for element in model.elements:
        assert measured_elements(model, element, name) == (element,)


def test_the_sum_is_all_elements_and_several_may_be_named() -> None:
    assert measured_elements(model_named("WT332E"), "sum", "WT332E") == ("1", "3")
    assert measured_elements(model_named("WT333E"), "1+2", "WT333E") == ("1", "2")


@pytest.mark.parametrize(
    ("name", "element", "named"),
    [
        ("WT310", "2", "a WT310 has element 1 only"),
        ("WT310E", "sum", "a WT310E has element 1 only"),
        ("WT332E", "2", "a WT332E has elements 1 and 3, and their sum"),
        ("WT333E", "4", "a WT333E has elements 1 and 2 and 3, and their sum"),
        ("WT333E", "", "no element ''"),
        ("WT332E", "1+2", "no element '1\\+2'"),
        ("WT333E", "1+2+2", "no element '1\\+2\\+2'"),
        ("WT310", "1+1", "no element '1\\+1'"),
    ],
)
def test_an_element_that_is_not_there_is_refused(
    name: str,
    element: str,
    named: str,
) -> None:
    with pytest.raises(MeterError, match=named) as caught:
        measured_elements(model_named(name), element, name)
    assert caught.value.code == "meter-range"


@given(st.sampled_from(model_named("WT310E").currents_a), st.floats(-1e-7, 1e-7))
def test_a_range_is_found_however_it_was_computed(
    choice: float,
    error: float,
) -> None:
    assert (
        listed(
            choice * (1 + error),
            model_named("WT310E").currents_a,
            "current range",
            "A",
        )
        == choice
    )
