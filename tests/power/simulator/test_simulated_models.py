from __future__ import annotations

from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.simulator.simulated_models import model_named


def codes(box: Any) -> str:
    return str(box.execute(":STATUS:ERROR?")).partition(",")[0]


@pytest.mark.parametrize("model", ["WT310", "WT310E", "WT310EH", "WT332E", "WT333E"])
def test_every_model_says_its_name(
    meter: Any,
    model: str,
) -> None:
    assert meter(model=model).execute("*IDN?") == f"YOKOGAWA,{model},C2PH13047V,F1.03"


def test_a_model_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(MeterError) as caught:
        model_named("WT5000")
    assert caught.value.code == "simulator-model"
    assert "WT5000" in caught.value.sentence
    assert "WT333E" in caught.value.sentence


@pytest.mark.parametrize(
    ("model", "smallest", "largest", "missing"),
    [
        ("WT310", "5.0E-03", "20.000E+00", "40"),
        ("WT310E", "5.0E-03", "20.000E+00", "40"),
        ("WT310EH", "1.000E+00", "40.000E+00", "500MA"),
        ("WT332E", "500.0E-03", "20.000E+00", "200MA"),
        ("WT333E", "500.0E-03", "20.000E+00", "200MA"),
    ],
)
def test_current_ranges(
    meter: Any,
    model: str,
    smallest: str,
    largest: str,
    missing: str,
) -> None:
    box = meter(model=model)
    assert box.execute(":INPUT:CURRENT:RANGE?") == largest
    assert box.execute(f":INPUT:CURRENT:RANGE {smallest};RANGE?") == smallest
    box.execute(f":INPUT:CURRENT:RANGE {missing}")
    assert codes(box) == "222"


@pytest.mark.parametrize("rate", ["10S", "20S", "AUTO"])
def test_slow_rates_and_auto_are_for_e_models(
    meter: Any,
    rate: str,
) -> None:
    old = meter()
    new = meter(model="WT310E")
    old.execute(f":RATE {rate}")
    assert codes(old) in ("222", "120")
    new.execute(f":RATE {rate}")
    rows = new.execute(":RATE?")
    assert (
        rows
        == {
            "10S": "10.000E+00",
            "20S": "20.000E+00",
            "AUTO": "AUTO",
        }[rate]
    )


def test_crest_factor_6a_is_for_e_models(meter: Any) -> None:
    old = meter()
    new = meter(model="WT310E")
    old.execute(":INPUT:CFACTOR A6")
    assert codes(old) == "222"
    rows = new.execute(":INPUT:CFACTOR A6;CFACTOR?;:INPUT:CURRENT:RANGE?")
    assert rows == "A6;10.000E+00"


@pytest.mark.parametrize(
    ("model", "element", "code"),
    [
        ("WT310", "2", "222"),
        ("WT310", "SIGMA", "222"),
        ("WT332E", "1", "0"),
        ("WT332E", "2", "222"),
        ("WT332E", "3", "0"),
        ("WT332E", "SIGM", "0"),
        ("WT333E", "2", "0"),
        ("WT333E", "4", "222"),
        ("WT333E", "ALL", "141"),
    ],
)
def test_elements_that_are_not_there_are_refused(
    meter: Any,
    model: str,
    element: str,
    code: str,
) -> None:
    box = meter(model=model)
    box.execute(f":NUMERIC:ITEM1 P,{element}")
    assert codes(box) == code


def test_the_factory_items_lie_ten_apart_for_each_element(meter: Any) -> None:
    box = meter(model="WT332E")
    asked = ";".join(f":NUMERIC:ITEM{index}?" for index in (1, 9, 10, 11, 21, 31, 39))
    rows = box.execute(f"{asked};NUMBER?")
    assert rows == "U,1;FI,1;NONE;NONE;U,3;U,SIGMA;FI,SIGMA;39"
    assert meter().execute(":NUMERIC:NUMBER?") == "9"


def test_the_load_is_shared_by_the_elements_that_are_wired(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W", model="WT333E")
    box.execute(":NUMERIC:NUMBER 4;ITEM1 P,1;ITEM2 P,2;ITEM3 P,3;ITEM4 P,SIGMA")
    clock.pass_s(1)
    rows = box.execute(":NUMERIC:VALUE?")
    assert rows == "12.000E+00,12.000E+00,12.000E+00,36.000E+00"
    box.execute(":INPUT:WIRING P1W3")
    clock.pass_s(1)
    rows = box.execute(":INPUT:WIRING?;:NUMERIC:VALUE?")
    assert rows == "P1W3;18.000E+00,0.0000E+00,18.000E+00,36.000E+00"


def test_the_sum_adds_powers_and_energies_and_takes_the_mean_of_voltage_and_current(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W,pf=0.5", model="WT333E")
    functions = ("U", "I", "P", "S", "LAMBDA", "WH", "TIME")
    items = ";".join(
        f"ITEM{index} {name},SIGMA" for index, name in enumerate(functions, start=1)
    )
    box.execute(f":NUMERIC:NUMBER 7;{items};:INTEGRATE:START")
    clock.pass_s(10)
    assert box.execute(":NUMERIC:VALUE?") == (
        "120.00E+00,200.00E-03,36.000E+00,72.000E+00,500.00E-03,100.000E-03,10"
    )


@pytest.mark.parametrize(
    ("model", "wiring", "code"),
    [
        ("WT310", "P1W3", "222"),
        ("WT332E", "P3W4", "222"),
        ("WT332E", "P3W3", "0"),
        ("WT333E", "V3A3", "0"),
    ],
)
def test_a_model_has_the_wirings_that_fit_it(
    meter: Any,
    model: str,
    wiring: str,
    code: str,
) -> None:
    box = meter(model=model)
    box.execute(f":INPUT:WIRING {wiring}")
    assert codes(box) == code


def test_each_element_has_its_condition_bits(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:360W,crest=4", model="WT332E")  # 1.5 A each, 6 A at the peak
    box.execute(":INPUT:CURRENT:RANGE 1")
    clock.pass_s(1)
    over = (1 << 6) | (1 << 12)
    clipped = (1 << 8) | (1 << 14)
    assert box.execute(":STATUS:CONDITION?") == str(over | clipped | 1 << 3)
    box.execute(":INPUT:CURRENT:RANGE 2;:STATUS:FILTER15 FALL;:STATUS:EESR?")
    clock.pass_s(1)
    assert box.execute(":STATUS:CONDITION?;:STATUS:EESR?") == f"0;{1 << 14}"
