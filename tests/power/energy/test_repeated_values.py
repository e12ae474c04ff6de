"""Values that are read twice: on a busy host they are one late update, and otherwise a WH that stood still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lpirc_power.energy import Measurement
from lpirc_power.energy.step_checks import integrator_steps
from lpirc_power.meter import Reading

Make = Callable[..., Any]
UPDATE_S = 0.1
POWERS_W = (3.60, 3.67, 3.59, 3.61, 3.62, 3.57, 3.56, 3.63) * 5
PLACES = range(1, 15)
"""Of readings that are not in the last two seconds, where the integrator may have ended."""


def readings_of(reading: Make, powers_w: tuple[float, ...] = POWERS_W) -> list[Reading]:
    found: list[Reading] = []
    energy_wh = 0.0
    for number, power_w in enumerate(powers_w, start=1):
        at_s = UPDATE_S * number
        energy_wh += power_w * UPDATE_S / 3600.0
        values = {"power_w": power_w, "energy_wh": energy_wh, "integrator_s": at_s}
        found.append(reading(at_s, **values))
    return found


def late(readings: list[Reading], place: int) -> list[Reading]:
    """The reading at `place` was answered with the values of the next one."""
    later = replace(readings[place + 1], monotonic_s=readings[place].monotonic_s)
    return [*readings[:place], later, *readings[place + 1 :]]


def holds(measurement: Make, readings: list[Reading], **different: Any) -> bool:
    setup = {"update_interval_s": UPDATE_S}
    last = readings[-1]
    end_s = UPDATE_S * (len(readings) + 1)
    measured: Measurement = measurement(
        setup,
        end_s=end_s,
        integrator_wh=last.energy_wh + last.power_w * UPDATE_S / 3600.0,
        integrator_s=end_s,
        start_stop_s=0.0,
        **different,
    )
    return integrator_steps(readings, measured).ok


def test_an_answer_that_an_update_overtook_repeats_its_values_once(
    reading: Make, measurement: Make
) -> None:
    exact = readings_of(reading)
    assert holds(measurement, exact)
    for place in PLACES:
        assert holds(measurement, late(exact, place)), place
    before = late(exact, PLACES[0])
    assert not holds(measurement, before, is_before_budgets=True)


def test_a_sum_that_stood_still_for_an_update_is_a_fault(
    reading: Make, measurement: Make
) -> None:
    steady = readings_of(reading, (3.6,) * len(POWERS_W))
    lost_wh = 3.6 * UPDATE_S / 3600.0
    for place in PLACES:
        stood = [
            replace(one, energy_wh=one.energy_wh - lost_wh) for one in steady[place:]
        ]
        assert not holds(measurement, [*steady[:place], *stood]), place


def test_a_sum_that_rose_by_two_updates_may_not_stand_still_with_another_power(
    reading: Make, measurement: Make
) -> None:
    exact = late(readings_of(reading), 4)
    exact[5] = replace(exact[5], power_w=3.64)
    assert not holds(measurement, exact)
