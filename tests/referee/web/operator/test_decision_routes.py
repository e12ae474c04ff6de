"""The jury decides on many runs by one press: each on record by itself, and on nothing that it has not seen."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flask.testing import FlaskClient

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.judging.judge import judge
from referee.judging.jury_decisions import Awaited, unpublished
from referee.judging.run_figures import let_stand
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import Server
from tests.referee.factories import START, StillClock, config_text
from tests.referee.judging.judged_runs import READ_EACH_S, closed_run
from tests.referee.web.operator.test_jury import Jury, jury

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser", "jury"]
TEAMS = ("bee", "<b>cat</b>", "dog")
IN_REVIEW = 5
LATER = StillClock(60.0)
BUTTON = re.compile(r'<button[^>]* data-path="/operator/(confirm|publish)"[^>]*>')


@pytest.fixture
def runs(jury: Jury) -> Jury:
    """Five judged runs: the first with a warning, as readings are missed, the last in review."""
    judged_runs(jury.contest)
    odd = closed_run(jury.contest, "eel", odd=True)
    judge(jury.contest, odd.id, jury.clock)
    return jury


def judged_runs(contest: Contest) -> None:
    for seed, team in enumerate(TEAMS, 1):
        run = closed_run(contest, team, 1.0 + seed, seed, setup=READ_EACH_S)
        judge(contest, run.id, StillClock())


def offered(client: FlaskClient, action: str) -> dict[str, str]:
    """What the console's button says and sends."""
    for found in BUTTON.finditer(client.get("/operator/").text):
        if found[1] == action:
            given = re.findall(r"""(data-\w+|aria-label)=("[^"]*"|'[^']*')""", found[0])
            return {name: html.unescape(value[1:-1]) for name, value in given}
    return {}


def press(jury: Jury, client: FlaskClient, action: str, sent: str = "") -> Any:
    """Confirm the dialog of the console's button, or one that was opened before."""
    body = json.loads(sent or offered(client, action)["data-send"])
    headers = {"X-CSRF-Token": jury.csrf(client)}
    return client.post(f"/operator/{action}", json=body, headers=headers)


def judged_again(jury: Jury, number: int) -> None:
    judge(jury.contest, number, LATER)


def test_two_people_decide_on_all_runs_by_two_presses_and_each_is_on_record(
    runs: Jury,
) -> None:
    eva = runs.log_in("Eva")
    max_ = runs.log_in("Max")
    dialog = offered(eva, "confirm")
    assert dialog["aria-label"] == "Confirm all 3"
    listed, left_out = dialog["data-says"].split("\n\n")
    for number, team in enumerate(TEAMS, 2):
        assert f"Run {number} of {team}: score " in listed
    assert "Run 1 of ant: a warning: reading-gaps" in left_out
    assert "Run 5 of eel: in review: range-changed" in left_out
    answer = press(runs, eva, "confirm").json
    assert answer["sentence"] == "Confirmed: run 2, 3, 4."
    assert answer["left_out"] == []
    published = press(runs, max_, "publish").json
    assert published["sentence"] == "Published: run 2, 3, 4."
    for number in (2, 3, 4):
        acts = [
            (one["operator"], one["action"], one["judged_utc"], one["together"])
            for one in runs.contest.store.log.of_run(number)
            if one["kind"] == "operator"
        ]
        at = START.isoformat()
        assert acts == [("Eva", "confirm", at, 3), ("Max", "publish", at, 3)]
    assert unpublished(runs.contest) == dict.fromkeys(
        (1, IN_REVIEW), Awaited.CONFIRMATION
    )
    assert offered(eva, "confirm") == {}, "nothing is left that is offered"


def test_a_run_that_is_judged_again_between_dialog_and_press_is_left_out_and_named(
    runs: Jury,
) -> None:
    eva = runs.log_in("Eva")
    max_ = runs.log_in("Max")
    seen = offered(eva, "confirm")["data-send"]
    judged_again(runs, 3)
    answer = press(runs, eva, "confirm", seen).json
    assert answer["runs"] == [2, 4]
    (left_out,) = answer["left_out"]
    assert (left_out["run"], left_out["code"]) == (3, "judged-again")
    assert answer["sentence"].startswith(
        "Confirmed: run 2, 4. Left out: Run 3 was judged or reviewed again meanwhile"
    )
    seen = offered(max_, "publish")["data-send"]
    judged_again(runs, 4)
    answer = press(runs, max_, "publish", seen).json
    assert answer["runs"] == [2]
    assert [one["run"] for one in answer["left_out"]] == [4]
    waiting = unpublished(runs.contest)
    assert waiting[3] is waiting[4] is Awaited.CONFIRMATION


def test_whoever_names_a_run_in_review_in_such_a_request_does_not_get_it_through(
    runs: Jury,
) -> None:
    eva = runs.log_in("Eva")
    named = {"run": IN_REVIEW, "judged_utc": START.isoformat()}
    alone = press(runs, eva, "confirm", json.dumps({"runs": [named]}))
    assert (alone.status_code, alone.json["code"]) == (409, "none-decided")
    assert "Run 5 needs a decision by itself: in review" in alone.json["detail"]
    now = runs.clock.utc()
    let_stand(runs.contest, IN_REVIEW, "Max", "The cable was loose.", now)
    late = press(runs, eva, "confirm", json.dumps({"runs": [named]}))
    assert late.json["left_out"][0]["code"] == "judged-again", "the review is unseen"
    assert press(runs, eva, "confirm").json["runs"] == [2, 3, 4, IN_REVIEW]


def test_who_confirmed_a_run_does_not_publish_it_among_others_and_the_key_decides_none(
    runs: Jury,
) -> None:
    eva = runs.log_in("Eva")
    max_ = runs.log_in("Max")
    sent = json.loads(offered(eva, "confirm")["data-send"])["runs"]
    press(runs, eva, "confirm", json.dumps({"runs": sent[:1]}))
    press(runs, max_, "confirm", json.dumps({"runs": sent[1:]}))
    assert "that you confirmed yourself" in offered(eva, "publish")["data-says"]
    answer = press(runs, eva, "publish").json
    assert answer["runs"] == [3, 4]
    assert answer["left_out"][0]["code"] == "second-person"
    assert "Eva has confirmed run 2" in answer["sentence"]
    key = {"Authorization": f"Bearer {runs.contest.operator_key}"}
    body = {"runs": sent[:1]}
    refused = runs.log_in("").post("/operator/publish", json=body, headers=key)
    assert (refused.status_code, refused.json["code"]) == (409, "none-decided")
    assert refused.json["left_out"][0]["code"] == "second-person"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"runs": []},
        {"runs": {"run": 1}},
        {"runs": [1]},
        {"runs": [{"run": "1", "judged_utc": "now"}]},
        {"runs": [{"run": True, "judged_utc": "now"}]},
        {"runs": [{"run": 1}]},
    ],
)
def test_a_request_that_does_not_name_judgements_decides_nothing(
    jury: Jury,
    body: dict[str, Any],
) -> None:
    refused = press(jury, jury.log_in("Eva"), "confirm", json.dumps(body))
    assert (refused.status_code, refused.json["code"]) == (400, "bad-json")
    assert unpublished(jury.contest) == {1: Awaited.CONFIRMATION}


def test_runs_that_are_unknown_or_named_twice_are_decided_on_once_or_left_out(
    runs: Jury,
) -> None:
    eva = runs.log_in("Eva")
    seen = {"judged_utc": START.isoformat()}
    named = [{"run": number} | seen for number in (2, 2, 99)]
    answer = press(runs, eva, "confirm", json.dumps({"runs": named})).json
    assert answer["runs"] == [2]
    assert [one["code"] for one in answer["left_out"]] == ["run-unknown"]


def test_the_console_decides_on_what_its_dialog_showed(
    tmp_path: Path,
    small_set: TestSet,
    browser: Browser,
) -> None:
    folder = tmp_path / "contest"
    create_contest(folder, config_text(small_set, publish_by=1))
    with open_contest(folder) as contest:
        key = contest.operator_key
        judged_runs(contest)
    server = Server(folder)
    try:
        with visit(browser, f"{server.url}/operator/", size=(360, 740)) as page:
            page.fill("[name=name]", "ruth")
            page.fill("[name=password]", key)
            page.click("button:text-is('Log in')")
            page.click("#runs-panel header button:text-is('Confirm all 3')")
            says = page.inner_text("#ask-says")
            assert "Run 2 of <b>cat</b>: score " in says
            assert_accessible(page)
            with open_contest(folder) as contest:
                judge(contest, 2, Clock())
            page.click("#ask-do")
            page.wait_for_selector("#said:has-text('Confirmed: run 1, 3. Left out:')")
            page.wait_for_selector("button:text-is('Publish all 2')")
            page.wait_for_selector("#confirm-2")
            offered = page.locator("#runs-panel header button").all_inner_texts()
            assert not [one for one in offered if one.startswith("Confirm all")]
    finally:
        server.close()
