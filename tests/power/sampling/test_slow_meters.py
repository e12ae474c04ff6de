"""Runs with meters that take their time or hold what they show: peers that share nothing with the simulator."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.wt300.integration import DEAF_AFTER_START_S
from tests.power.peer import POWER_W, Instrument, Peer
from tests.timeouts import TIMEOUT_S

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=0,
)


class Bench:
    """A sampler and a peer on one clock, the peer's; the sampling thread stands still at `end_s`."""

    def __init__(self, **instrument: float) -> None:
        self.meter = Instrument(**instrument)
        self.peer = Peer(self.meter)
        self.end_s = math.inf
        self.readings: list[Reading] = []
        self._stands = threading.Event()
        self.sampler = Sampler(
            self.peer.address,
            SETUP,
            self.readings.append,
            lambda: self.meter.now_s,
            lambda: datetime.now(UTC),
            wait=self._wait,
        )

    def _wait(
        self,
        event: threading.Event,
        seconds: float,
    ) -> bool:
        while (
            threading.current_thread().name == "sampler"
            and self.meter.now_s >= self.end_s
        ):
            self._stands.set()
            if event.wait(0.002):
                return True
        with self.meter.guard:
            self.meter.now_s += seconds
        return event.is_set()

    def start(
        self,
        sampled_s: float,
    ) -> float:
        """Start, and sample for so long; returns how long the start took."""
        begun_s = self.end_s = self.meter.now_s
        self.sampler.start()
        took_s = self.meter.now_s - begun_s
        self.run_on(sampled_s)
        return took_s

    def run_on(
        self,
        seconds: float,
    ) -> None:
        self._stands.clear()
        self.end_s = self.meter.now_s + seconds
        assert self._stands.wait(TIMEOUT_S)

    def stop(self) -> tuple[Reading, float]:
        begun_s = self.meter.now_s
        final = self.sampler.stop()
        return final, self.meter.now_s - begun_s

    def close(self) -> None:
        self.sampler.close()
        self.peer.close()


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    with contextlib.ExitStack() as stack:

        def build(**instrument: float) -> Bench:
            built = Bench(**instrument)
            stack.callback(built.close)
            return built

        yield build


@pytest.mark.parametrize("delay_s", [0.0, 0.4, 0.6, 1.0, 1.5])
def test_a_slow_meter_arms_starts_and_stops_without_one_interrupted_question(
    bench: Any,
    delay_s: float,
) -> None:
    run = bench(delay_s=delay_s)
    begun_s = run.meter.now_s
    run.sampler.arm()
    arm_s = run.meter.now_s - begun_s
    start_s = run.start(6.0)
    final, stop_s = run.stop()
    assert run.meter.errors == []
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert final.state is IntegratorState.STOP
    assert run.sampler.changes == ()
    # What counts is the number of messages.
    assert arm_s <= 29 * delay_s + 0.6
    assert start_s <= 7 * delay_s + DEAF_AFTER_START_S + 0.1
    assert stop_s <= 12 * delay_s + 0.5
    assert any(reading.power_w == POWER_W for reading in run.readings)


@pytest.mark.parametrize(("delay_s", "at_most_s"), [(0.6, 4.0), (1.5, 10.0)])
def test_a_meter_that_becomes_slow_at_its_start_is_started_once(
    bench: Any,
    delay_s: float,
    at_most_s: float,
) -> None:
    run = bench()
    run.sampler.arm()
    resets = run.meter.resets
    run.meter.delay_after_start_s = delay_s
    assert run.start(3.0) <= at_most_s
    assert run.meter.resets == resets, "it was started a second time"
    final, stop_s = run.stop()
    assert stop_s <= 9 * delay_s + 0.1
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)


@pytest.mark.parametrize("deaf_s", [0.0, 0.2])
def test_no_question_is_lost_on_a_meter_that_is_deaf_for_a_moment_after_its_start(
    bench: Any,
    deaf_s: float,
) -> None:
    run = bench()
    run.meter.deaf_after_start_s = deaf_s
    run.sampler.arm()
    assert 0.2 < run.start(1.0) < 0.3
    assert run.meter.errors == []
    assert run.stop()[0].energy_wh == pytest.approx(
        POWER_W * run.meter.ran_s / 3600,
        rel=1e-5,
    )


def test_a_meter_that_stays_deaf_after_its_start_is_given_up_within_half_a_minute(
    bench: Any,
) -> None:
    run = bench()
    run.meter.deaf_after_start_s = math.inf
    run.sampler.arm()
    begun_s = run.meter.now_s
    with pytest.raises(MeterError) as caught:
        run.sampler.start()
    assert caught.value.code == "meter-timeout"
    assert run.meter.now_s - begun_s < 30.0


def test_a_meter_that_fails_after_its_energy_was_read_has_given_it(bench: Any) -> None:
    run = bench()
    run.sampler.arm()
    run.start(2.0)
    run.meter.silent = (":INPUT:CFACTOR",)
    final, stop_s = run.stop()
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert "could not be read back" in run.sampler.changes[0]
    assert stop_s < 20.0
    assert run.sampler.stop() is final


@pytest.mark.parametrize("header", [":HOLD", ":NUMERIC:HOLD"])
def test_held_values_cost_no_energy_and_are_reported(
    bench: Any,
    header: str,
) -> None:
    run = bench()
    run.sampler.arm()
    run.start(3.0)
    run.meter.settings[header] = "1"
    run.run_on(6.0)
    final, _ = run.stop()
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert run.sampler.changes == (f"{header} OFF was set, it is 1",)


def test_a_meter_that_knows_neither_hold_is_used_without(bench: Any) -> None:
    run = bench()
    run.meter.unknown = (":NUMERIC:HOLD", ":MEASURE:MHOLD")
    run.sampler.arm()
    run.start(1.0)
    final, _ = run.stop()
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert run.sampler.changes == ()
    run.sampler.close()
    assert run.meter.errors == []


def test_an_energy_that_something_unknown_holds_is_none_of_record_and_is_not_reset(
    bench: Any,
) -> None:
    run = bench()
    run.sampler.arm()
    run.start(2.0)
    run.meter.panel_held = True
    run.run_on(6.0)
    resets = run.meter.resets
    with pytest.raises(MeterError, match="TIME stood at") as caught:
        run.sampler.stop()
    assert caught.value.code == "meter-held"
    run.meter.panel_held = False
    final, _ = run.stop()
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert run.meter.resets == resets


def test_closing_a_meter_whose_energy_is_in_doubt_leaves_it_alone(bench: Any) -> None:
    run = bench()
    run.sampler.arm()
    run.start(2.0)
    run.meter.panel_held = True
    run.run_on(6.0)
    ran_s = run.meter.ran_s
    resets = run.meter.resets
    with pytest.raises(MeterError):
        run.sampler.stop()
    run.sampler.close()
    assert run.meter.resets == resets
    assert run.meter.ran_s >= ran_s


def test_an_energy_that_something_holds_is_not_reset_either_once_the_timer_has_ended_it(
    bench: Any,
) -> None:
    run = bench()
    run.sampler.arm()
    run.start(2.0)
    run.meter.panel_held = True
    run.run_on(6.0)
    with run.meter.guard:
        run.meter.write(":INTEGRATE:STOP")
        run.meter.state = "TIMEUP"
    run.run_on(0.5)
    assert run.readings[-1].state is IntegratorState.TIMEUP
    resets = run.meter.resets
    with pytest.raises(MeterError) as caught:
        run.sampler.stop()
    assert caught.value.code == "meter-held"
    run.sampler.close()
    assert run.meter.resets == resets


def test_an_energy_that_is_not_shown_at_the_end_is_not_reset(bench: Any) -> None:
    run = bench()
    run.sampler.arm()
    run.start(2.0)
    run.meter.shows_energy = False
    resets = run.meter.resets
    final, _ = run.stop()
    assert math.isnan(final.energy_wh)
    run.sampler.close()
    assert run.meter.resets == resets


def test_a_meter_that_misses_its_first_question_after_the_start_is_watched_all_the_same(
    bench: Any,
) -> None:
    run = bench()
    run.sampler.arm()
    write = run.meter.write
    missed = []

    def write_or_miss(message: str) -> None:
        if message.startswith(":STATUS:EESR?;") and not missed:
            missed.append(message)
        else:
            write(message)

    run.meter.write = write_or_miss
    run.start(4.0)
    assert missed
    run.meter.settings[":MEASURE:AVERAGING:STATE"] = "1"
    run.run_on(5.0)
    run.meter.settings[":MEASURE:AVERAGING:STATE"] = "0"
    run.run_on(3.0)
    run.stop()
    assert any("AVERAGING" in reading.changed for reading in run.readings)


def test_a_meter_that_misses_a_question_at_the_resumption_is_watched_all_the_same(
    bench: Any,
) -> None:
    run = bench()
    run.sampler.arm()
    run.meter.write(":INTEGRATE:START")
    run.sampler.close(restore_settings=False)
    later = bench()
    later.meter = later.peer.instrument = run.meter
    write = run.meter.write
    missed = []

    def write_or_miss(message: str) -> None:
        if message.strip() == ":MEASURE:AVERAGING:STATE?" and not missed:
            missed.append(message)
        else:
            write(message)

    run.meter.write = write_or_miss
    later.end_s = run.meter.now_s
    later.sampler.resume()
    later.run_on(3.0)
    assert missed
    run.meter.settings[":MEASURE:AVERAGING:STATE"] = "1"
    later.run_on(4.0)
    run.meter.settings[":MEASURE:AVERAGING:STATE"] = "0"
    later.stop()
    assert any("AVERAGING" in reading.changed for reading in later.readings)


def test_a_meter_that_takes_short_messages_only_is_asked_one_by_one(bench: Any) -> None:
    run = bench()
    run.meter.longest_message = 200
    run.sampler.arm()
    run.start(1.0)
    final, _ = run.stop()
    assert final.energy_wh == pytest.approx(POWER_W * run.meter.ran_s / 3600, rel=1e-5)
    assert run.sampler.changes == ()
    assert run.meter.settings[":INPUT:VOLTAGE:RANGE"] == "1.5000E+02"
