"""The lights of a heat that has not started: what is on, and what is said to be missing."""

from __future__ import annotations

from typing import Any

from referee.judging.heat_lights import waiting_heats
from referee.store.records import Heat
from tests.referee.factories import START


def at(
    station: str,
    team: str,
    heat: str | None = "final",
    *,
    state: str = "armed",
    meter: str = "ready",
    waiting: bool = True,
    board: dict[str, str] | None = None,
) -> dict[str, Any]:
    run = {"run": 1, "team": team, "heat": heat, "state": state, "waiting": waiting}
    run["board"] = board or {"by": "log-in", "address": "10.0.0.5"}
    return {"name": station, "meter_state": meter, "run": run}


def missing(*stations: dict[str, Any]) -> list[str]:
    (heat,) = waiting_heats(stations, [])
    assert heat["is_ready"] is not bool(heat["missing"])
    found: list[str] = heat["missing"]
    return found


def test_a_heat_is_ready_when_every_light_of_every_side_is_on() -> None:
    stations = [at("one", "ant"), at("two", "bee")]
    (heat,) = waiting_heats(stations, [Heat("final", START.isoformat(), "jo", 2)])
    assert heat["is_ready"]
    assert heat["round"] == 2
    lights = [light["is_on"] for side in heat["sides"] for light in side["lights"]]
    assert lights == [True] * 6
    says = [light["says"] for light in heat["sides"][0]["lights"]]
    assert says[1] == "heard from within 10 s: its team's log-in from 10.0.0.5"


def test_what_is_missing_is_said_for_each_light() -> None:
    silent = at("two", "bee", meter="lost", waiting=False)
    silent["run"]["board"] = None
    assert missing(at("one", "ant"), silent) == [
        "the meter at two is lost, not ready",
        "the board of bee has not been heard from within the last 10 s",
        "bee has not logged in within the last 5 s",
    ]


def test_a_heat_of_one_team_is_not_ready() -> None:
    assert missing(at("one", "ant")) == ["only one team is armed for it"]


def test_open_runs_free_stations_and_runs_outside_a_heat_have_no_lights() -> None:
    free = {"name": "three", "meter_state": "idle", "run": None}
    stations = [at("one", "ant", state="open"), at("two", "bee", None), free]
    assert waiting_heats(stations, []) == []
