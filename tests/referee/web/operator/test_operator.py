"""The operator's side: runs are armed, looked at, closed and voided by key; teams cannot."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from referee.contest import open_contest
from tests.contest_day import PASSWORD, TEAM, Day, problem


@pytest.fixture(scope="module")
def key(hall: Day) -> str:
    with open_contest(hall.folder) as contest:
        return contest.operator_key


@pytest.mark.parametrize(
    "path",
    ["/operator/runs", "/operator/runs/1/close", "/operator/runs/1/void"],
)
def test_without_the_key_nothing_is_done(
    hall: Day,
    token: str,
    path: str,
) -> None:
    assert hall.server is not None
    for wrong in (None, "wrong", token):
        answer = hall.server.ask(
            "POST",
            path,
            wrong,
            json={"team": TEAM, "reason": "mischief"},
        )
        problem(answer, 401, "bad-token")
    assert hall.server.ask("GET", "/v1/session", token).json()["phase"] == "open"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("", b"", 400, "bad-json"),
        ("", b"{}", 400, "bad-json"),
        ("", b'{"team": 1}', 400, "bad-json"),
        ("", b'{"team": "ant", "station": null}', 400, "bad-json"),
        ("", b'{"team": "ant", "statoin": "one"}', 400, "bad-json"),
        ("", b'{"team": "ant", "beyond_attempts": "true"}', 400, "bad-json"),
        ("", b'{"team": "nobody"}', 404, "team-unknown"),
        ("", b'{"team": "ant", "station": "nowhere"}', 404, "station-unknown"),
        ("", b'{"team": "dog"}', 409, "station-busy"),
        ("/99/close", b"", 404, "run-unknown"),
        ("/99/void", b'{"reason": "x"}', 404, "run-unknown"),
        ("/1/void", b'{"reason": " "}', 400, "bad-json"),
        ("/" + "9" * 19 + "/close", b"", 404, "run-unknown"),
        ("/-1/close", b"", 404, "not-found"),
    ],
)
def test_what_cannot_be_done_is_refused(
    hall: Day,
    key: str,
    token: str,
    path: str,
    body: bytes,
    status: int,
    code: str,
) -> None:
    assert hall.server is not None
    assert token  # run 1 is open
    problem(
        hall.server.ask("POST", f"/operator/runs{path}", key, data=body),
        status,
        code,
    )


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("", {"team": TEAM, "extra_s": "1 min"}, "extra_s is '1 min'; it must be"),
        ("", {"team": TEAM, "extra_s": "1 min"}, "seconds above 0; 1 min is 60."),
        ("", {"team": " "}, "The text 'team' is blank; write one."),
        ("/1/void", {"reason": " "}, "The text 'reason' is blank; write one."),
    ],
)
def test_what_was_sent_is_named_in_the_refusal(
    hall: Day, key: str, path: str, body: dict[str, str], told: str
) -> None:
    assert hall.server is not None
    refused = hall.server.ask("POST", f"/operator/runs{path}", key, json=body)
    assert told in refused.json()["detail"]


def test_a_day_by_the_operator_s_hand(day: Callable[..., Day]) -> None:
    made = day(auto_arm=False, teams=(TEAM, "bee"))
    assert made.server is not None
    not_armed = made.server.ask(
        "POST",
        "/v1/session",
        json={"team": TEAM, "password": PASSWORD},
    )
    assert TEAM in problem(not_armed, 409, "not-armed")["detail"]

    armed = made.refers("run", "arm", TEAM)
    assert armed.returncode == 0
    assert armed.stderr == ""
    assert armed.stdout.startswith("Run 1 is armed for ant at station-1, meter ")
    refused = made.refers("run", "arm", "bee")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == (
        "referee: Station station-1 has run 1 (armed) of ant; end it first: "
        f'referee run void 1 --reason "…" --contest {made.folder}\n'
    )
    assert one_line(made.refers("run", "close", "1")).startswith(
        "referee: Run 1 is armed, not open"
    )

    token = made.login()["token"]
    made.post(token)
    closed = made.refers("run", "close", "1")
    assert closed.stdout.startswith("Run 1 is closed after ")
    problem(made.post(token), 409, "window-closed")
    assert made.refers("run", "close", "1").stdout == closed.stdout

    listed = json.loads(made.refers("run", "list", "--json").stdout)
    assert [(one["id"], one["team"], one["state"]) for one in listed] == [
        (1, TEAM, "closed")
    ]
    assert "closed" in made.refers("run", "list").stdout
    stdout = made.refers("run", "void", "1", "--reason", "false start").stdout
    assert stdout == "Run 1 is void: false start\n"
    shown = json.loads(made.refers("run", "show", "1", "--json").stdout)
    assert shown["state"] == "void"
    assert shown["void_reason"] == "false start"
    assert shown["closed_by"] == "operator"
    kinds = [event.get("action", event["kind"]) for event in shown["events"]]
    assert [
        kind for kind in kinds if kind in ("armed", "open", "closed", "void")
    ] == kinds_of_a_void_run
    assert "false start" in made.refers("run", "show", "1").stdout
    assert (
        one_line(made.refers("judge", "1"))
        == "referee: Run 1 is void; only a closed run can be judged.\n"
    )
    assert made.refers("run", "close", "1").returncode == 0

    assert made.refers("run", "arm", "bee").stdout.startswith("Run 2 is armed for bee")
    assert made.refers("run", "void", "2", "--reason", "no board").returncode == 0
    stdout = made.refers("run", "close", "2").stdout
    assert stdout == "Run 2 is void, no valid energy.\n"
    assert one_line(made.refers("run", "void", "2", "--reason", "again")).startswith(
        "referee: Run 2 is void;"
    )

    assert made.server.end() == 0
    log = (made.folder / "server.log").read_text().splitlines()
    assert (
        sum("refused 127.0.0.1 (team 'ant'): 409 not-armed: " in line for line in log)
        == 1
    )
    told = [
        line for line in log if "refused" not in line and "needs attention" not in line
    ]
    assert [line.partition(": ")[2].partition(" after")[0] for line in told] == [
        "run 1 of ant is armed at station-1",
        "run 1 of ant is open at station-1 for 600 s",
        "run 1 of ant was closed by operator",
        "run 1 of ant is void: false start",
        "run 2 of bee is armed at station-1",
        "run 2 of bee is void: no board",
    ]
    assert one_line(made.refers("run", "arm", TEAM)).endswith(
        f"start it: referee serve {made.folder}\n"
    )


def test_arming_at_a_dead_meter_says_that_nothing_is_armed(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False)
    made.meter.kill()
    told = one_line(made.refers("run", "arm", TEAM))
    assert told.startswith("referee: The meter is not ready, so nothing is armed: "), (
        told
    )
    with made.store() as store:
        assert store.runs.find() == []


def one_line(result: object) -> str:
    stderr = str(result.stderr)  # type: ignore[attr-defined]
    assert result.returncode == 1
    assert result.stdout == ""  # type: ignore[attr-defined]
    assert stderr.count("\n") == 1
    return stderr


kinds_of_a_void_run = ["armed", "open", "closed", "void"]
