"""The status while the contest is served: what only the server knows, and how little a second look costs."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from referee.contest import read_secrets
from tests.contest_day import PASSWORD, TEAM, Day, contest_day, problem, until


def look(
    day: Day,
    path: str = "/status",
    **headers: str,
) -> requests.Response:
    assert day.server is not None
    return day.server.ask(
        "GET",
        f"/operator{path}",
        read_secrets(day.folder)[1].hex(),
        headers,
    )


def station(day: Day) -> dict[str, Any]:
    found: dict[str, Any] = look(day).json()["stations"][0]
    return found


def test_a_station_from_free_to_armed_waiting_open_and_without_its_meter(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    assert made.server is not None
    assert station(made)["meter_state"] == "idle"
    assert station(made)["run"] is None
    first = look(made)
    assert look(made, **{"If-None-Match": first.headers["ETag"]}).status_code == 304

    made.refers("run", "arm", TEAM, "--heat", "final")
    armed = look(made, **{"If-None-Match": first.headers["ETag"]}).json()["stations"][0]
    assert armed["meter_state"] == "ready"
    assert armed["run"]["state"] == "armed"
    assert armed["run"]["waiting"] is False

    def is_seen_to_wait() -> bool:
        login = {"team": TEAM, "password": PASSWORD}
        answer = made.server.ask("POST", "/v1/session", json=login)
        problem(answer, 409, "not-started")
        return bool(station(made)["run"]["waiting"])

    until(is_seen_to_wait)
    made.refers("run", "void", "1", "--reason", "only one came")

    made.refers("run", "arm", TEAM)
    token = made.fetched(made.login()["token"])
    made.post(token, [[1, 1, 0.5, 0.1, 0.1, 0.9, 0.9]])
    until(lambda: station(made)["run"]["power_w"] == 36)
    # A look may be one from before the POST.
    until(lambda: station(made)["run"]["warnings"])
    assert "all coordinates in 0..1" in station(made)["run"]["warnings"][0]
    shown = station(made)
    assert shown["meter_state"] == "integrating"
    assert shown["run"]["images_served"] == 6
    assert 0 < shown["run"]["elapsed_s"] < 600
    until(lambda: len(station(made)["run"]["power"]["elapsed_s"]) > 1)
    assert set(station(made)["run"]["power"]["power_w"]) == {36.0}

    made.meter.kill()
    until(lambda: station(made)["meter_state"] == "lost")
    lost = station(made)
    assert lost["meter_sentence"] in lost["run"]["warnings"]
    assert look(made).json()["refusals"] == [], (
        "a team that waits for its heat is not refused"
    )

    # A free station whose meter has not come back does not look as if nothing was wrong.
    made.refers("run", "void", "2", "--reason", "no meter")
    free = station(made)
    assert free["run"] is None
    assert free["meter_state"] == "lost"
    said = "It did not answer at the end of its last run: "
    assert free["meter_sentence"].startswith(said)
    (found,) = look(made).json()["attention"]
    assert found["sentence"].startswith(f"The meter of {free['name']}: {said}")
    assert found["acts"][0]["path"] == "/operator/settings/stations"
    made.revive_meter()
    made.refers("run", "arm", TEAM)
    assert station(made)["meter_state"] == "ready"
    assert look(made).json()["attention"] == []


def test_a_meter_that_does_not_start_for_an_armed_run_is_lost_until_it_does(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    made.refers("run", "arm", TEAM)
    made.meter.kill()
    for _ in range(2):  # a client tries again and again
        problem(logged_in(made), 503, "meter-unreachable")
        waits = station(made)
        assert (waits["meter_state"], waits["run"]["state"]) == ("lost", "armed")
    said = waits["meter_sentence"]
    assert said.startswith("It did not start for run 1, which stays armed: No meter ")
    assert "Once the meter answers, the next log-in of ant starts it" in said
    (found,) = look(made).json()["attention"]
    assert (found["code"], found["severity"]) == ("meter-lost", "person-needed")
    assert found["sentence"] == f"The meter of {waits['name']}: {said}"
    assert [act["command"] for act in found["acts"]] == [
        'referee run void 1 --reason "…"'
    ]
    assert found["sentence"] in made.refers("status").stdout
    assert said in html.unescape(look(made, "").text)

    made.revive_meter()
    assert logged_in(made).status_code == 201
    # On a busy machine the link that just opened may break once more.
    until(lambda: station(made)["meter_state"] == "integrating")
    until(lambda: look(made).json()["attention"] == [])


def test_a_run_that_is_given_up_takes_its_trouble_with_it(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    made.refers("run", "arm", TEAM)
    made.meter.kill()
    problem(logged_in(made), 503, "meter-unreachable")
    assert station(made)["meter_state"] == "lost"
    made.refers("run", "void", "1", "--reason", "no meter")
    assert station(made)["meter_state"] == "idle"
    assert look(made).json()["attention"] == []


def logged_in(day: Day) -> requests.Response:
    assert day.server is not None
    login = {"team": TEAM, "password": PASSWORD}
    return day.server.ask("POST", "/v1/session", json=login)


def test_whoever_arms_a_slow_meter_is_told_how_long_it_takes(
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "contest", tiny_set, auto_arm=False) as made:
        config = made.folder / "contest.toml"
        config.write_text(f"idle_baseline_s = 10\n{config.read_text()}")
        made.serve()
        takes_s = station(made)["arming_at_least_s"]
        assert takes_s > 10.0
        sentence = f"takes {takes_s:.0f} s or a little longer."
        assert sentence in look(made, "").text
        told = made.refers("run", "arm", "nobody").stderr.splitlines()
        assert told[0].endswith(sentence)
        assert "nobody" in told[1]
