"""The jury decides over HTTP: by name, on the judgement that it has seen, and each decision is on record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from lpirc_testsets import TestSet
from referee.contest import Contest, create_contest, open_contest
from referee.judging.judge import judge
from referee.runs.run_control import RunControl
from referee.web.app import create_app
from tests.contest_day import HASH, PASSWORD
from tests.referee.factories import START, StillClock, config_text
from tests.referee.judging.judged_runs import closed_run

CSRF = re.compile(r'<meta name="csrf" content="([^"]+)">')


@dataclass
class Jury:
    """A contest whose results two people publish, with a judged run, and how to ask its server by a name."""

    contest: Contest
    log_in: Callable[[str], FlaskClient]
    clock: StillClock

    def decide(self, client: FlaskClient, what: str, **seen: str) -> Any:
        body = {"judged_utc": START.isoformat()} | seen
        headers = {"X-CSRF-Token": self.csrf(client)}
        return client.post(f"/operator/runs/1/{what}", json=body, headers=headers)

    def csrf(self, client: FlaskClient) -> str:
        (token,) = CSRF.findall(client.get("/operator/").text)
        return str(token)

    def by_key(self, what: str, **seen: str) -> Any:
        headers = {
            "Authorization": f"Bearer {self.contest.operator_key}",
            "Referee-User": "Max",
        }
        body = {"judged_utc": START.isoformat()} | seen
        return self.log_in("").post(
            f"/operator/runs/1/{what}", json=body, headers=headers
        )


@pytest.fixture
def jury(tmp_path: Path, small_set: TestSet) -> Iterator[Jury]:
    create_contest(tmp_path / "jury", config_text(small_set, publish_by=2))
    clock = StillClock()
    with ExitStack() as stack:
        contest = stack.enter_context(open_contest(tmp_path / "jury"))
        for name in ("Eva", "Max"):
            contest.store.operators.add(name, HASH, START)
        judge(contest, closed_run(contest, "ant").id, clock)
        control = RunControl(contest, clock)
        stack.callback(control.shutdown)
        app = create_app(contest, control, clock)

        def log_in(name: str) -> FlaskClient:
            client = app.test_client()
            if name:
                form = {"name": name, "password": PASSWORD}
                client.post("/operator/login", data=form)
            return client

        yield Jury(contest, log_in, clock)


def test_two_people_who_are_logged_in_by_name_publish_a_run_and_it_is_on_record(
    jury: Jury,
) -> None:
    eva = jury.log_in("Eva")
    assert jury.decide(eva, "publish").json["code"] == "not-confirmed"
    assert jury.decide(eva, "confirm").json["sentence"] == "Run 1 is confirmed."
    refused = jury.decide(eva, "publish")
    assert (refused.status_code, refused.json["code"]) == (403, "second-person")
    assert jury.decide(jury.log_in("Max"), "publish").status_code == 200
    events = jury.contest.store.log.of_run(1)
    acts = [
        (one["operator"], one["action"], one["judged_utc"])
        for one in events
        if one["kind"] == "operator"
    ]
    at = START.isoformat()
    assert acts == [("Eva", "confirm", at), ("Max", "publish", at)]


def test_the_operator_key_is_no_second_person_whatever_name_is_stated(
    jury: Jury,
) -> None:
    for what in ("confirm", "publish"):
        refused = jury.by_key(what)
        assert (refused.status_code, refused.json["code"]) == (403, "second-person")
        assert "referee operator add" in refused.json["detail"]
    jury.decide(jury.log_in("Eva"), "confirm")
    assert jury.by_key("publish").json["code"] == "second-person"
    assert jury.contest.store.decisions.latest()[1][-1].kind == "confirmed"


def test_nobody_decides_on_a_judgement_that_is_not_the_newest_or_is_not_named(
    jury: Jury,
) -> None:
    eva = jury.log_in("Eva")
    before = "2026-01-01T00:00:00+00:00"
    refused = jury.decide(eva, "confirm", judged_utc=before)
    assert (refused.status_code, refused.json["code"]) == (409, "judged-again")
    headers = {"X-CSRF-Token": jury.csrf(eva)}
    unnamed = eva.post("/operator/runs/1/confirm", json={}, headers=headers)
    assert (unnamed.status_code, unnamed.json["code"]) == (400, "bad-json")
    assert jury.contest.store.log.of_run(1)[-1]["kind"] != "operator"


def test_the_status_says_what_each_run_waits_for(jury: Jury) -> None:
    eva = jury.log_in("Eva")

    def waits() -> tuple[str | None, str]:
        jury.clock.now_s += 1.0
        (run,) = eva.get("/operator/status").json["runs"]  # type: ignore[index]
        return run["waits_for"], run["judged_utc"]

    assert waits() == ("confirmation", START.isoformat())
    jury.decide(eva, "confirm")
    assert waits()[0] == "publication"
    jury.decide(jury.log_in("Max"), "publish")
    assert waits()[0] is None
