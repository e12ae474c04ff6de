"""Several stations at once: one start signal for two, places, and clients that must not disturb the other's contest."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest

from referee.store.records import RunState
from tests.contest_day import PASSWORD, ROWS, TEAM, Day, problem, until
from tests.referee.web.two_stations import (
    OTHER_TEAM,
    arm_both,
    asked_from,
    login_from,
    two_stations,
)

HOME = "127.0.0.1"
NEXT_DOOR = "127.0.0.2"
STREET = "127.0.0.3"
LINUX_LOOPBACK = "every address of 127.0.0.0/8 is this machine's on Linux"
LOGIN = {"team": TEAM, "password": PASSWORD}
SLOW_S = 5.0  # on a machine that is busy with other things


def test_two_runs_are_open_together_each_with_its_meter_and_deadline(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, window_s=4)
    first = made.login()
    second = made.login(OTHER_TEAM)
    assert first["run"] != second["run"]
    assert [run.station for run in made.runs(RunState.OPEN)] == [
        "station-1",
        "station-2",
    ]
    assert made.server is not None
    for token in (first["token"], second["token"]):
        assert made.post(token).json()["received_total"] == len(ROWS)
    other = made.server.ask("GET", "/v1/images/1", second["token"]).content
    assert other.startswith(b"\xff\xd8")
    until(lambda: len(made.runs(RunState.CLOSED)) == 2)
    powers_w = [
        run.energy_wh * 3600 / 4 for run in made.runs(RunState.CLOSED) if run.energy_wh
    ]
    assert powers_w == pytest.approx([36.0, 3.6], rel=0.3)
    assert {run.closed_by for run in made.runs(RunState.CLOSED)} == {"deadline"}


def stalled(
    stack: ExitStack,
    made: Day,
    address: str,
    sent: str,
) -> socket.socket:
    assert made.server is not None
    connection = stack.enter_context(
        socket.create_connection(
            (made.server.host, made.server.port),
            20,
            source_address=(address, 0),
        )
    )
    connection.sendall(sent.encode())
    return connection


def test_a_hostile_client_at_one_station_does_not_disturb_the_other(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, window_s=30)
    assert made.server is not None
    status, hostile = login_from(made.server, NEXT_DOOR, TEAM)
    assert status == 201
    token = login_from(made.server, HOME, OTHER_TEAM)[1]["token"]
    bearer = f"Authorization: Bearer {hostile['token']}\r\n"
    head = f"POST /v1/detections HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: 100000\r\n\r\n[[1,"
    form = "POST /result HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    batch = f"GET /v1/images?count=6 HTTP/1.1\r\nHost: x\r\n{bearer}\r\n"
    with ExitStack() as stack:
        for _ in range(60):
            stalled(stack, made, NEXT_DOOR, head)
            stalled(
                stack,
                made,
                NEXT_DOOR,
                form + urlencode({"token": hostile["token"]}),
            )
            stalled(stack, made, NEXT_DOOR, batch)
            stalled(stack, made, NEXT_DOOR, "GET /v1/im")
            stalled(stack, made, NEXT_DOOR, "\x16\x03\x01 not HTTP at all\r\n\r\n")
        slowest_s = 0.0
        for number in range(60):
            before_s = time.monotonic()
            status, jpeg = asked_from(
                made.server,
                HOME,
                "GET",
                f"/v1/images/{1 + number % 6}",
                token,
            )
            assert status == 200
            assert jpeg[:2] == b"\xff\xd8"
            status, body = asked_from(
                made.server,
                HOME,
                "POST",
                "/v1/detections",
                token,
                ROWS,
            )
            assert status == 202
            assert json.loads(body)["received_total"] == len(ROWS) * (number + 1)
            slowest_s = max(slowest_s, time.monotonic() - before_s)
        assert slowest_s < SLOW_S
        assert asked_from(made.server, HOME, "DELETE", "/v1/session", token)[0] == 200
    closed = next(run for run in made.runs(RunState.CLOSED) if run.team == OTHER_TEAM)
    assert closed.energy_wh is not None
    with made.store() as store:
        assert store.posts.count_detections(closed.id) == 60 * len(ROWS)
        assert store.posts.count_detections(int(hostile["run"])) == 0


def test_a_station_takes_requests_from_its_own_place_only(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, clients=(HOME, "127.0.0.2/31"))
    assert made.server is not None
    server = made.server
    assert login_from(server, NEXT_DOOR, TEAM)[0] == 201
    assert made.runs(RunState.OPEN)[0].station == "station-2"
    token = login_from(server, NEXT_DOOR, TEAM)[1]["token"]
    status, refused = login_from(server, HOME, TEAM)
    assert status == 403
    assert refused["code"] == "wrong-address"
    assert refused["address"] == HOME
    for method, path, body in [
        ("GET", "/v1/session", None),
        ("GET", "/v1/images/1", None),
        ("GET", "/v1/images?first=1&count=2", None),
        ("POST", "/v1/detections", ROWS),
        ("DELETE", "/v1/session", None),
    ]:
        status, told = asked_from(server, HOME, method, path, token, body)
        assert (status, json.loads(told)["code"]) == (403, "wrong-address"), path
        assert asked_from(server, STREET, method, path, token, body)[0] in (200, 202), (
            path
        )
    assert login_from(server, "127.0.0.4", OTHER_TEAM)[0] == 403
    assert login_from(server, HOME, OTHER_TEAM)[0] == 201


def test_old_clients_in_the_wrong_place_are_told_in_their_words(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, clients=(NEXT_DOOR, STREET))
    assert made.server is not None
    told = made.server.ask(
        "POST",
        "/login",
        data={"username": TEAM, "password": PASSWORD},
    )
    assert told.status_code == 401
    assert told.text == "Invalid username or password\n"
    assert made.runs(RunState.OPEN) == []
    token = login_from(made.server, NEXT_DOOR, TEAM)[1]["token"]
    for path in ("/verify", "/image", "/result", "/logout"):
        answer = made.server.ask("POST", path, data={"token": token, "image_name": "1"})
        assert answer.status_code == 401
        assert answer.text == "Invalid Token\n"
    assert [run.state for run in made.runs(RunState.OPEN)] == [RunState.OPEN]


def test_a_heat_opens_with_the_signal_and_survives_kill_9_with_equal_windows(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False, window_s=8)
    arm_both(made, "final")
    assert made.server is not None
    early = made.refers("run", "start", "final")
    assert early.returncode == 1
    assert early.stdout == ""
    assert early.stderr == "referee: ant has not logged in within the last 5 s.\n"
    for team in (TEAM, OTHER_TEAM):
        answer = made.server.ask("POST", "/v1/session", json=LOGIN | {"team": team})
        told = problem(answer, 409, "not-started")
        assert answer.headers["Retry-After"] == "1"
        assert told["heat"] == "final"
    started = made.refers("run", "start", "final")
    assert (
        started.stdout
        == "Heat final is open: run 1 of ant and run 2 of bee, 8 s each.\n"
    ), started.stderr
    tokens = [made.login(team)["token"] for team in (TEAM, OTHER_TEAM)]
    for token in tokens:
        assert made.post(token).status_code == 202
    listed = json.loads(made.refers("run", "list", "--json").stdout)
    assert [(one["id"], one["heat"], one["state"]) for one in listed] == [
        (1, "final", "open"),
        (2, "final", "open"),
    ]
    assert "heat" in made.refers("run", "list").stdout
    made.server.kill()
    server = made.serve()
    remaining_s = [
        server.ask("GET", "/v1/session", token).json()["remaining_s"]
        for token in tokens
    ]
    assert 0 <= remaining_s[0] - remaining_s[1] < SLOW_S
    until(lambda: len(made.runs(RunState.CLOSED)) == 2)
    first, second = made.runs(RunState.CLOSED)
    assert first.start_s == second.start_s
    assert first.opened_utc == second.opened_utc
    assert first.boot_id == second.boot_id
    assert {(run.closed_by, run.elapsed_s) for run in (first, second)} == {
        ("deadline", 8.0)
    }
    assert first.energy_wh is not None
    assert second.energy_wh is not None
    again = made.refers("run", "start", "final")
    assert again.stderr.startswith("referee: Heat final has been started by ")
    assert "UTC: run 1 is closed. For another heat choose another name." in again.stderr


def test_a_heat_of_any_name_waits_for_its_signal_and_one_of_none_is_refused(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    for option in ("--heat", "--station"):
        refused = made.refers("run", "arm", TEAM, option, "")
        assert refused.returncode == 2
        assert made.runs(RunState.ARMED) == []
        assert f"{option} is blank; name one, or leave it out." in refused.stderr
    arm_both(made, "-")
    assert [run.heat for run in made.runs(RunState.ARMED)] == ["-", "-"]
    started = made.refers("run", "start", "--anyway", "-")
    assert started.stdout.startswith("Heat - is open: run 1 of ant and run 2 of bee"), (
        started.stderr
    )


def test_the_points_of_a_heat_are_told_once_both_are_judged(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day)
    tokens = [made.login(team)["token"] for team in (TEAM, OTHER_TEAM)]
    assert made.server is not None
    for token in tokens:
        made.server.ask("DELETE", "/v1/session", token)
    early = made.refers("run", "versus", "1", "2")
    assert (
        "referee: Run 1 has no current judgement; see: referee judge 1 " in early.stderr
    )
    assert made.refers("judge", "--all").returncode == 0
    told = made.refers("run", "versus", "1", "2").stdout.splitlines()
    assert ["run 1 of ant" in told[0], "run 2 of bee" in told[1], len(told)] == [
        True,
        True,
        2,
    ], told
    assert [line[0] for line in told] in (["1", "1"], ["0", "0"])


def test_without_a_heat_the_list_has_no_column_for_it(day: Callable[..., Day]) -> None:
    made = day()
    made.login()
    assert "heat" not in made.refers("run", "list").stdout


def test_a_heat_that_nobody_armed_cannot_be_started(hall: Day) -> None:
    told = hall.refers("run", "start", "nothing")
    assert told.returncode == 1
    assert told.stdout == ""
    assert (
        "referee: No run is armed for heat 'nothing'; see: referee run list "
        in told.stderr
    )
