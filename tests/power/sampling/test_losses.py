from __future__ import annotations

import os
import re
import signal
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading, Setup

LOAD_W = 36.0


def test_a_cut_cable_loses_readings_but_no_energy_and_the_gap_is_marked(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
    setup: Setup,
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    run = sampler(cable.address)
    run.arm()
    run.start()
    start_s = time.monotonic()
    recorder.more(5)
    cable.cut()
    cut_s = time.monotonic()
    until(lambda: run.link_error)
    until(lambda: time.monotonic() > cut_s + 2.5)
    before = recorder.readings[-1]
    cable.mend()
    recorder.more(5)
    assert cable.accepted == 1  # the first attempt after that succeeded
    assert run.link_error is None
    final = run.stop()
    end_s = time.monotonic()
    assert (
        LOAD_W * final.integrator_s
        <= final.energy_wh * 3600
        <= LOAD_W * (final.integrator_s + 1)
    )
    model = run.identity.model
    measured = Measurement(
        final.energy_wh,
        final.integrator_s,
        start_s,
        end_s,
        setup,
        model,
        limits_of(model),
        True,
        (),
    )
    gaps = next(
        c
        for c in energy_checks(recorder.readings, measured)
        if c.code == "reading-gaps"
    )
    assert gaps.ok is False
    assert gaps.figures["gaps"] == 1
    lost, returned = recorder.events
    assert lost.kind == "meter-lost"
    assert returned.kind == "meter-back"
    assert cut_s <= lost.monotonic_s <= returned.monotonic_s
    gap_s = returned.monotonic_s - before.monotonic_s
    assert (
        f"after {gap_s:.1f} s without a reading; its integrator went on"
        in returned.sentence
    )
    assert returned.changes == ()


def test_stop_waits_for_a_cut_cable_to_be_mended(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
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
    until(lambda: "sampler" not in {thread.name for thread in threading.enumerate()})
    cable.mend()
    stopping.join()
    assert finals[0].state is IntegratorState.STOP
    assert finals[0].energy_wh > 0
    assert [event.kind for event in recorder.events] == ["meter-lost", "meter-back"]


def test_what_a_stop_that_had_to_wait_for_the_link_has_cost_is_told_and_fails_a_check(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
    setup: Setup,
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    run = sampler(cable.address)
    run.arm()
    asked_s = time.monotonic()
    run.start()
    start_s = time.monotonic()
    recorder.more(10)
    cable.cut()
    until(lambda: run.link_error)
    end_s = time.monotonic()
    mending = threading.Timer(1.5, cable.mend)
    mending.start()
    final = run.stop()
    mending.join()
    assert run.late_s >= 1.4
    assert run.ran_s <= time.monotonic() - start_s - run.late_s + 0.5
    # The integrator ran while its start was being confirmed, which takes longer on a busy host.
    over_wh = final.energy_wh - LOAD_W * (end_s - asked_s) / 3600
    told = re.search(
        rf"The meter was stopped {run.late_s:.1f} s after the end, .* at most (\S+) Wh of its energy",
        recorder.events[-1].sentence,
    )
    assert told is not None
    assert float(told[1]) >= 0.99 * over_wh > 0
    model = run.identity.model
    measured = Measurement(
        final.energy_wh,
        final.integrator_s,
        start_s,
        end_s,
        setup,
        model,
        limits_of(model),
        start_stop_s=run.ran_s - (end_s - start_s),
    )
    check = next(
        c
        for c in energy_checks(recorder.readings, measured)
        if c.code == "integrator-trapezoid"
    )
    assert check.ok is False
    assert check.severity == "error"


def test_a_stop_over_a_link_that_is_there_is_not_late(
    sampler: Any,
    recorder: Any,
) -> None:
    run = sampler("sim:")
    run.arm()
    run.start()
    recorder.more(3)
    run.stop()
    assert run.late_s == 0.0


def test_stop_gives_up_on_a_meter_that_stays_lost_and_may_be_called_again(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_power.sampling.sampler.FINAL_S", 0.5)
    cable = relay(simulate().port)
    run = sampler(cable.address)
    run.arm()
    run.start()
    recorder.more(2)
    cable.cut()
    with pytest.raises(MeterError) as caught:
        run.stop()
    assert caught.value.code in ("meter-lost", "meter-unreachable")
    cable.mend()
    assert run.stop().energy_wh > 0


def test_a_killed_meter_is_reported_costs_nothing_and_is_found_again(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    until: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = simulate("--load", "constant:36W")
    run = sampler(first.address)
    identity = run.arm()
    run.start()
    recorder.more(3)
    first.kill()
    until(lambda: run.link_error)
    assert run.link_error.code in ("meter-lost", "meter-unreachable")
    until(lambda: "lost" in caplog.text)
    before_s = time.monotonic()
    cpu_s = time.process_time()
    until(lambda: time.monotonic() > before_s + 1.0)
    assert time.process_time() - cpu_s < 0.3 * (time.monotonic() - before_s)
    simulate("--port", str(first.port))
    recorder.more(3)
    assert run.link_error is None
    assert run.identity == identity
    # The new box knows nothing of the run; that is for all to see.
    assert run.stop().state is IntegratorState.RESET
    back = recorder.events[-1]
    assert back.kind == "meter-back"
    assert "its integrator is reset" in back.sentence
    assert any("RANGE" in change for change in back.changes)
    # The panel of the new box was locked again, over the new link; its automatic ranges may have moved meanwhile.
    lost = [one for one in back.changes if "COMMUNICATE" in one]
    assert len(run.changes) == len(back.changes) - len(lost)
    assert len(lost) == 2


@pytest.mark.slow
def test_a_meter_that_hangs_costs_nothing_and_goes_on(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    until: Any,
) -> None:
    box = simulate("--load", "constant:36W")
    run = sampler(box.address)
    run.arm()
    run.start()
    recorder.more(3)
    box.hang()
    before_s = time.monotonic()
    cpu_s = time.process_time()
    try:
        until(lambda: run.link_error)
        until(lambda: time.monotonic() > before_s + 4.0)
        assert time.process_time() - cpu_s < 0.2 * (time.monotonic() - before_s)
    finally:
        os.kill(box.process.pid, signal.SIGCONT)
    recorder.more(2)
    final = run.stop()
    assert (
        LOAD_W * final.integrator_s
        <= final.energy_wh * 3600
        <= LOAD_W * (final.integrator_s + 1)
    )


def test_another_meter_at_the_address_is_not_taken_for_the_first(
    sampler: Any,
    simulate: Any,
    recorder: Any,
    until: Any,
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
    assert [event.kind for event in recorder.events] == ["meter-lost"]


def test_one_that_fails_at_the_news_of_a_loss_does_not_end_sampling(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
) -> None:
    def failing(_event: object) -> None:
        raise ValueError("no pen")

    cable = relay(simulate().port)
    run = sampler(cable.address, on_link=failing)
    run.arm()
    run.start()
    recorder.more(1)
    cable.cut()
    until(lambda: run.link_error)
    cable.mend()
    recorder.more(2)
    run.stop()


def test_nobody_needs_to_hear_of_losses(
    sampler: Any,
    simulate: Any,
    relay: Any,
    recorder: Any,
    until: Any,
    setup: Setup,
) -> None:
    cable = relay(simulate().port)
    run = sampler(cable.address, replace(setup, update_interval_s=0.25), on_link=None)
    run.arm()
    run.start()
    recorder.more(1)
    cable.cut()
    until(lambda: run.link_error)
    cable.mend()
    recorder.more(1)
    assert run.link_error is None
    assert recorder.events == []
