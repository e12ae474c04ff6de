"""What an operator does on the day beside arming and closing: each act once, durable, by name, nothing destroyed."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests

from referee.cli.recorded_acts import user
from referee.contest import read_secrets
from referee.store.records import RunState
from tests.contest_day import TEAM, Day, contest_day, problem, until

TEAMS = (TEAM, "bee", "cat", "dog")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("stage") / "contest"
    with contest_day(folder, tiny_set, teams=TEAMS, auto_arm=False) as made:
        made.serve()
        yield made


def act(day: Day, path: str, **body: object) -> requests.Response:
    assert day.server is not None
    key = read_secrets(day.folder)[1].hex()
    return day.server.ask("POST", f"/operator{path}", key, json=body)


def status(day: Day) -> dict[str, Any]:
    assert day.server is not None
    document: dict[str, Any] = day.server.ask(
        "GET",
        "/operator/status",
        read_secrets(day.folder)[1].hex(),
    ).json()
    return document


def page(day: Day, path: str) -> str:
    assert day.server is not None
    return day.server.ask(
        "GET",
        f"/operator{path}",
        read_secrets(day.folder)[1].hex(),
    ).text


def closed_run(day: Day, team: str) -> int:
    number = int(act(day, "/runs", team=team).json()["id"])
    token = day.fetched(day.login(team)["token"])
    day.post(token)
    act(day, f"/runs/{number}/close")
    return number


def actions(day: Day) -> list[str]:
    return [
        one["detail"]["action"]
        for one in status(day)["events"]
        if one["kind"] == "operator"
    ]


def test_the_queue_is_drawn_by_lot_changed_and_left_by_who_is_armed(stage: Day) -> None:
    drawn = act(stage, "/queue/draw").json()["queue"]
    assert sorted(drawn) == sorted(TEAMS)
    event = status(stage)["events"][0]
    who = {"operator": "key", "address": "127.0.0.1"}
    assert event["detail"] == who | {"action": "draw", "before": [], "queue": drawn}

    late = drawn[0]
    assert act(stage, "/queue/absent", team=late).json()["queue"] == [*drawn[1:], late]
    problem(act(stage, "/queue/add", team=late), 409, "team-queued")
    problem(act(stage, "/queue/add", team="nobody"), 404, "team-unknown")
    assert act(stage, "/queue/remove", team=late).json()["queue"] == drawn[1:]
    for path in ("/queue/remove", "/queue/absent"):
        problem(act(stage, path, team=late), 404, "team-not-queued")
    assert act(stage, "/queue/add", team=late).json()["queue"] == [*drawn[1:], late]
    assert [one["team"] for one in status(stage)["queue"]] == [*drawn[1:], late]

    stage.refers("team", "disable", late)
    until(lambda: [one["team"] for one in status(stage)["queue"]] == drawn[1:])
    stage.refers("team", "enable", late)
    until(lambda: [one["team"] for one in status(stage)["queue"]] == [*drawn[1:], late])

    number = act(stage, "/runs", team=late).json()["id"]
    assert [one["team"] for one in status(stage)["queue"]] == drawn[1:]
    assert late not in act(stage, "/queue/draw").json()["queue"], "it has a run"
    act(stage, f"/runs/{number}/void", reason="only to see the queue")


def test_of_operators_who_change_the_queue_at_once_each_is_heard(stage: Day) -> None:
    act(stage, "/queue/draw")
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda team: act(stage, "/queue/remove", team=team),
                [*TEAMS, *TEAMS],
            )
        )
    assert sorted(one.status_code for one in answers) == [200] * 4 + [404] * 4
    assert status(stage)["queue"] == []


def test_announcements_are_shown_until_they_are_withdrawn_and_stay_on_record(
    stage: Day,
) -> None:
    first = act(stage, "/announcements", text="Lunch  is at\nnoon <b>").json()
    assert first["text"] == "Lunch is at noon <b>"
    second = act(stage, "/announcements", text="Doors close").json()
    assert [one["id"] for one in status(stage)["announcements"]] == [
        second["id"],
        first["id"],
    ]
    assert act(stage, f"/announcements/{first['id']}/withdraw").status_code == 200
    for number in (first["id"], 2**70):
        problem(
            act(stage, f"/announcements/{number}/withdraw"),
            404,
            "announcement-unknown",
        )
    assert [one["text"] for one in status(stage)["announcements"]] == ["Doors close"]
    for bad in ("x" * 501, "a\x07b"):
        problem(act(stage, "/announcements", text=bad), 400, "bad-request")
    assert actions(stage)[:3] == ["withdraw", "announce", "announce"]


def test_an_announcement_goes_after_its_minutes_and_none_goes_never_or_at_once(
    stage: Day,
) -> None:
    short = act(stage, "/announcements", text="Doors close", minutes="0.02").json()
    assert short["expires_utc"] is not None
    until(
        lambda: short["id"] not in [one["id"] for one in status(stage)["announcements"]]
    )
    for bad in ("0", "-1", "nan", "inf", "1e9", "soon"):
        problem(
            act(stage, "/announcements", text="Lunch", minutes=bad),
            400,
            "bad-request",
        )


def test_a_void_run_comes_back_as_it_was_and_one_that_never_closed_does_not(
    stage: Day,
) -> None:
    number = closed_run(stage, TEAM)
    before = stage.run(number)
    act(stage, f"/runs/{number}/void", reason="wrong board")
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: act(stage, f"/runs/{number}/unvoid"), range(2)))
    assert sorted(one.status_code for one in both) == [200, 409]
    refused = next(one for one in both if one.status_code == 409)
    detail = problem(refused, 409, "run-state")["detail"]
    assert detail == f"Run {number} is closed; this command needs a run that is void."
    assert stage.run(number) == before
    event = next(
        one
        for one in status(stage)["events"]
        if one["detail"].get("action") == "unvoid"
    )
    assert event["run"] == number
    assert event["detail"]["was_void"] == "wrong board"

    unopened = act(stage, "/runs", team="bee").json()["id"]
    act(stage, f"/runs/{unopened}/void", reason="no board")
    told = problem(act(stage, f"/runs/{unopened}/unvoid"), 409, "run-state")["detail"]
    assert (
        told
        == f"Run {unopened} was voided before it was closed, so nothing can be judged; arm a new run."
    )
    assert stage.run(unopened).void_reason == "no board"


def test_runs_are_judged_beside_the_server_and_one_in_review_may_stand(
    stage: Day,
) -> None:
    number = closed_run(stage, "cat")
    problem(act(stage, f"/runs/{number}/review", note="early"), 409, "run-state")
    with stage.store() as store:  # it reads more than its window covers
        store.runs.change(number, (RunState.CLOSED,), integrator_s=500.0)
    asked = act(stage, f"/runs/{number}/judge")
    assert asked.status_code == 200
    assert asked.json() == {"judging": [number]}
    shown = next(one for one in status(stage)["runs"] if one["run"] == number)
    assert shown["judging"] is True
    assert shown["state"] == "closed"
    until(
        lambda: (
            not next(one for one in status(stage)["runs"] if one["run"] == number)[
                "judging"
            ]
        )
    )
    shown = next(one for one in status(stage)["runs"] if one["run"] == number)
    assert shown["state"] == "judged"
    assert shown["needs_review"] is True
    assert shown["review"] is None
    assert shown["not_ranked_code"] == "in-review"
    assert "integrator-time failed (" in shown["not_ranked"]
    console = page(stage, "/live")
    assert "It counts from now on; your note and your name are kept with it." in console
    assert "integrator-time" in [one["code"] for one in shown["failed_checks"]]
    with stage.store() as store:
        acts = [one for one in store.log.of_run(number) if one.get("action") == "judge"]
    assert [one["operator"] for one in acts] == ["key"], (
        "the command that the server runs is not an act of its own"
    )

    kept = act(
        stage,
        f"/runs/{number}/review",
        note="The timer was checked by hand.",
    ).json()
    shown = next(one for one in status(stage)["runs"] if one["run"] == number)
    assert shown["review"] == {
        key: value for key, value in kept.items() if key in shown["review"]
    }
    assert kept["operator"] == "key"
    assert shown["not_ranked"] is None
    assert shown["images_seen"] == 0
    assert "integrator-time" in kept["codes"]
    with stage.store() as store:
        assert [one.note for one in store.reviews.of_run(number)] == [
            "The timer was checked by hand."
        ]

    act(stage, f"/runs/{number}/void", reason="after all")
    assert act(stage, f"/runs/{number}/unvoid").json()["state"] == "judged"
    void = act(stage, "/runs", team="dog").json()["id"]
    told = problem(act(stage, f"/runs/{void}/judge"), 409, "run-state")["detail"]
    assert told == f"Run {void} is armed; only a closed run can be judged."
    act(stage, f"/runs/{void}/void", reason="done")


def test_what_a_command_asks_of_the_server_is_on_record_with_its_user_and_the_reason_given(
    stage: Day,
) -> None:
    stage.refers(
        "run", "arm", "bee", "--extra-time", "60", "--reason", "its network failed"
    )
    number = stage.runs(RunState.ARMED)[-1].id
    stage.login("bee")
    stage.refers("run", "close", str(number), "--reason", "lunch")
    stage.refers("run", "void", str(number), "--reason", "wrong board")
    stage.refers("run", "unvoid", str(number), "--reason", "it was the right one")
    with stage.store() as store:
        acts = [one for one in store.log.of_run(number) if one["kind"] == "operator"]
    said = {(one["operator"], one["address"], one["user"]) for one in acts}
    assert said == {("key", "127.0.0.1", f"{user()}@{socket.gethostname()}")}
    assert [(one["action"], one["reason"]) for one in acts] == [
        ("arm", "its network failed"), ("close", "lunch"), ("void", "wrong board"), ("unvoid", "it was the right one"),
    ]  # fmt: skip
    assert acts[0]["team"] == "bee"
    assert acts[0]["extra_s"] == 60


def test_an_act_whose_record_cannot_be_stored_is_not_done(stage: Day) -> None:
    number = act(stage, "/runs", team="cat").json()["id"]
    with closing(sqlite3.connect(stage.folder / "contest.db")) as database:
        database.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN INSERT INTO nowhere VALUES (1); END"
        )
        database.commit()
        said = problem(
            act(stage, f"/runs/{number}/void", reason="gone"),
            503,
            "storage-failed",
        )["detail"]
        database.execute("DROP TRIGGER broken")
        database.commit()
    assert said.startswith("The contest database cannot be written")
    assert stage.run(number).state is RunState.ARMED
    stage.login("cat")
    problem(act(stage, f"/runs/{number}/unvoid"), 409, "run-state")
    act(stage, f"/runs/{number}/void", reason="gone")
    with stage.store() as store:
        acts = [one for one in store.log.of_run(number) if one["kind"] == "operator"]
    assert [(one["action"], one.get("reason")) for one in acts] == [
        ("arm", None),
        ("void", "gone"),
    ], "what was not done is not on record, and closing is a step of voiding"


def test_a_judgement_that_fails_is_an_event_with_its_sentence(stage: Day) -> None:
    number = closed_run(stage, "dog")
    image = next((stage.testset / "images").iterdir())
    content = image.read_bytes()
    image.write_bytes(content + b"x")
    try:
        act(stage, "/judge")
        until(lambda: not any(one["judging"] for one in status(stage)["runs"]))
    finally:
        image.write_bytes(content)
    failed = [
        one
        for one in status(stage)["events"]
        if one["kind"] == "judge-failed" and one["run"] == number
    ]
    assert "changed since its manifest was made" in failed[0]["detail"]["sentence"]
    assert stage.run(number).state is RunState.CLOSED


def test_the_command_line_does_the_same(stage: Day) -> None:
    number = closed_run(stage, "bee")
    stage.refers("run", "void", str(number), "--reason", "wrong board")
    stdout = stage.refers("run", "unvoid", str(number)).stdout
    assert stdout == f"Run {number} is no longer void: its state is closed.\n"
    assert (
        "needs a run that is void" in stage.refers("run", "unvoid", str(number)).stderr
    )
    stderr = stage.refers("run", "review", str(number), "--note", "fine").stderr
    assert "only a judged run" in stderr
    at_once = stage.refers("run", "confirm", str(number)).stderr
    assert at_once.startswith("referee: publish_by is 0 in contest.toml, so a")
    assert stage.refers("operator", "add", "eve").returncode == 1, "no password"


def test_a_draw_is_undone_only_while_nothing_has_changed_the_queue_since(
    stage: Day,
) -> None:
    none = problem(act(stage, "/queue/undo"), 409, "queue-changed")
    # An earlier test of the same day may have changed the queue otherwise.
    words = ("Nobody has been drawn into the queue yet", "was not a draw")
    assert any(one in none["detail"] for one in words)
    before = act(stage, "/queue/draw").json()["queue"]
    while act(stage, "/queue/draw").json()["queue"] == before:
        pass
    assert status(stage)["can_undo_draw"] is True
    undone = act(stage, "/queue/undo")
    assert undone.json()["queue"] == before
    assert actions(stage)[:2] == ["undo-draw", "draw"]
    assert status(stage)["can_undo_draw"] is False
    problem(act(stage, "/queue/undo"), 409, "queue-changed")

    drawn = act(stage, "/queue/draw").json()["queue"]
    act(stage, "/queue/absent", team=drawn[0])
    problem(act(stage, "/queue/undo"), 409, "queue-changed")
    last = act(stage, "/queue/draw").json()["queue"]
    armed = act(stage, "/runs", team=last[0]).json()["id"]
    problem(act(stage, "/queue/undo"), 409, "queue-changed")
    assert status(stage)["can_undo_draw"] is False
    act(stage, f"/runs/{armed}/void", reason="done")
