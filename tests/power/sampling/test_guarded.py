"""What guards an energy against hands and other programs: the locked panel, what the meter latches, and settling."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.meter import Setup
from lpirc_power.visa.link import Link
from tests.power.sampling.test_faults import Broken, Run

OVER_RANGE = 1 << 6


@pytest.fixture
def box(simulate: Any) -> Any:
    """A simulated meter with its control socket, by the options it lacks something with."""

    def start(*options: str) -> Broken:
        made = simulate("--load", "constant:36W", "--control", "0", *options)
        return Broken(made.address, made.process.stdout.readline().split()[1])

    return start


@pytest.fixture
def going(
    sampler: Any,
    recorder: Any,
    setup: Setup,
) -> Any:
    def start(box: Broken) -> Run:
        run = sampler(box.address)
        run.arm()
        run.start()
        begun = Run(run, recorder, setup)
        recorder.more(3)
        return begun

    return start


def is_locked(meter: Broken) -> bool:
    return bool(meter.state()["settings"]["lockout"])


def asked(
    address: str,
    question: str,
) -> str:
    link = Link(address)
    try:
        return link.query(question)
    finally:
        link.close()


def test_the_panel_is_locked_from_arming_until_the_energy_is_read(
    box: Any,
    sampler: Any,
    recorder: Any,
) -> None:
    meter = box()
    run = sampler(meter.address)
    run.arm()
    with pytest.raises(AssertionError, match="LOCAL key off"):
        meter.tell("knob :INPUT:CURRENT:RANGE 200MA")
    run.start()
    recorder.more(3)
    with pytest.raises(AssertionError, match="LOCAL key off"):
        meter.tell("knob :INTEGRATE:STOP")
    run.stop()
    assert is_locked(meter) is False
    assert run.changes == ()


def test_a_panel_that_is_unlocked_in_mid_run_is_told_with_its_time(
    box: Any,
    going: Any,
    until: Any,
) -> None:
    meter = box()
    run = going(meter)
    meter.tell("unlock")
    until(lambda: any("LOCKOUT" in one.changed for one in run.recorder.readings))
    check = run.checks()["range-changed"]
    assert check.ok is False
    assert check.severity == "error"
    assert ":COMMUNICATE:LOCKOUT ON was set, it is 0" in check.sentence
    assert " s of the window" in check.sentence


def test_a_panel_is_locked_again_over_a_new_link(
    box: Any,
    going: Any,
    until: Any,
) -> None:
    meter = box()
    run = going(meter)
    meter.tell("drop-link 0.3")
    until(
        lambda: (
            [one.kind for one in run.recorder.events] == ["meter-lost", "meter-back"]
        )
    )
    until(lambda: is_locked(meter))
    run.sampler.stop()
    assert run.sampler.changes == ()


def test_a_meter_that_cannot_lock_or_latch_runs_and_the_log_says_what_is_not_guarded(
    box: Any,
    going: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = going(box("--without", "lock", "--without", "filters"))
    run.recorder.more(3)
    assert run.sampler.stop().energy_wh > 0
    assert run.sampler.changes == ()
    assert (
        "is not locked. The meter has no command that locks its panel." in caplog.text
    )
    assert "go unnoticed, because it does not latch them" in caplog.text


def test_a_panel_that_a_killed_program_has_locked_is_given_back_by_meter_unlock(
    box: Any,
) -> None:
    meter = box()
    for message in (":COMMUNICATE:REMOTE ON", ":COMMUNICATE:LOCKOUT ON"):
        link = Link(meter.address)
        link.write(message)
        link.close()
    done = subprocess.run(
        [sys.executable, "-m", "lpirc_power", "unlock", meter.address],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "are unlocked" in done.stdout
    meter.tell("knob :INPUT:CURRENT:RANGE 200MA")


def test_arming_after_a_killed_program_locks_and_unlocks_the_panel_as_ever(
    box: Any,
    sampler: Any,
) -> None:
    meter = box()
    asked(
        meter.address,
        ":COMMUNICATE:REMOTE ON;:COMMUNICATE:LOCKOUT ON;:COMMUNICATE:REMOTE?",
    )
    run = sampler(meter.address)
    run.arm()
    run.close()  # restores what it found, but for the lock
    assert not is_locked(meter)


@pytest.mark.parametrize("latches", [True, False])
def test_a_stop_and_a_start_within_one_gap_show_where_the_meter_latches(
    box: Any,
    going: Any,
    until: Any,
    latches: bool,
) -> None:
    meter = box("--without", "lock", *([] if latches else ["--without", "latch"]))
    run = going(meter)
    meter.tell("drop-link 0.4")
    until(lambda: run.sampler.link_error)
    meter.tell("knob :INTEGRATE:STOP")
    meter.tell("knob :INTEGRATE:START")
    until(lambda: not run.sampler.link_error)
    run.recorder.more(3)
    check = run.checks()["integrator-stopped"]
    assert check.ok is not latches
    assert ("stopped and restarted" in check.sentence) is latches


def test_a_clip_that_ends_before_it_is_read_shows_in_the_next_reading(
    box: Any,
    going: Any,
    until: Any,
) -> None:
    meter = box("--without", "lock")
    run = going(meter)
    meter.tell("drop-link 0.7")
    until(lambda: run.sampler.link_error)
    meter.tell("knob :INPUT:CURRENT:RANGE 50MA")  # a tenth of what flows
    until(lambda: condition(meter) & OVER_RANGE)
    meter.tell("knob :INPUT:CURRENT:RANGE 1A")
    until(lambda: not run.sampler.link_error)
    run.recorder.more(3)
    found = run.checks()
    assert not found["over-range"].ok
    assert not found["peak-clipping"].ok


def condition(meter: Broken) -> int:
    return int(meter.tell("knob :STATUS:CONDITION?").split()[-1])


def test_a_meter_is_not_ready_before_an_update_with_data_and_its_time_to_settle(
    simulate: Any,
    sampler: Any,
    clocks: Any,
) -> None:
    run = sampler(simulate("--load", "constant:36W").address, settle_s=0.8)
    before_s = clocks.monotonic()
    run.arm()
    assert clocks.monotonic() - before_s >= 0.8


def test_a_panel_that_is_unlocked_after_a_resume_is_told_as_well(
    box: Any,
    sampler: Any,
    recorder: Any,
    until: Any,
) -> None:
    meter = box()
    first = sampler(meter.address)
    first.arm()
    first.start()
    first.close(restore_settings=False)
    assert is_locked(meter), "the run goes on"
    resumed = sampler(meter.address)
    resumed.resume()
    recorder.more(3)
    meter.tell("unlock")
    until(lambda: any("LOCKOUT" in one.changed for one in recorder.readings))
    resumed.stop()


def test_a_run_that_ends_without_its_energy_gives_the_keys_back(
    box: Any,
    sampler: Any,
    recorder: Any,
) -> None:
    meter = box()
    run = sampler(meter.address)
    run.arm()
    run.start()
    recorder.more(3)
    run.close()  # as after a stop that failed: it keeps its energy, and its settings
    assert not is_locked(meter)


def test_a_meter_that_holds_what_it_shows_has_its_keys_free_to_end_that(
    box: Any,
    sampler: Any,
    recorder: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meter = box()
    run = sampler(meter.address)
    run.arm()
    run.start()
    recorder.more(3)
    monkeypatch.setattr(
        "lpirc_power.sampling.sampling_thread.held",
        lambda *_: "It holds what it shows.",
    )
    with pytest.raises(MeterError) as caught:
        run.stop()
    assert caught.value.code == "meter-held"
    assert not is_locked(meter)


def test_meter_unlock_says_where_there_is_no_lock(box: Any) -> None:
    command = [
        sys.executable,
        "-m",
        "lpirc_power",
        "unlock",
        box("--without", "lock").address,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "has no command that locks its keys" in done.stderr
