from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from power.energy import energy_checks
from power.errors import MeterError
from power.meter import IntegratorState, Reading, Setup
from power.sampler import Sampler
from power.transport import Link

SETUP = Setup(voltage_range_v=150.0, current_range_a=1.0, update_interval_s=0.1, integrator_timer_s=600)


class Recorder:
    """Takes readings and lets a test wait for them."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self._changed = threading.Condition()

    def __call__(self, reading: Reading) -> None:
        with self._changed:
            self.readings.append(reading)
            self._changed.notify_all()

    def more(self, count: int) -> None:
        with self._changed:
            wanted = len(self.readings) + count
            assert self._changed.wait_for(lambda: len(self.readings) >= wanted, 20)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def sampler(recorder: Recorder) -> Iterator[Callable[..., Sampler]]:
    with contextlib.ExitStack() as stack:

        def make(address: str, setup: Setup = SETUP, take: Callable[[Reading], None] = recorder) -> Sampler:
            made = Sampler(address, setup, take, time.monotonic, lambda: datetime.now(UTC))
            stack.callback(made.close)
            return made

        yield make


def children() -> set[int]:
    return {
        int(pid)
        for task in Path(f"/proc/{os.getpid()}/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def test_a_whole_run_on_the_spot(sampler: Any, recorder: Recorder) -> None:
    run = sampler("sim:steps:2W@0.7s,9W@1.5s")
    assert run.arm().model == "WT310"
    assert run.last is None
    run.start()
    start_s = time.monotonic()
    recorder.more(25)
    end_s = time.monotonic()
    final = run.stop()
    assert final.state is IntegratorState.STOP
    assert run.last == final
    assert run.stop() is final
    checks = energy_checks(
        recorder.readings, final.energy_wh, final.integrator_s, end_s - start_s, start_s, end_s, 0.1
    )
    assert [check.sentence for check in checks if not check.ok] == []


def test_each_update_of_the_meter_is_read_about_once(sampler: Any, recorder: Recorder) -> None:
    run = sampler("sim:", Setup(150.0, 1.0, 0.25, 600))
    run.arm()
    run.start()
    recorder.more(12)
    run.stop()
    times = [reading.monotonic_s for reading in recorder.readings[1:]]
    mean_s = (times[-1] - times[0]) / (len(times) - 1)
    assert 0.24 < mean_s < 0.5


def test_the_child_of_sim_is_gone_after_close(sampler: Any, until: Any) -> None:
    before = children()
    run = sampler("sim:constant:5W")
    run.arm()
    (child,) = children() - before
    run.close()
    assert not Path(f"/proc/{child}").exists()
    run.close()
    with pytest.raises(MeterError, match="closed"):
        run.arm()


def test_the_timer_of_the_meter_ends_the_integral(sampler: Any, until: Any) -> None:
    run = sampler("sim:constant:36W", Setup(150.0, 1.0, 0.1, 1))
    run.arm()
    run.start()
    until(lambda: run.last is not None and run.last.state is IntegratorState.TIMEUP)
    final = run.stop()
    assert (final.state, final.energy_wh, final.integrator_s) == (IntegratorState.TIMEUP, 0.01, 1.0)


def test_a_cut_cable_loses_readings_but_no_energy(
    sampler: Any, simulate: Any, relay: Any, recorder: Recorder, until: Any
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    run = sampler(cable.address)
    run.arm()
    run.start()
    recorder.more(5)
    cable.cut()
    until(lambda: run.link_error)
    assert run.losses == 1
    lost_at = len(recorder.readings)
    cable.mend()
    recorder.more(5)
    assert run.link_error is None
    assert run.last.energy_wh > recorder.readings[lost_at - 1].energy_wh
    final = run.stop()
    assert 36 * final.integrator_s <= final.energy_wh * 3600 <= 36 * (final.integrator_s + 1)


def test_stop_waits_for_a_cut_cable_to_be_mended(
    sampler: Any, simulate: Any, relay: Any, recorder: Recorder, until: Any
) -> None:
    cable = relay(simulate().port)
    run = sampler(cable.address)
    run.arm()
    run.start()
    recorder.more(2)
    cable.cut()
    until(lambda: run.link_error)
    finals: list[Reading] = []
    stopping = threading.Thread(target=lambda: finals.append(run.stop()))
    stopping.start()
    until(lambda: run._thread is None or not run._thread.is_alive())
    cable.mend()
    stopping.join()
    assert finals[0].state is IntegratorState.STOP
    assert finals[0].energy_wh > 0


def test_a_killed_meter_is_reported_costs_nothing_and_is_found_again(
    sampler: Any, simulate: Any, recorder: Recorder, until: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = simulate("--load", "constant:36W")
    run = sampler(first.address)
    identity = run.arm()
    run.start()
    recorder.more(3)
    first.kill()
    until(lambda: run.link_error)
    assert run.link_error.code in ("meter-lost", "meter-unreachable")
    assert "lost" in caplog.text
    before_s = time.process_time()
    threading.Event().wait(1.0)
    assert time.process_time() - before_s < 0.5
    simulate("--port", str(first.port))
    recorder.more(3)
    assert run.link_error is None
    assert run.identity == identity
    # The new box knows nothing of the run; that is for all to see.
    assert run.stop().state is IntegratorState.RESET


def test_another_meter_at_the_address_is_not_taken_for_the_first(
    sampler: Any, simulate: Any, recorder: Recorder, until: Any
) -> None:
    first = simulate()
    run = sampler(first.address)
    run.arm()
    run.start()
    recorder.more(1)
    first.kill()
    simulate("--port", str(first.port), "--serial", "OTHER")
    until(lambda: run.link_error and run.link_error.code == "meter-changed")
    with pytest.raises(MeterError, match="OTHER") as caught:
        run.stop()
    assert caught.value.code == "meter-changed"


def test_a_new_process_resumes_a_running_meter(sampler: Any, simulate: Any, recorder: Recorder) -> None:
    address = simulate("--load", "constant:36W").address
    before = sampler(address)
    before.arm()
    before.start()
    recorder.more(3)
    before.close()
    energy_wh = recorder.readings[-1].energy_wh
    after = sampler(address)
    assert after.resume() == before.identity
    recorder.more(3)
    assert after.last.state is IntegratorState.START
    final = after.stop()
    assert final.energy_wh > energy_wh
    assert final.state is IntegratorState.STOP


def test_a_meter_that_integrates_is_armed_only_by_taking_over(sampler: Any, simulate: Any) -> None:
    address = simulate().address
    first, second = sampler(address), sampler(address)
    first.arm()
    first.start()
    with pytest.raises(MeterError) as caught:
        second.arm()
    assert caught.value.code == "meter-busy"
    first.stop()
    second.arm()
    second.start()
    first.close()
    third = sampler(address)
    assert third.arm(take_over=True).model == "WT310"


def test_a_second_start_is_refused_and_changes_nothing(sampler: Any, recorder: Recorder) -> None:
    run = sampler("sim:")
    run.arm()
    run.start()
    for again in (run.start, run.arm, run.resume):
        with pytest.raises(MeterError) as caught:
            again()
        assert caught.value.code == "meter-busy"
    recorder.more(2)
    assert run.stop().state is IntegratorState.STOP


def test_a_sampler_arms_anew_after_a_run(sampler: Any, recorder: Recorder) -> None:
    run = sampler("sim:constant:36W")
    for _ in range(2):
        run.arm()
        run.start()
        recorder.more(2)
        assert run.stop().energy_wh > 0


def test_a_consumer_that_fails_does_not_end_sampling(
    sampler: Any, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(reading: Reading) -> None:
        recorder(reading)
        raise ValueError("disk full")

    run = sampler("sim:", SETUP, failing)
    run.arm()
    with caplog.at_level(logging.ERROR):
        run.start()
        recorder.more(3)
        run.stop()
    assert isinstance(run.consumer_error, ValueError)
    assert "disk full" in caplog.text


def test_a_consumer_may_stop_the_run_itself(sampler: Any, until: Any) -> None:
    finals: list[Reading] = []
    run = sampler("sim:", SETUP, lambda _reading: finals.append(run.stop()))
    run.arm()
    run.start()
    until(lambda: finals)
    assert run.stop() is finals[0]


@pytest.mark.parametrize(
    "address",
    [
        "TCPIP::127.0.0.1:5025::INSTR",
        "TCPIP::127.0.0.1::5025::INSTR",
        "127.0.0.1",
        "TCPIP::h,1::SOCKET",
        "",
        "simulator",
    ],
)
def test_a_wrong_address_is_refused_before_anything_is_opened(sampler: Any, address: str) -> None:
    with pytest.raises(MeterError, match="TCPIP::HOST,PORT::INSTR") as caught:
        sampler(address)
    assert caught.value.code == "meter-wrong-address"


def test_nobody_there_is_said_at_once(sampler: Any, simulate: Any) -> None:
    gone = simulate()
    gone.kill()
    run = sampler(gone.address)
    for act in (run.arm, run.resume):
        with pytest.raises(MeterError) as caught:
            act()
        assert caught.value.code == "meter-unreachable"


def test_a_wrong_load_of_sim_is_said_by_its_sentence(sampler: Any) -> None:
    with pytest.raises(MeterError, match="There is no load 'wind'"):
        sampler("sim:wind").arm()


def test_a_meter_whose_setup_was_changed_after_arming_is_not_started(sampler: Any, simulate: Any) -> None:
    box = simulate()
    run = sampler(box.address, Setup(150.0, 1.0, 0.1, 600))
    run.arm()
    with contextlib.closing(Link(box.address)) as knob:
        knob.write(":INPUT:CURRENT:RANGE 5A")
    with pytest.raises(MeterError, match="is not set up as it was armed") as failure:
        run.start()
    assert failure.value.code == "meter-setup-changed"
    run.arm()
    run.start()
