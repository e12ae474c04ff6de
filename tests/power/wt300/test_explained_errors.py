from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.simulator.syntax import TEXTS
from lpirc_power.wt300.answers import EXPLANATIONS, explained, is_error


@pytest.mark.parametrize(
    ("error", "means"),
    [
        ('113,"Undefined header"', "does not know the command"),
        ('222,"Data out of range"', "out of range"),
        ('221,"Setting conflict"', "another setting"),
        ('350,"Queue overflow"', "overflowed"),
        ('813,"Invalid operation"', "until the integrator is reset"),
        ('842,"x"', "cannot start now"),
        ('844,"x"', "cannot stop"),
        ('845,"x"', "cannot be reset while it runs"),
        ('899,"x"', "in its present state"),
        ("941", "internal fault"),
        ("-410", "before the last answer was read"),
    ],
)
def test_a_code_is_explained_behind_the_meters_own_words(
    error: str,
    means: str,
) -> None:
    assert explained(error).startswith(error.replace(",", " "))
    assert means in explained(error)


def test_every_code_of_the_simulated_meter_is_explained() -> None:
    assert set(TEXTS) - {0} <= set(EXPLANATIONS)


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        ('0,"No error"', False),
        ("+0", False),
        ('113,"x"', True),
        ("", True),
    ],
)
def test_nought_is_no_error(
    error: str,
    is_one: bool,
) -> None:
    assert is_error(error) is is_one


def test_an_error_without_a_code_is_shown_whole() -> None:
    assert explained("Undefined header") == "Undefined header"


@given(st.text())
def test_whatever_the_meter_says_is_shown(error: str) -> None:
    assert isinstance(explained(error), str)
