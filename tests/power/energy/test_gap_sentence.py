from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy.continuity import gap_sentence, integrator_since
from lpirc_power.meter import Identity, IntegratorState, Reading

Make = Callable[..., Reading]
METER = Identity("YOKOGAWA", "WT310E", "C2PH13047V", "F1.03")


def test_a_meter_that_went_on_is_said_to_have_gone_on(reading: Make) -> None:
    before = reading(100.0, energy_wh=1.0, integrator_s=100.0)
    after = reading(130.2, energy_wh=1.3, integrator_s=130.0)
    assert gap_sentence(METER, before, after, ()) == (
        "The meter YOKOGAWA WT310E C2PH13047V F1.03 is back after 30.2 s without a reading; "
        "its integrator went on, with 1.3 Wh in 130 s."
    )


def test_a_meter_that_began_again_is_said_to_have_lost_its_energy(
    reading: Make,
) -> None:
    before = reading(100.0, energy_wh=1.0, integrator_s=100.0)
    sentence = gap_sentence(
        METER,
        before,
        reading(130.0, energy_wh=0.1, integrator_s=12.0),
        (),
    )
    assert sentence.endswith(
        "its integrator started again (1 Wh in 100 s before, 0.1 Wh in 12 s now), and the energy before is lost."
    )


@pytest.mark.parametrize(
    ("ran_s", "words"),
    [
        (28, "went on"),
        (27, "stood still for some 3 s"),
    ],
)
def test_time_may_miss_two_seconds_of_a_gap(
    ran_s: int,
    words: str,
) -> None:
    assert words in integrator_since(_at(100.0, 100.0), _at(130.0, 100.0 + ran_s))


def test_what_differs_is_named(reading: Make) -> None:
    sentence = gap_sentence(
        METER,
        None,
        reading(5.0),
        ("a was set, it is b", "c was set, it is d"),
    )
    assert "is back; its integrator went on" in sentence
    assert sentence.endswith(
        " Its settings differ from before: a was set, it is b; c was set, it is d."
    )


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            {
                "state": IntegratorState.RESET,
                "energy_wh": 0.0,
                "integrator_s": 0.0,
            },
            "is reset",
        ),
        ({"energy_wh": 1.1, "integrator_s": 20.0}, "started again"),
        ({"energy_wh": 0.4, "integrator_s": 130.0}, "started again"),
        ({"energy_wh": 0.999, "integrator_s": 130.0}, "went on"),
        ({"energy_wh": 1.1, "integrator_s": 104.0}, "stood still for some 26 s"),
        (
            {
                "state": IntegratorState.TIMEUP,
                "energy_wh": 1.2,
                "integrator_s": 120.0,
            },
            "has ended (TIMEUP)",
        ),
        (
            {
                "state": IntegratorState.STOP,
                "energy_wh": 1.2,
                "integrator_s": 110.0,
            },
            "has ended (STOP)",
        ),
        ({"energy_wh": math.nan, "integrator_s": math.nan}, "went on"),
    ],
)
def test_what_became_of_the_integrator_is_told(
    reading: Make,
    after: dict[str, object],
    words: str,
) -> None:
    before = reading(100.0, energy_wh=1.0, integrator_s=100.0)
    assert words in integrator_since(before, reading(130.0, **after))


def test_a_negative_power_lets_the_energy_fall(reading: Make) -> None:
    before = reading(
        100.0,
        energy_wh=-1.0,
        integrator_s=100.0,
        power_w=-6.0,
    )
    after = reading(
        130.0,
        energy_wh=-1.3,
        integrator_s=130.0,
        power_w=-6.0,
    )
    assert "went on" in integrator_since(before, after)


@given(gap_s=st.floats(0, 600), ran_s=st.integers(0, 600))
def test_it_stood_still_exactly_if_it_missed_more_than_two_seconds(
    gap_s: float,
    ran_s: int,
) -> None:
    before = _at(100.0, 100.0)
    after = _at(100.0 + gap_s, 100.0 + ran_s)
    missed_s = (after.monotonic_s - before.monotonic_s) - ran_s
    assert ("stood still" in integrator_since(before, after)) is (missed_s > 2.0)


def _at(
    monotonic_s: float,
    integrator_s: float,
) -> Reading:
    utc = datetime(2026, 1, 1, tzinfo=UTC)
    state = IntegratorState.START
    return Reading(
        monotonic_s,
        utc,
        120,
        1,
        120,
        120,
        1,
        integrator_s,
        integrator_s,
        state,
        False,
        False,
        False,
    )
