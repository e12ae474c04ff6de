"""The meters of open and closed runs, and what they still hold of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any

import pytest

from lpirc_power.meter import IntegratorState
from lpirc_power.visa.link import Link
from referee.clock import Clock
from referee.judging.judge import judge
from referee.runs.meter_state import MeterState, state_of
from referee.runs.open_run import OpenRun
from referee.store.records import EnergyMissing, RunState
from tests.power.conftest import Relay
from tests.power.peer import Instrument, Peer
from tests.referee.factories import TEAM, DrivenClock, House, body, parse_rows, station
from tests.referee.runs.observing import code_of, kinds, missing
from tests.timeouts import TIMEOUT_S

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]


def test_what_starting_and_stopping_took_is_on_record(
    build: Build,
    until: Until,
) -> None:
    house = build(window_s=60, auto_arm=True)
    told = []
    for closed_by in ("logout", "deadline"):
        live = house.control.login(TEAM)
        if closed_by == "deadline":
            # The host was busy, but the meter's timer ended the integral.
            house.clock.advance(64.0)
            until(live.done.is_set)
        else:
            house.control.close(live.run.id, closed_by)
        told.append(house.store.log.of_run(live.run.id)[-1]["start_stop_s"])
    assert all(0 < start_stop_s < 4 for start_stop_s in told)


def test_settings_that_changed_in_mid_run_are_kept_with_it(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address, current_range_a=0.5))
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INPUT:CURRENT:RANGE 20")
        assert panel.query("*OPC?") == "1"
    closed = house.control.close(live.run.id, "logout")
    assert closed.meter_changes is not None
    assert any("CURRENT:RANGE" in change for change in closed.meter_changes)
    assert (closed.energy_wh or 0) > 0


def test_what_is_done_at_the_meter_and_undone_in_mid_run_needs_review(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(
        station(
            meter=meter.address,
            voltage_range_v=150,
            current_range_a=0.5,
        )
    )
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)

    def shown(name: str, value: object) -> None:
        until(
            lambda: any(
                getattr(one, name) == value
                for one in house.store.readings.of_run(1, 0.0)
            )
        )

    shown("state", IntegratorState.START)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INTEGRATE:STOP")
        shown("state", IntegratorState.STOP)
        panel.write(":INTEGRATE:START")
        panel.write(":INPUT:VOLTAGE:RANGE 300V")
        shown("voltage_range_v", 300.0)
        panel.write(":INPUT:VOLTAGE:RANGE 150V")
        assert panel.query("*OPC?") == "1"
    assert house.control.close(live.run.id, "logout").meter_changes == ()
    judged = judge(house.contest, 1, Clock())
    assert judged.needs_review
    failed = {
        check.code: check
        for check in judged.checks
        if not check.ok and check.severity == "error"
    }
    assert {"integrator-stopped", "range-changed"} <= failed.keys()
    assert "range 300 V instead of 150 V" in failed["range-changed"].sentence


def test_the_meter_shows_the_energy_until_it_is_needed_and_then_has_its_settings_back(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(
        station(
            meter=meter.address,
            voltage_range_v=300,
            current_range_a=0.5,
            mode="dc",
        )
    )
    asked = ":COMMUNICATE:HEADER?;:INPUT:VOLTAGE:RANGE?;:INPUT:MODE?;:INTEGRATE:TIMER?"
    with contextlib.closing(Link(meter.address)) as panel:
        # A meter that ranges by itself may do so at any moment.
        panel.write(":INPUT:VOLTAGE:RANGE 600V")
        before = panel.query(asked)
        house.control.arm(TEAM, "one")
        assert panel.query(asked) == "0;300.0E+00;DC;0,10,0"
        closed = house.control.close(house.control.login(TEAM).run.id, "logout")
        assert closed.meter_changes == ()
        assert float(panel.query(":NUMERIC:VALUE? 6")) == closed.energy_wh
        house.control.shutdown()
        assert panel.query(asked) == before


def test_each_open_run_has_its_own_meter_and_deadline(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    first = instrument("--load", "constant:36W")
    second = instrument("--load", "constant:0.4W")
    house = build(
        station("one", first.address),
        station("two", second.address),
        auto_arm=True,
    )
    lives = [house.control.login(team) for team in (TEAM, "badgers")]
    assert lives[0].window.deadline_s < lives[1].window.deadline_s
    for live in lives:
        live.accept(body(2), None, parse_rows)
        until(lambda run=live.run.id: len(house.store.readings.of_run(run, 0.0)) >= 3)
    closed = [house.control.close(live.run.id, "logout") for live in lives]
    powers_w = [
        (run.energy_wh or 0.0) * 3600 / (run.elapsed_s or 1.0) for run in closed
    ]
    assert powers_w[0] > 5 * powers_w[1]
    for number, power_w in ((1, 36.0), (2, 0.4)):
        readings = house.store.readings.of_run(number, 0.0)
        assert {round(one.power_w, 1) for one in readings if isfinite(one.power_w)} == {
            power_w
        }


# Without its energy at the end of a run


def test_a_meter_that_is_gone_at_the_end_leaves_the_run_closed_without_energy(
    build: Build,
    instrument: Any,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    meter.die()
    until(lambda: live.meter.sampler.link_error is not None)
    closing = threads.submit(house.control.close, 1, "logout")
    assert live.ending.wait(TIMEOUT_S)
    # Sampler.stop tries for ten seconds.
    until(lambda: house.clock.advance(1.0) or closing.done())
    closed = closing.result()
    assert closed.state == RunState.CLOSED
    assert closed.energy_wh is None
    assert closed.integrator_s is None
    assert closed.elapsed_s == live.window.end_s - live.window.start_s
    assert missing(house)[0] == EnergyMissing.READ_LATER
    assert kinds(house, 1)[-2:] == ["energy-missing", "closed"]
    assert house.store.log.of_run(1)[-1]["start_stop_s"] is None


def test_a_meter_that_was_switched_off_has_no_energy(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    meter.die()
    instrument("--port", meter.port)
    until(
        lambda: (
            live.meter.sampler.last is not None
            and live.meter.sampler.last.state is IntegratorState.RESET
        )
    )
    assert house.control.close(1, "operator").energy_wh is None
    code, reason = missing(house)
    assert code == EnergyMissing.METER_RESET
    assert "reset or the meter switched off" in reason


def test_an_integrator_that_someone_resets_and_starts_again_has_no_energy_of_the_run(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    """What it holds at the end is too little, and the score would be too high."""
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INTEGRATE:STOP;:INTEGRATE:RESET;:INTEGRATE:START")
        assert panel.query("*OPC?") == "1"
    until(lambda: live.meter.log.loss)
    until(lambda: live.meter.sampler.last.energy_wh > 0.001)
    assert state_of(live, house.clock.monotonic_s()) == (MeterState.INTEGRATING, None)
    house.restart(orderly=False)
    again = house.control.live(1)
    until(lambda: again.meter.sampler.last is not None)
    assert house.control.close(1, "operator").energy_wh is None
    assert missing(house)[0] in (EnergyMissing.BEGAN_AGAIN, EnergyMissing.METER_RESET)
    assert kinds(house, 1).count("energy-lost") == 1


def test_a_lost_energy_is_not_looked_for_later_in_a_meter_that_is_gone_at_the_end(
    build: Build,
    instrument: Any,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INTEGRATE:STOP;:INTEGRATE:RESET")
        assert panel.query("*OPC?") == "1"
    until(lambda: live.meter.log.loss)
    until(
        lambda: (
            state_of(live, house.clock.monotonic_s())
            == (MeterState.NOT_INTEGRATING, None)
        )
    )
    meter.die()
    until(lambda: live.meter.sampler.link_error is not None)
    closing = threads.submit(house.control.close, 1, "logout")
    assert live.ending.wait(TIMEOUT_S)
    until(lambda: house.clock.advance(1.0) or closing.done())
    assert missing(house)[0] == EnergyMissing.METER_RESET


def test_a_meter_that_the_close_has_stopped_is_not_said_to_have_stopped_by_itself(
    build: Build,
    instrument: Any,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator would be told to void a run that ends well."""
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    evidence = house.store.closings.evidence
    seen = []

    def observed(run: int) -> Any:
        seen.append(house.control.meter_state("one"))
        return evidence(run)

    monkeypatch.setattr(house.store.closings, "evidence", observed)
    assert house.control.close(1, "logout").energy_wh is not None
    assert seen == [(MeterState.IDLE, None)]


def test_a_meter_whose_timer_ends_just_before_the_window_has_ended_with_it(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    """Its timer begins before the window; longer before its end, the operator has to know."""
    meter = instrument()
    house = build(station(meter=meter.address), window_s=5, auto_arm=True)
    live = house.control.login(TEAM)
    until(
        lambda: (
            (last := live.meter.sampler.last) and last.state is IntegratorState.TIMEUP
        )
    )
    end_s = live.window.deadline_s
    assert state_of(live, end_s - 3.0) == (MeterState.NOT_INTEGRATING, None)
    assert state_of(live, end_s - 1.0) == (MeterState.IDLE, None)
    until(live.done.is_set)


class Timed(Instrument):
    """A peer on the referee's clock: it answers at once."""

    clock = DrivenClock()
    now_s = property(lambda self: self.clock.monotonic_s(), lambda _self, _now_s: None)  # type: ignore[assignment]


def test_an_energy_in_doubt_is_read_later_and_no_arming_destroys_it(
    build: Build,
    until: Until,
) -> None:
    meter = Timed()
    with contextlib.closing(Peer(meter)) as peer:
        house = build(station(meter=peer.address), auto_arm=True)
        meter.clock = house.clock
        live = house.control.login(TEAM)
        # Without values there is nothing to hold.
        until(lambda: len(house.store.readings.of_run(1, 0.0)) > 0)
        meter.panel_held = True
        for _ in range(5):
            house.clock.advance(1.0)
            # A reading that was under way is of before.
            now_s = house.clock.monotonic_s()
            until(
                lambda at_s=now_s: (
                    (last := live.meter.sampler.last) and last.monotonic_s > at_s
                )
            )
        resets = meter.resets
        assert house.control.close(live.run.id, "logout").energy_wh is None
        code, reason = missing(house)
        assert code == EnergyMissing.READ_LATER
        assert "TIME stood at" in reason
        assert code_of(house.control.arm, "badgers", "one") == "meter-busy"
        house.restart()
        assert house.store.runs.get(1).energy_wh is None
        assert meter.resets == resets
        meter.panel_held = False
        house.control.arm("badgers", "one")
        assert house.store.runs.get(1).energy_wh >= 36 * 5 / 3600
        assert meter.resets == resets + 1
        house.control.shutdown()


@pytest.fixture
def cable() -> Iterator[Callable[[str], Relay]]:
    """The way to the meter at a port."""
    with contextlib.ExitStack() as stack:

        def lay(port: str) -> Relay:
            laid = Relay(int(port))
            stack.callback(laid.close)
            return laid

        yield lay


def sampled(live: OpenRun, until: Until) -> None:
    until(
        lambda: (
            live.meter.sampler.last is not None
            and live.meter.sampler.last.energy_wh > 0.005
        )
    )


def still_integrates(house: House, panel: Link) -> bool:
    """Whether neither the server's start nor the arming of its station has stopped the meter or taken its energy."""
    house.restart()
    assert code_of(house.control.arm, "badgers", "one") == "meter-busy"
    assert house.store.runs.get(1).energy_wh is None
    return "STAR" in panel.query(":INTEGRATE:STATE?")  # in full if the meter is verbose


def test_what_others_measure_with_a_meter_that_was_reset_in_a_run_is_left_alone(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:STOP;:INTEGRATE:RESET")
        assert panel.query("*OPC?") == "1"
        assert house.control.close(1, "operator").energy_wh is None
        assert missing(house)[0] == EnergyMissing.METER_RESET
        house.restart()
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:START")
        assert still_integrates(house, panel)


def test_what_others_measure_with_a_meter_that_was_switched_off_while_it_was_lost_is_left_alone(
    build: Build,
    instrument: Any,
    cable: Any,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    meter = instrument("--load", "constant:36W")
    way = cable(meter.port)
    house = build(station(meter=way.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    way.cut()
    closing = threads.submit(house.control.close, 1, "logout")
    assert live.ending.wait(TIMEOUT_S)
    until(lambda: house.clock.advance(1.0) or closing.done())
    assert closing.result().energy_wh is None
    meter.die()
    instrument("--port", meter.port, "--load", "constant:0.01W")
    way.mend()
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:START")
        assert still_integrates(house, panel)
        code, reason = missing(house)
        assert code == EnergyMissing.BEGAN_AGAIN
        assert "was restarted" in reason


def test_an_integrator_that_someone_begins_again_just_before_the_stop_has_no_energy_of_the_run(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address, update_interval_s=2), auto_arm=True)
    live = house.control.login(TEAM)
    until(
        lambda: (
            live.meter.sampler.last is not None
            and live.meter.sampler.last.integrator_s >= 1
        )
    )
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INTEGRATE:STOP;:INTEGRATE:RESET;:INTEGRATE:START")
    assert house.control.close(1, "operator").energy_wh is None
    code, reason = missing(house)
    assert code == EnergyMissing.BEGAN_AGAIN
    assert "was restarted" in reason


def test_the_energy_is_read_once_the_meter_of_the_run_is_back_in_the_place_of_another(
    build: Build,
    instrument: Any,
    cable: Any,
    until: Until,
) -> None:
    own = instrument("--serial", "OWN")
    other = instrument("--serial", "OTHER")
    way = cable(own.port)
    house = build(station(meter=way.address), auto_arm=True)
    sampled(house.control.login(TEAM), until)
    house.control.shutdown()
    way.lead_to(int(other.port))
    readings = house.store.readings.of_run(1, 0.0)
    with contextlib.closing(Link(other.address)) as theirs:
        theirs.write(":INTEGRATE:START")
        house.restart()
        assert house.control.close(1, "operator").energy_wh is None
        assert "STAR" in theirs.query(":INTEGRATE:STATE?")  # it measures something else
    # As text: since Python 3.13 a reading without data equals none, not even itself.
    assert list(map(str, house.store.readings.of_run(1, 0.0))) == list(
        map(str, readings)
    )
    code, reason = missing(house)
    assert code == EnergyMissing.READ_LATER
    assert "Another meter answers" in reason
    house.control.shutdown()
    way.lead_to(int(own.port))
    house.restart()
    assert (house.store.runs.get(1).energy_wh or 0.0) > 0.005
    assert kinds(house, 1)[-1] == "energy-read"


def test_what_others_measure_after_a_run_that_ended_without_a_server_is_left_alone(
    build: Build,
    instrument: Any,
    until: Until,
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address), window_s=60, auto_arm=True)
    sampled(house.control.login(TEAM), until)
    house.control.shutdown()
    house.clock.advance(61.0)
    meter.die()
    instrument("--port", meter.port, "--load", "constant:0.01W")
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:START")
        house.restart()
        until(lambda: house.store.runs.get(1).state is RunState.CLOSED)
        assert house.store.runs.get(1).energy_wh is None
        assert missing(house)[0] == EnergyMissing.BEGAN_AGAIN
        assert "STAR" in panel.query(":INTEGRATE:STATE?")
