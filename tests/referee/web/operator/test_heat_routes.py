"""Heats over HTTP and by command: made at once, started, refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests

from referee.contest import read_secrets
from referee.store.records import RunState
from tests.contest_day import PASSWORD, TEAM, Day, problem, until
from tests.referee.web.two_stations import (
    OTHER_TEAM,
    two_stations,
)

SIDES = {"station-1": TEAM, "station-2": OTHER_TEAM}


def ask(day: Day, path: str, body: Any) -> requests.Response:
    assert day.server is not None
    key = read_secrets(day.folder)[1].hex()
    return day.server.ask("POST", f"/operator{path}", key, json=body)


def test_a_heat_is_made_by_one_request_and_what_it_cannot_be_is_said(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    for body in (
        {},
        {"name": "a"},
        {"name": "a", "sides": [TEAM]},
        {"name": "a", "sides": {"station-1": 3}},
        {"name": "a", "sides": SIDES, "round": "one"},
        {"name": "a", "sides": SIDES, "round": "1" * 5000},
        {"name": "a", "sides": SIDES, "round": True},
    ):
        problem(ask(made, "/heats", body), 400, "bad-json")
    refused = ask(
        made,
        "/heats",
        {"name": "a", "sides": {"station-1": TEAM}},
    )
    problem(refused, 400, "bad-request")
    whole = ask(made, "/heats", {"name": "a", "sides": SIDES, "round": "12345678901"})
    problem(whole, 400, "bad-request")
    assert "Round 12345678901 must be" in whole.json()["detail"]
    answer = ask(
        made,
        "/heats",
        {"name": " a  b ", "sides": SIDES, "round": 2},
    )
    assert answer.status_code == 201, answer.text
    document = answer.json()
    assert document["name"] == "a b"
    assert document["sentence"] == (
        f"Heat a b is made: {TEAM} at station-1 and {OTHER_TEAM} at station-2."
    )
    assert [run["state"] for run in document["runs"]] == [
        "armed",
        "armed",
    ]
    started = ask(made, "/heats/start", {"heat": "a b", "absent": "start"})
    assert len(started.json()) == 2


def test_a_meter_that_dies_leaves_no_half_of_a_heat(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    made.meters[-1].kill()
    refused = ask(made, "/heats", {"name": "a", "sides": SIDES})
    problem(refused, 409, "heat-not-made")
    assert f"{OTHER_TEAM} cannot be armed at station-2: " in refused.json()["detail"]
    assert made.runs(RunState.ARMED) == []
    assert made.runs(RunState.VOID) == []


def test_the_status_command_prints_the_lights_of_a_heat(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    ask(
        made,
        "/heats",
        {"name": "semi final", "sides": SIDES, "round": 2},
    )
    lines = made.refers("status").stdout.splitlines()
    first = lines.index("heat semi final, round 2: not ready")
    assert lines[first + 1] == (
        f"  {TEAM} at station-1: meter on (ready), board off (not heard from within 10 s), team off (not logged in)"
    )
    assert f"  ! {OTHER_TEAM} has not logged in within the last 5 s" in lines

    looks = []

    def is_ready() -> bool:
        assert made.server is not None
        for team in SIDES.values():
            login = {"team": team, "password": PASSWORD}
            made.server.ask("POST", "/v1/session", json=login)
        looks.append(made.refers("status").stdout)
        return "heat semi final, round 2: ready\n" in looks[-1]

    until(is_ready)
    shown = looks[-1]
    assert "team on (waits for the start)" in shown
    assert "    referee run start 'semi final'" in shown.splitlines()


def test_the_command_makes_a_heat(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    sides = [f"{team}@{station}" for station, team in SIDES.items()]
    wrong = made.refers("run", "heat", "final", TEAM)
    assert "is not TEAM@STATION" in wrong.stderr
    done = made.refers("run", "heat", "final", *sides, "--round", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"Heat final is made: {TEAM} at station-1 and {OTHER_TEAM} at station-2.\n"
    )
    with made.store() as store:
        (heat,) = store.heats.all()
    assert heat.round == 1
    assert heat.operator.startswith("key as ")
