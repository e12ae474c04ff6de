"""Making a heat: all its runs are armed together, or none, and what was made is on record."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.runs.arming import Arming
from referee.runs.heat_making import PlannedHeat
from referee.store.acts import Act
from referee.store.records import Run
from tests.referee.factories import START, TEAM, House, station
from tests.referee.runs.observing import code_of, kinds

Build = Callable[..., House]
SIDES = {"one": TEAM, "two": "badgers"}


def two(build: Build, *meters: str, **keys: object) -> House:
    given = [{"meter": one} for one in meters] or [{}, {}]
    stations = [station(name, **one) for name, one in zip(SIDES, given, strict=True)]
    return build(*stations, **keys)


def make(house: House, sides: dict[str, str] = SIDES, **more: Any) -> list[Run]:
    def begin(
        action: str,
        run: int | None = None,
        **detail: object,
    ) -> AbstractContextManager[Act]:
        return house.store.log.act(START, run, operator="jo", action=action, **detail)

    planned = PlannedHeat("final", sides, **more)
    return house.control.heats.make(planned, "jo", begin)


def states(house: House) -> list[str]:
    return [run.state.value for run in house.store.runs.find()]


def acts(house: House) -> list[str]:
    events = house.store.log.newest_after(0, 99)[1]
    found = [one["detail"]["action"] for one in events if one["kind"] == "operator"]
    return sorted(found)


def test_one_call_arms_all_sides_and_stores_the_heat(build: Build) -> None:
    house = two(build)
    runs = make(house, round=3)
    assert {run.station: run.team for run in runs} == SIDES
    assert {run.heat for run in runs} == {"final"}
    (heat,) = house.store.heats.all()
    assert (heat.name, heat.operator, heat.round) == ("final", "jo", 3)
    assert acts(house) == ["arm", "arm", "heat"]
    assert len(house.control.start("final", absent_too=True)) == 2


def test_stations_are_armed_at_the_same_time(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = two(build)
    together = threading.Barrier(2)
    arm = Arming.arm

    def arm_when_both_are_at_it(*arguments: Any, **named: Any) -> Run:
        together.wait(30)
        return arm(*arguments, **named)

    monkeypatch.setattr(Arming, "arm", arm_when_both_are_at_it)
    assert len(make(house)) == 2


def test_if_one_meter_is_dead_the_other_run_is_void_and_nothing_is_made(
    build: Build,
    instrument: Any,
) -> None:
    sound = instrument()
    dead = instrument()
    house = two(build, sound.address, dead.address)
    dead.die()
    with pytest.raises(RefereeError) as failure:
        make(house)
    assert failure.value.code == "heat-not-made"
    sentence = failure.value.sentence
    assert "badgers cannot be armed at two: " in sentence
    assert f"Run 1 of {TEAM}, which was armed, is void." in sentence
    assert states(house) == ["void"]
    assert house.store.heats.all() == []
    assert acts(house) == ["arm", "void"]
    assert "badgers cannot be armed at two" in str(house.store.runs.get(1).void_reason)

    instrument("--port", dead.port)  # the same name can be used again
    assert len(make(house)) == 2
    assert states(house) == ["void", "armed", "armed"]


def test_what_can_be_seen_before_is_refused_before_any_run_is_made(
    build: Build,
) -> None:
    house = two(build, attempts=1)
    assert code_of(make, house, {"one": TEAM}) == "bad-request"
    assert code_of(make, house, {"one": TEAM, "two": TEAM}) == "bad-request"
    assert code_of(make, house, {"one": TEAM, "two": "nobody"}) == "team-unknown"
    assert code_of(make, house, {"one": TEAM, "three": "badgers"}) == "station-unknown"
    assert code_of(make, house, round=0) == "bad-request"
    house.control.arm("badgers", "two")
    assert code_of(make, house) == "station-busy"
    house.control.login("badgers")
    house.control.close(1, "operator")
    assert code_of(make, house) == "attempts-used"
    assert [run.id for run in house.store.runs.find()] == [1]
    assert len(make(house, beyond_attempts=True)) == 2


def test_of_two_operators_who_make_the_same_heat_one_is_told_so(build: Build) -> None:
    stations = [station(name) for name in ("one", "two", "three", "four")]
    house = build(*stations)
    for team in ("voles", "stoats"):
        house.store.teams.add(team, "no hash", START)
    make(house)
    others = {"three": "voles", "four": "stoats"}
    assert code_of(make, house, others) == "heat-made"
    assert states(house) == ["armed", "armed"]
    house.control.start("final", absent_too=True)
    assert code_of(make, house, others) == "heat-started"
    assert kinds(house, 1)[-1] == "open"
