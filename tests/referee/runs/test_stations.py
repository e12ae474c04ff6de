"""Several stations: which of them a log-in gets, and from where; and what their meters still hold of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any

import pytest

from power.visa.link import Link
from referee.errors import RefereeError
from referee.runs.open_run import LiveRun
from tests.power.conftest import Relay
from tests.referee.factories import TEAM, House, body, parse_rows, station
from tests.referee.runs.test_control import code_of, kinds

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]
LEFT, RIGHT = "192.168.1.20", "192.168.2.20"


def gated(build: Build, **keys: object) -> House:
    """A station for each of two networks."""
    return build(
        station("one", clients=["192.168.1.0/24"]), station("two", clients=["192.168.2.0/24"]), **keys
    )


def test_a_dead_meter_at_the_first_free_station_is_passed_over(build: Build, instrument: Any) -> None:
    dead = instrument()
    dead.die()
    house = build(station("one", dead.address), station("two"), auto_arm=True)
    live = house.control.login(TEAM)
    assert live.run.station == "two"
    (event,) = [one for one in house.store.events(live.run.id) if one["kind"] == "station-passed-over"]
    assert (event["station"], event["reason"].count("\n")) == ("one", 0)
    # It is tried again once it may have come back.
    assert code_of(house.control.login, "badgers") == "meter-unreachable"
    instrument("--port", dead.port)
    assert house.control.login("badgers").run.station == "one"


def test_with_every_meter_dead_the_log_in_fails_and_arms_nothing(build: Build, instrument: Any) -> None:
    meters = [instrument(), instrument()]
    for one in meters:
        one.die()
    house = build(*(station(one.port, one.address) for one in meters), auto_arm=True)
    assert code_of(house.control.login, TEAM) == "meter-unreachable"
    assert house.store.runs() == []


def test_a_log_in_gets_a_station_that_takes_its_address(build: Build) -> None:
    house = gated(build, auto_arm=True)
    assert house.control.login(TEAM, RIGHT).run.station == "two"
    assert house.control.login("badgers", f"::ffff:{LEFT}").run.station == "one"


def test_from_an_address_that_no_station_takes_nothing_is_armed(build: Build) -> None:
    house = gated(build, auto_arm=True)
    for address in ("10.0.0.1", None):
        assert code_of(house.control.login, TEAM, address) == "wrong-address"
    assert house.store.runs() == []
    house.control.login(TEAM, LEFT)
    assert code_of(house.control.login, "badgers", LEFT) == "station-busy"


def test_an_armed_run_is_opened_from_its_own_station_only(build: Build) -> None:
    house = gated(build)
    run = house.control.arm(TEAM, "two")
    with pytest.raises(RefereeError, match=r"Station two does not take requests from 192\.168\.1\.20"):
        house.control.login(TEAM, LEFT)
    assert kinds(house, run.id) == ["armed"]
    live = house.control.login(TEAM, RIGHT)
    assert code_of(house.control.login, TEAM, LEFT) == "wrong-address"
    assert house.control.login(TEAM, RIGHT) is live


def test_each_open_run_has_its_own_meter_and_deadline(build: Build, instrument: Any) -> None:
    first, second = instrument("--load", "constant:36W"), instrument("--load", "constant:3.6W")
    house = build(station("one", first.address), station("two", second.address), auto_arm=True)
    lives = [house.control.login(team) for team in (TEAM, "badgers")]
    assert lives[0].window.deadline_s < lives[1].window.deadline_s
    for live in lives:
        live.take_post(body(2), None, parse_rows)
        while len(house.store.readings(live.run.id, 0.0)) < 3:
            pass
    closed = [house.control.close(live.run.id, "logout") for live in lives]
    powers_w = [(run.energy_wh or 0.0) * 3600 / (run.elapsed_s or 1.0) for run in closed]
    assert powers_w[0] > 5 * powers_w[1]
    for number, power_w in ((1, 36.0), (2, 3.6)):
        readings = house.store.readings(number, 0.0)
        assert {round(one.power_w, 1) for one in readings if isfinite(one.power_w)} == {power_w}


# An energy that was not read at the end of its run


@pytest.fixture
def cable() -> Iterator[Callable[[str], Relay]]:
    """The way to the meter at a port."""
    with contextlib.ExitStack() as stack:

        def lay(port: str) -> Relay:
            laid = Relay(int(port))
            stack.callback(laid.close)
            return laid

        yield lay


def sampled(live: LiveRun, until: Until) -> None:
    until(lambda: live.meter.sampler.last is not None and live.meter.sampler.last.energy_wh > 0.005)


def missing(house: House) -> str:
    reasons = [event["reason"] for event in house.store.events(1) if event["kind"] == "energy-missing"]
    return str(reasons[-1])


def still_integrates(house: House, panel: Link) -> bool:
    """Neither the server's start nor the arming of its station has stopped the meter or taken its energy."""
    house.restart()
    assert code_of(house.control.arm, "badgers", "one") == "meter-busy"
    assert house.store.run(1).energy_wh is None
    return panel.query(":INTEGRATE:STATE?").endswith("STAR")


def test_what_others_measure_with_a_meter_that_was_reset_in_a_run_is_left_alone(
    build: Build, instrument: Any, until: Until
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:STOP;:INTEGRATE:RESET")
        assert panel.query("*OPC?") == "1"
        assert house.control.close(1, "operator").energy_wh is None
        assert "reset" in missing(house)
        house.restart()
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:START")
        assert still_integrates(house, panel)


def test_what_others_measure_with_a_meter_that_was_switched_off_while_it_was_lost_is_left_alone(
    build: Build, instrument: Any, cable: Any, threads: ThreadPoolExecutor, until: Until
) -> None:
    meter = instrument("--load", "constant:36W")
    way = cable(meter.port)
    house = build(station(meter=way.address), auto_arm=True)
    live = house.control.login(TEAM)
    sampled(live, until)
    way.cut()
    closing = threads.submit(house.control.close, 1, "logout")
    assert live.ending.wait(20)
    until(lambda: house.clock.advance(1.0) or closing.done())
    assert closing.result().energy_wh is None
    meter.die()
    instrument("--port", meter.port, "--load", "constant:0.01W")
    way.mend()
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":COMMUNICATE:VERBOSE OFF;:INTEGRATE:START")
        assert still_integrates(house, panel)
        assert "began anew" in missing(house)


def test_the_energy_is_read_once_the_meter_of_the_run_is_back_in_the_place_of_another(
    build: Build, instrument: Any, cable: Any, until: Until
) -> None:
    own, other = instrument("--serial", "OWN"), instrument("--serial", "OTHER")
    way = cable(own.port)
    house = build(station(meter=way.address), auto_arm=True)
    sampled(house.control.login(TEAM), until)
    house.control.shutdown()
    way._target = int(other.port)
    readings = house.store.readings(1, 0.0)
    with contextlib.closing(Link(other.address)) as theirs:
        theirs.write(":INTEGRATE:START")
        house.restart()
        assert house.control.close(1, "operator").energy_wh is None
        assert "STAR" in theirs.query(":INTEGRATE:STATE?")  # it measures something else
    assert house.store.readings(1, 0.0) == readings
    assert "Another meter answers" in missing(house)
    house.control.shutdown()
    way._target = int(own.port)
    house.restart()
    assert (house.store.run(1).energy_wh or 0.0) > 0.005
    assert kinds(house, 1)[-1] == "energy-read"
