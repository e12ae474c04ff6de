"""The provisional score beside a real server: its own process, told to the team only where the contest allows it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from lpirc_testsets import read_ground_truth
from referee.judging.released_figures import EVERY_S
from referee.store.records import RunState
from tests.contest_day import ROWS, Day, descendants_of, is_running, until, workers_of


def allow(day: Day) -> None:
    config = day.folder / "contest.toml"
    config.write_text(
        config.read_text().replace("teams_see_score = false", "teams_see_score = true")
    )


def post_everything(day: Day, token: str) -> int:
    """Every object of the test set, found exactly."""
    truth = read_ground_truth(day.testset)
    with day.store() as store:
        known_as = {
            original: n
            for n, original in enumerate(store.runs.image_order(1).tolist(), start=1)
        }
    rows = [
        [known_as[image], category, 0.5, *box]
        for image, category, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    assert day.post(token, rows).status_code == 202
    return len(rows)


def test_the_team_sees_its_provisional_score_where_allowed_and_not_at_once(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    allow(made)
    server = made.serve()
    token = made.fetched(made.login()["token"])
    sent = post_everything(made, token)

    def provisional() -> dict[str, Any]:
        found: dict[str, Any] = (
            server.ask("GET", "/v1/session", token).json()["provisional"] or {}
        )
        return found

    with made.store() as store:
        until(
            lambda: (
                (found := store.provisional.of_run(1))
                and found.detections == sent
                and found.score
            )
        )
        assert provisional() == {}
        opened = datetime.fromisoformat(store.runs.get(1).opened_utc) - timedelta(
            seconds=EVERY_S
        )
        store.runs.change(1, (RunState.OPEN,), opened_utc=opened.isoformat())
    until(
        lambda: provisional().get("detections") == sent and provisional().get("score")
    )
    assert provisional()["map"] == 1.0
    assert provisional()["figure_state"] == "fresh"
    assert 0 <= provisional()["age_s"] < 60
    (listed,) = json.loads(made.refers("run", "list", "--json").stdout)
    assert listed["map"] == 1.0
    assert "~1 " in made.refers("run", "list").stdout


def test_a_meter_that_goes_away_takes_every_score_with_it(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    allow(made)
    config = made.folder / "contest.toml"
    config.write_text(config.read_text().replace("# public_score", "public_score"))
    server = made.serve()
    token = made.fetched(made.login()["token"])
    post_everything(made, token)
    with made.store() as store:
        opened = datetime.fromisoformat(store.runs.get(1).opened_utc) - timedelta(
            seconds=EVERY_S
        )
        store.runs.change(1, (RunState.OPEN,), opened_utc=opened.isoformat())

    def shown() -> list[dict[str, Any]]:
        session = server.ask("GET", "/v1/session", token).json()["provisional"]
        (public,) = server.ask("GET", "/board.json").json()["now"]
        (station,) = json.loads(made.refers("status", "--json").stdout)["stations"]
        (listed,) = json.loads(made.refers("run", "list", "--json").stdout)
        return [session or {}, public, station["run"], listed]

    until(lambda: server.ask("GET", "/board.json").json()["now"])
    until(
        lambda: all(
            one.get("score") and one["figure_state"] == "fresh" for one in shown()
        )
    )
    made.meter.kill()
    until(lambda: all(one["figure_state"] == "meter-away" for one in shown()))
    assert [one["score"] for one in shown()] == [None] * 4
    line = next(
        one
        for one in made.refers("status").stdout.splitlines()
        if one.startswith("station-1")
    )
    assert re.search(
        r"36\.00 W, [0-9.]+ Wh \([0-9]+ s old\), so far mAP 1\.00000 and score –",  # noqa: RUF001
        line,
    )
    assert (
        "(the meter cannot be reached: its energy is not known now, so there is no score, "
        in line
    )


def test_otherwise_only_the_operator_sees_it(day: Callable[..., Day]) -> None:
    made = day()
    token = made.login()["token"]
    sent = post_everything(made, token)

    def told() -> bool:
        with made.store() as store:
            found = store.provisional.of_run(1)
        return found is not None and found.detections == sent

    until(told)
    assert made.server is not None
    assert "provisional" not in made.server.ask("GET", "/v1/session", token).json()


def test_a_killed_live_score_is_replaced_harms_nobody_and_ends_with_its_server(
    day: Callable[..., Day],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLD_START", "1")  # its process is the server's own child
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    (worker,) = workers_of(made.server.pid)
    processes = descendants_of(made.server.pid)
    (live,) = set(processes) - {worker}
    os.kill(live, signal.SIGKILL)
    assert made.post(token).status_code == 202
    until(lambda: set(descendants_of(made.server.pid)) - {worker, live})
    text = (made.folder / "server.log").read_text()
    assert "the process for provisional scores has ended (-9)" in text
    sent = post_everything(made, token)
    with made.store() as store:
        until(
            lambda: (
                (found := store.provisional.of_run(1))
                and found.detections == sent + len(ROWS)
            )
        )
    processes = descendants_of(made.server.pid)
    made.server.end()
    until(lambda: not any(map(is_running, processes)))
    assert json.loads(made.refers("run", "list", "--json").stdout)[0]["state"] == "open"
