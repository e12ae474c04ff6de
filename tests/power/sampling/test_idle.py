from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.polling import baseline, idle_readings
from lpirc_power.visa.link import Link
from tests.timeouts import TIMEOUT_S

Make = Callable[..., Reading]


def test_the_idle_power_is_measured_before_the_start(
    sampler: Any,
    paced: Any,
    recorder: Any,
    until: Callable[..., None],
) -> None:
    clock = paced()
    run = sampler(clock.server.address, monotonic=clock.monotonic, wait=clock.wait)
    run.arm()
    idle = run.measure_idle(0.8)
    assert idle.power_w == pytest.approx(36.0, rel=1e-3)
    assert 0.8 <= idle.duration_s < 1.0
    assert idle.readings in (8, 9)
    run.start()
    clock.until_s(clock.now_s + 0.5)
    until(lambda: recorder.readings)  # another thread takes them
    # The readings and the energy of the run are of the run only.
    assert recorder.readings[0].monotonic_s > 1000.0 + idle.duration_s
    assert run.stop().energy_wh * 3600 / 36 < clock.now_s - 1000.0 - idle.duration_s


def test_two_updates_are_the_least(sampler: Any) -> None:
    run = sampler("sim:constant:7W")
    run.arm()
    assert run.measure_idle(0.0).readings >= 1


def test_a_meter_that_integrates_has_no_idle_power(
    sampler: Any,
    simulate: Any,
) -> None:
    box = simulate()
    first = sampler(box.address)
    second = sampler(box.address)
    first.arm()
    second.arm()
    first.start()
    with pytest.raises(MeterError) as caught:
        second.measure_idle(0.2)
    assert caught.value.code == "meter-busy"


def test_a_load_over_range_has_no_idle_power(
    sampler: Any,
    setup: Setup,
) -> None:
    run = sampler("sim:constant:36W", replace(setup, current_range_a=0.005))
    run.arm()
    with pytest.raises(MeterError, match="over range") as caught:
        run.measure_idle(0.2)
    assert caught.value.code == "meter-no-idle"


def test_a_clipped_load_has_no_idle_power(
    sampler: Any,
    setup: Setup,
) -> None:
    run = sampler("sim:constant:36W,crest=6", replace(setup, current_range_a=0.5))
    run.arm()
    with pytest.raises(MeterError, match="clipped at the peaks") as caught:
        run.measure_idle(0.2)
    assert caught.value.code == "meter-no-idle"


def test_a_setting_that_is_changed_meanwhile_leaves_no_idle_power(
    sampler: Any,
    simulate: Any,
) -> None:
    box = simulate()
    run = sampler(box.address)
    run.arm()
    run.measure_idle(0.2)
    with contextlib.closing(Link(box.address)) as panel:
        panel.write(":HOLD ON")
    with pytest.raises(MeterError, match=":HOLD OFF was set, it is 1") as caught:
        run.measure_idle(0.2)
    assert caught.value.code == "meter-setup-changed"


@pytest.mark.parametrize(
    ("interval_s", "longest_s"),
    [(0.1, 5.0), (1.0, 5.0), (20.0, 60.0)],
)
def test_a_meter_that_measures_nothing_new_is_not_waited_for_long(
    reading: Make,
    interval_s: float,
    longest_s: float,
) -> None:
    now_s = [0.0]

    class Silent:
        def read(self) -> Reading:
            return reading(now_s[0])

        def read_update(self) -> tuple[Reading, bool]:
            return reading(now_s[0]), False

    def pause(seconds: float) -> None:
        now_s[0] += seconds

    with pytest.raises(MeterError, match="HOLD") as caught:
        idle_readings(Silent(), 600.0, interval_s, pause)  # type: ignore[arg-type]
    assert caught.value.code == "meter-no-idle"
    assert longest_s <= now_s[0] < longest_s + 1.0


def test_closing_ends_the_measuring_of_idle_power(sampler: Any) -> None:
    run = sampler("sim:constant:7W")
    run.arm()
    caught: list[MeterError] = []

    def measure() -> None:
        try:
            run.measure_idle(60.0)
        except MeterError as error:
            caught.append(error)

    measuring = threading.Thread(target=measure)
    measuring.start()
    run.close()
    measuring.join(TIMEOUT_S)
    assert [error.code for error in caught] == ["meter-closed"]


def test_a_baseline_is_the_mean_of_the_updates_after_the_first_reading(
    reading: Make,
) -> None:
    readings = [
        reading(t, power_w=p)
        for t, p in (
            (1.0, 50.0),
            (2.0, 2.0),
            (3.0, math.nan),
            (4.0, 4.0),
        )
    ]
    found = baseline(readings)
    assert (found.power_w, found.duration_s, found.readings) == (3.0, 3.0, 2)
    assert found.spread_w == pytest.approx(math.sqrt(2.0))
    assert found.standard_w == pytest.approx(1.0)
    assert (found.freedom, found.voltage_v) == (1.0, 120.0)


def test_the_spread_of_a_baseline_that_drifts_is_that_of_its_parts(
    reading: Make,
) -> None:
    """A thousand updates of a slow wave are not a thousand independent powers."""
    powers_w = [2.0 + math.sin(number / 150.0) for number in range(1001)]
    readings = [reading(0.1 * at, power_w=power) for at, power in enumerate(powers_w)]
    found = baseline(readings)
    assert found.freedom == 2.0
    assert found.needed_s > 2.0 * found.duration_s
    assert found.spread_w == pytest.approx(0.69, abs=0.05)
    assert found.standard_w > 5.0 * found.spread_w / math.sqrt(1000)


def test_no_data_is_no_baseline(reading: Make) -> None:
    with pytest.raises(MeterError) as caught:
        baseline([reading(1.0), reading(2.0, power_w=math.nan)])
    assert caught.value.code == "meter-no-idle"
