"""Several stations: which of them a log-in gets, and from where."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import pytest

from referee.errors import RefereeError
from tests.referee.factories import TEAM, House, body, parse_rows, station
from tests.referee.test_runs import code_of, kinds

Build = Callable[..., House]
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
