from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.visa.link import Link

KNOBS = (
    ":INPUT:VOLTAGE:RANGE?",
    ":INPUT:VOLTAGE:AUTO?",
    ":INPUT:CURRENT:RANGE?",
    ":INPUT:CURRENT:AUTO?",
    ":RATE?",
    ":INPUT:MODE?",
    ":INTEGRATE:TIMER?",
    ":INTEGRATE:STATE?",
    ":NUMERIC:NORMAL:NUMBER?",
    ":NUMERIC:NORMAL:ITEM1?",
    ":COMMUNICATE:HEADER?",
    ":COMMUNICATE:VERBOSE?",
)


def settings(address: str) -> list[str]:
    with contextlib.closing(Link(address)) as panel:
        return [panel.query(knob) for knob in KNOBS]


@pytest.fixture
def box(simulate: Any) -> Any:
    """A meter that somebody has used before."""
    started = simulate()
    with contextlib.closing(Link(started.address)) as panel:
        panel.write(
            ":RATE 500MS;:INPUT:MODE DC;:INPUT:CURRENT:RANGE 5A;:INPUT:VOLTAGE:RANGE 300V"
        )
        panel.write(
            ":INTEGRATE:TIMER 1,2,3;:NUMERIC:NORMAL:NUMBER 2;:COMMUNICATE:VERBOSE OFF"
        )
    return started


def test_a_meter_that_was_armed_only_gets_its_settings_back(
    sampler: Any,
    box: Any,
) -> None:
    before = settings(box.address)
    run = sampler(box.address)
    run.arm()
    assert settings(box.address) != before
    run.close()
    assert settings(box.address) == before


def test_a_meter_gets_its_settings_back_after_a_run(
    sampler: Any,
    box: Any,
    recorder: Any,
) -> None:
    before = settings(box.address)
    run = sampler(box.address)
    run.arm()
    run.start()
    recorder.more(2)
    run.stop()
    run.close()
    assert settings(box.address) == before


def test_a_meter_gets_its_settings_back_after_an_exception(
    sampler: Any,
    box: Any,
) -> None:
    before = settings(box.address)

    def failing_run() -> None:
        with contextlib.closing(sampler(box.address)) as run:
            run.arm()
            run.start()
            run.stop()
            raise KeyError("a fault of the caller")

    with pytest.raises(KeyError):
        failing_run()
    assert settings(box.address) == before


def test_a_second_run_gives_back_what_was_before_the_first(
    sampler: Any,
    box: Any,
    recorder: Any,
) -> None:
    before = settings(box.address)
    run = sampler(box.address)
    for _ in range(2):
        run.arm()
        run.start()
        recorder.more(1)
        run.stop()
    run.close()
    assert settings(box.address) == before


def test_settings_are_given_back_over_a_link_that_was_lost_in_between(
    sampler: Any,
    box: Any,
    relay: Any,
    recorder: Any,
    until: Any,
) -> None:
    before = settings(box.address)
    cable = relay(box.port)
    run = sampler(cable.address)
    run.arm()
    run.start()
    recorder.more(2)
    cable.cut()
    until(lambda: run.link_error)
    cable.mend()
    recorder.more(2)
    run.stop()
    run.close()
    assert settings(box.address) == before


def test_a_run_that_was_not_stopped_keeps_its_integrator(
    sampler: Any,
    box: Any,
    recorder: Any,
) -> None:
    run = sampler(box.address)
    run.arm()
    run.start()
    recorder.more(2)
    armed = settings(box.address)
    run.close()
    assert settings(box.address) == armed
    assert "STAR" in armed[7]


def test_a_meter_that_was_resumed_is_left_as_it_was_armed(
    sampler: Any,
    box: Any,
    recorder: Any,
) -> None:
    first = sampler(box.address)
    second = sampler(box.address)
    first.arm()
    first.start()
    recorder.more(1)
    first.close()
    second.resume()
    second.stop()
    stopped = settings(box.address)
    second.close()
    assert settings(box.address) == stopped


def test_a_meter_that_somebody_started_again_is_left_alone(
    sampler: Any,
    box: Any,
    recorder: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = sampler(box.address)
    run.arm()
    run.start()
    recorder.more(1)
    run.stop()
    with contextlib.closing(Link(box.address)) as panel:
        panel.write(":INTEGRATE:START")
    running = settings(box.address)
    run.close()
    assert settings(box.address) == running
    assert "integrates again" in caplog.text


@pytest.mark.slow
def test_a_dead_meter_delays_the_end_by_no_more_than_one_question(
    sampler: Any,
    simulate: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    killed = simulate()
    hung = simulate()
    for box, fail, longest_s in (
        (killed, killed.kill, 9.0),
        (hung, hung.hang, 12.0),
    ):
        run = sampler(box.address)
        run.arm()
        fail()
        before_s = time.monotonic()
        run.close()
        assert time.monotonic() - before_s < longest_s
    assert caplog.text.count("may not have its former settings") == 2


def test_a_meter_whose_link_is_down_is_reached_once_more(
    sampler: Any,
    box: Any,
    relay: Any,
) -> None:
    before = settings(box.address)
    cable = relay(box.port)
    run = sampler(cable.address)
    run.arm()
    cable.cut()
    with pytest.raises(MeterError):
        run.measure_idle(0.1)
    cable.mend()
    run.close()
    assert settings(box.address) == before


def test_settings_are_given_back_over_a_link_that_proves_dead(
    sampler: Any,
    box: Any,
    relay: Any,
) -> None:
    before = settings(box.address)
    cable = relay(box.port)
    run = sampler(cable.address)
    run.arm()
    cable.cut()
    cable.mend()
    run.close()
    assert settings(box.address) == before


@pytest.mark.parametrize("through", ["the same program", "another program"])
def test_an_energy_that_is_somebody_elses_is_left_alone(
    sampler: Any,
    box: Any,
    recorder: Any,
    until: Any,
    caplog: pytest.LogCaptureFixture,
    through: str,
) -> None:
    run = sampler(box.address)
    run.arm()
    if through == "the same program":
        run.start()
        recorder.more(1)
        run.stop()
    with contextlib.closing(Link(box.address)) as panel:
        panel.write(":INTEGRATE:START")
        until(lambda: panel.query(":NUMERIC:NORMAL:VALUE? 7") >= "1")
        panel.write(":INTEGRATE:STOP")
        energy = panel.query(":NUMERIC:NORMAL:VALUE? 6")
    found = settings(box.address)
    run.close()
    assert settings(box.address) == found
    with contextlib.closing(Link(box.address)) as panel:
        assert panel.query(":NUMERIC:NORMAL:VALUE? 6") == energy
    assert "holds an unknown energy, or that of another run" in caplog.text


def test_who_armed_in_vain_leaves_the_lock_of_the_run_that_began(
    sampler: Any,
    simulate: Any,
) -> None:
    address = simulate().address
    winner = sampler(address)
    winner.arm()
    loser = sampler(address)
    loser.arm()
    winner.start()
    with pytest.raises(MeterError, match="another program or a person has used it"):
        loser.start()
    loser.close()
    winner.stop()
    assert winner.changes == ()
