"""The status while the contest is served: what only the server knows, and how little a second look costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests

from referee.contest import read_secrets
from tests.contest_day import PASSWORD, TEAM, Day, problem, until


def look(day: Day, path: str = "/status", **headers: str) -> requests.Response:
    assert day.server is not None
    return day.server.ask("GET", f"/operator{path}", read_secrets(day.folder)[1].hex(), headers)


def station(day: Day) -> dict[str, Any]:
    found: dict[str, Any] = look(day).json()["stations"][0]
    return found


def test_a_station_from_free_to_armed_waiting_open_and_without_its_meter(day: Callable[..., Day]) -> None:
    made = day(auto_arm=False)
    assert made.server is not None
    assert (station(made)["meter_state"], station(made)["run"]) == ("idle", None)
    first = look(made)
    assert look(made, **{"If-None-Match": first.headers["ETag"]}).status_code == 304

    made.refers("run", "arm", TEAM, "--heat", "final")
    armed = look(made, **{"If-None-Match": first.headers["ETag"]}).json()["stations"][0]
    assert (armed["meter_state"], armed["run"]["state"], armed["run"]["waiting"]) == ("ready", "armed", False)
    problem(
        made.server.ask("POST", "/v1/session", json={"team": TEAM, "password": PASSWORD}), 409, "not-started"
    )
    until(lambda: station(made)["run"]["waiting"])
    made.refers("run", "void", "1", "--reason", "only one came")

    made.refers("run", "arm", TEAM)
    token = made.fetched(made.login()["token"])
    made.post(token, [[1, 1, 0.5, 0.1, 0.1, 0.9, 0.9]])
    until(lambda: station(made)["run"]["power_w"] == 36)
    assert "all coordinates in 0..1" in station(made)["run"]["warnings"][0]
    shown = station(made)
    assert (shown["meter_state"], shown["run"]["images_served"]) == ("integrating", 6)
    assert 0 < shown["run"]["elapsed_s"] < 600
    until(lambda: len(station(made)["run"]["power"]["elapsed_s"]) > 1)
    assert set(station(made)["run"]["power"]["power_w"]) == {36.0}

    made.meter.kill()
    until(lambda: station(made)["meter_state"] == "lost")
    lost = station(made)
    assert lost["meter_sentence"] in lost["run"]["warnings"]
    assert look(made).json()["refusals"] == [], "a team that waits for its heat is not refused"
