from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.errors import MeterError, MeterRefused, MeterTimeout
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.meter_standing import counts_by_identity
from lpirc_power.visa.link import Link
from tests.contest_day import children_of
from tests.power.busy_host import failed
from tests.timeouts import TIMEOUT_S


def children() -> set[int]:
    return set(children_of(os.getpid()))


def measured(
    run: Any,
    setup: Setup,
    start_s: float,
    end_s: float,
) -> Measurement:
    final = run.stop()
    identity = run.identity
    return Measurement(
        integrator_wh=final.energy_wh,
        integrator_s=final.integrator_s,
        start_s=start_s,
        end_s=end_s,
        setup=setup,
        model=identity.model,
        limits=limits_of(identity.model),
        official=counts_by_identity(identity),
        changes=run.changes,
        start_stop_s=run.ran_s - (end_s - start_s),
    )


def test_a_whole_run_on_the_spot(
    sampler: Any,
    recorder: Any,
    setup: Setup,
) -> None:
    setup = replace(setup, current_range_a=0.2)
    # A constant load: on a busy host the times of so few readings are not exact enough for one that changes.
    run = sampler("sim:constant:6W", setup)
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
    assert run.changes == ()
    found = measured(run, setup, start_s, end_s)
    assert failed(energy_checks(recorder.readings, found)) == ["official-meter"]


def test_the_child_of_sim_is_gone_after_close(
    sampler: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "lpirc_power.addresses.simulator_address.subprocess",
        subprocess,
    )  # a child of our own
    before = children()
    run = sampler("sim:constant:5W")
    run.arm()
    (child,) = children() - before
    run.close()
    assert not Path(f"/proc/{child}").exists()
    run.close()
    for act in (run.arm, run.start, run.resume, run.stop):
        with pytest.raises(MeterError, match="closed") as caught:
            act()
        assert caught.value.code == "meter-closed"


def test_nobody_is_left_over_after_a_run(
    sampler: Any,
    recorder: Any,
    simulate: Any,
) -> None:
    before = set(threading.enumerate())
    run = sampler(simulate().address)
    run.arm()
    run.start()
    recorder.more(2)
    run.stop()
    run.close()
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(TIMEOUT_S)
    assert not any(thread.is_alive() for thread in left)


def test_the_timer_of_the_meter_ends_the_integral(
    sampler: Any,
    until: Any,
    setup: Setup,
) -> None:
    run = sampler("sim:constant:36W", replace(setup, integrator_timer_s=1))
    run.arm()
    run.start()
    until(lambda: run.last is not None and run.last.state is IntegratorState.TIMEUP)
    final = run.stop()
    assert final.state == IntegratorState.TIMEUP
    assert final.energy_wh == 0.01
    assert final.integrator_s == 1.0
    assert run.changes == ()


def test_however_late_it_is_stopped_the_integrator_ran_no_longer_than_its_timer_and_the_start(
    sampler: Any,
    paced: Any,
    setup: Setup,
) -> None:
    meter = paced()
    run = sampler(
        meter.server.address,
        replace(setup, integrator_timer_s=1),
        monotonic=meter.monotonic,
        wait=meter.wait,
    )
    run.arm()
    before_s = meter.now_s
    meter.end_s = before_s
    run.start()
    start_s = meter.now_s
    took_s = start_s - before_s
    meter.until_s(start_s + 2.5)
    meter.until_s(start_s + 5.0)
    run.stop()
    assert run.ran_s == 1.0 + took_s


def test_a_second_try_to_stop_does_not_count_the_time_since_the_first(
    sampler: Any,
    simulate: Any,
    setup: Setup,
    flawed: Any,
) -> None:
    now_s = [100.0]
    opened = flawed()
    run = sampler(
        simulate().address,
        replace(setup, integrator_timer_s=0),
        monotonic=lambda: now_s[0],
    )
    run.arm()
    run.start()
    meter = opened[-1]
    read_final = meter.read_final

    def broken() -> None:
        meter.read_final = read_final
        raise MeterRefused("Not now.")

    meter.read_final = broken
    with pytest.raises(MeterError, match="Not now"):
        run.stop()
    ran_s = run.ran_s
    now_s[0] += 50.0
    run.stop()
    assert run.ran_s == ran_s < 1.0


def test_a_new_process_resumes_a_running_meter(
    sampler: Any,
    simulate: Any,
    recorder: Any,
) -> None:
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
    assert after.changes == ()


def test_a_meter_that_integrates_is_armed_only_by_taking_over(
    sampler: Any,
    simulate: Any,
) -> None:
    address = simulate().address
    first = sampler(address)
    second = sampler(address)
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


def test_a_second_start_is_refused_and_changes_nothing(
    sampler: Any,
    recorder: Any,
) -> None:
    run = sampler("sim:")
    run.arm()
    run.start()
    for again in (run.start, run.arm, run.resume, lambda: run.measure_idle(0.1)):
        with pytest.raises(MeterError) as caught:
            again()
        assert caught.value.code == "meter-busy"
    recorder.more(2)
    assert run.stop().state is IntegratorState.STOP


def test_a_sampler_arms_anew_after_a_run(
    sampler: Any,
    recorder: Any,
) -> None:
    run = sampler("sim:constant:36W")
    for _ in range(2):
        run.arm()
        assert run.last is None
        run.start()
        recorder.more(2)
        assert run.stop().energy_wh > 0


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
def test_a_wrong_address_is_refused_before_anything_is_opened(
    sampler: Any,
    address: str,
) -> None:
    with pytest.raises(MeterError, match="is not the address of a meter") as caught:
        sampler(address)
    assert caught.value.code == "meter-wrong-address"


def test_nobody_there_is_said_at_once(
    sampler: Any,
    simulate: Any,
) -> None:
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


def turn(
    address: str,
    knob: str,
) -> None:
    with contextlib.closing(Link(address)) as panel:
        panel.write(knob)
        panel.query("*OPC?")  # all before it is done


def test_a_meter_whose_setup_was_changed_after_arming_is_not_started(
    sampler: Any,
    simulate: Any,
) -> None:
    box = simulate()
    run = sampler(box.address)
    run.arm()
    turn(box.address, ":INPUT:CURRENT:RANGE 5A")
    with pytest.raises(
        MeterError, match="has other settings than at its arming"
    ) as failure:
        run.start()
    assert failure.value.code == "meter-setup-changed"
    run.arm()
    run.start()


def test_a_range_that_was_changed_in_mid_run_is_told_at_its_end(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    setup: Setup,
) -> None:
    box = simulate()
    run = sampler(box.address)
    run.arm()
    run.start()
    start_s = time.monotonic()
    recorder.more(3)
    turn(box.address, ":INPUT:CURRENT:RANGE 5A")
    recorder.more(3)
    run.stop()
    (change,) = run.changes
    assert ":INPUT:CURRENT:RANGE 1A was set, it is 5" in change
    checked = measured(run, setup, start_s, time.monotonic())
    assert "range-changed" in failed(energy_checks(recorder.readings, checked))


def test_settings_that_cannot_be_read_back_cost_no_energy_but_look_changed(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    flawed: Any,
) -> None:
    answers = iter([()])

    def changes(_setup: Setup) -> tuple[str, ...]:
        for answer in answers:  # the one before the start
            return answer
        raise MeterRefused("It says no.")

    flawed(changes=changes)
    run = sampler(simulate().address)
    run.arm()
    run.start()
    recorder.more(2)
    assert run.stop().state is IntegratorState.STOP
    assert run.changes == ("the settings could not be read back (It says no.)",)


def test_a_meter_that_is_deaf_just_after_its_start_has_not_lost_its_link(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    flawed: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "lpirc_power.sampling.sampling_thread.STARTING_S",
        20.0,
    )  # a busy host may ask first after the real 0.3 s
    deaf = iter([False])

    def read_update() -> tuple[Reading, bool]:
        if next(deaf, False):
            raise MeterTimeout("It does not answer.")
        return opened[-1].meter.read_update()  # type: ignore[no-any-return]

    opened = flawed(read_update=read_update)
    run = sampler(simulate().address)
    run.arm()
    deaf = iter([True])
    run.start()
    recorder.more(2)
    run.stop()
    assert recorder.events == []
