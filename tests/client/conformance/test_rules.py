from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from lpirc_client.conformance.client_rules import RULES, Exchange, Run
from lpirc_client.conformance.findings_report import Finding, junit
from lpirc_client.conformance.referee_checks import Checks
from tests.contest_day import ROOT

LOGIN = Exchange(1, "POST /v1/session", 0.0, 1.0, 201, {"images": 6})
LOGOUT = Exchange(1, "DELETE /v1/session", 99.0, 100.0, 200)
FETCH = Exchange(1, "GET /v1/images", 2.0, 3.0, 200, images=range(1, 101))
POST = Exchange(
    1, "POST /v1/detections", 4.0, 5.0, 202, {}, key="a", sha256="b", images=range(1, 7),
    media_type="application/octet-stream",
)  # fmt: skip
BUSY = replace(
    POST,
    status=429,
    answer={"code": "too-many-requests"},
    retry_after_s=2.0,
)


def broken(*seen: Exchange) -> list[str]:
    return [one.name for one in Run(seen).judge() if one.result != "PASS"]


def test_a_run_without_a_fault_passes_every_rule() -> None:
    assert broken(LOGIN, FETCH, POST, LOGOUT) == []


def test_nothing_seen_is_nothing_wrong() -> None:
    assert broken() == []


@pytest.mark.parametrize(
    ("again", "rules"),
    [
        ({"key": "a"}, []),
        ({"key": "c"}, ["repeated-with-another-key"]),
        ({"key": ""}, ["repeated-with-another-key"]),
        ({"key": "c", "sha256": "d"}, []),
    ],
)
def test_a_body_whose_answer_got_lost_is_sent_again_with_its_key(
    again: dict[str, str],
    rules: list[str],
) -> None:
    lost = replace(POST, status=0, ended_s=0.0)
    assert (
        broken(
            LOGIN,
            FETCH,
            lost,
            replace(POST, started_s=6.0, ended_s=7.0, **again),
            LOGOUT,
        )
        == rules
    )


@pytest.mark.parametrize(
    ("started_s", "rules"),
    [(6.9, ["retry-after-ignored"]), (7.0, [])],
)
def test_retry_after_is_waited_for(started_s: float, rules: list[str]) -> None:
    assert (
        broken(
            LOGIN,
            FETCH,
            BUSY,
            replace(POST, started_s=started_s, ended_s=8.0),
            LOGOUT,
        )
        == rules
    )


def test_another_image_may_be_asked_for_while_one_is_refused() -> None:
    busy = Exchange(
        1,
        "GET /v1/images/",
        2.0,
        2.1,
        429,
        BUSY.answer,
        images=[1],
        retry_after_s=1.0,
    )
    other = replace(
        busy,
        started_s=2.2,
        ended_s=2.3,
        status=200,
        answer={},
        images=[2],
        retry_after_s=0.0,
    )
    assert "retry-after-ignored" not in broken(LOGIN, busy, other, LOGOUT)
    assert "retry-after-ignored" in broken(
        LOGIN,
        busy,
        replace(other, images=[1]),
        LOGOUT,
    )


def test_what_the_referee_or_the_operator_does_is_no_fault_of_the_client() -> None:
    polls = [
        Exchange(1, "GET /v1/session", at_s, at_s + 0.1, status)
        for at_s, status in ((2.0, 0), (2.1, 200))
    ]
    assert broken(LOGIN, *polls, FETCH, POST, LOGOUT) == []
    busy = [
        Exchange(1, "POST /v1/session", 0, 0, 409, {"code": code})
        for code in ("station-busy", "team-busy")
    ]
    assert broken(*busy, LOGIN, FETCH, POST, LOGOUT) == []
    ended = [
        replace(
            LOGIN,
            connection=n,
            route="GET /v1/health",
            is_ended_by_referee=True,
        )
        for n in range(5, 15)
    ]
    assert broken(*ended, LOGIN, FETCH, POST, LOGOUT) == []
    lone = [replace(one, is_ended_by_referee=False) for one in ended]
    assert broken(*lone, LOGIN, FETCH, POST, LOGOUT) == ["connection-per-request"]


def test_rows_of_images_that_an_old_route_served_are_no_fault() -> None:
    assert "rows-of-unfetched-images" in broken(LOGIN, POST, LOGOUT)
    assert broken(LOGIN, Exchange(1, "POST /image", 2.0, 3.0, 200), POST, LOGOUT) == []


def test_two_bodies_that_are_not_known_are_not_the_same() -> None:
    chunked = replace(
        POST,
        status=411,
        sha256="",
        key="",
        answer={"code": "length-missing"},
    )
    assert broken(LOGIN, FETCH, replace(chunked, status=0), chunked, POST, LOGOUT) == [
        "other-refusals"
    ]


def test_junit_counts_a_fault_as_a_failure_and_a_hint_not() -> None:
    findings = [
        Finding("a", "FAULT", "x"),
        Finding("b", "HINT", "y"),
        Finding("c", "SKIP", "z"),
        Finding("d", "PASS"),
    ]
    suite = ET.fromstring(junit("s", findings))  # noqa: S314 - our own
    assert suite.attrib == {
        "name": "s", "time": "0.000", "tests": "4", "failures": "1", "errors": "0", "skipped": "1",
    }  # fmt: skip
    assert [[(tag.tag, *tag.attrib) for tag in case] for case in suite] == [
        [("failure", "message", "type")], [("system-out",)], [("skipped", "message")], [],
    ]  # fmt: skip


def test_rows_may_come_before_their_image() -> None:
    assert broken(LOGIN, POST, replace(FETCH, started_s=6.0, ended_s=7.0), LOGOUT) == []


@pytest.mark.parametrize(("last_s", "is_silent"), [(69.0, True), (71.0, False)])
def test_a_client_that_the_deadline_finds_with_unposted_images_is_told(
    last_s: float,
    is_silent: bool,
) -> None:
    post = replace(
        POST,
        images=[1],
        started_s=last_s - 1,
        ended_s=last_s,
    )
    late = replace(
        POST,
        started_s=99.0,
        ended_s=100.0,
        status=409,
        answer={"code": "window-closed"},
    )
    last = Exchange(1, "GET /v1/session", 99.0, 100.0, 200)
    assert ("silent-at-the-end" in broken(LOGIN, FETCH, post, last)) == is_silent
    assert "late-posts" in broken(LOGIN, FETCH, post, late)


def test_a_second_run_needs_its_log_in() -> None:
    assert broken(LOGIN, LOGOUT, replace(LOGIN, started_s=101.0, ended_s=102.0)) == []


def test_it_says_how_often_when_first_and_the_first_problem() -> None:
    refused = replace(
        POST,
        status=422,
        answer={
            "code": "bad-rows",
            "problems": [{"line": 1, "problem": "no category 9"}],
        },
    )
    found = {
        one.name: one
        for one in Run([LOGIN, FETCH, refused, refused, POST, LOGOUT]).judge()
    }["rows-refused"]
    assert found.result == "FAULT"
    assert found.count == 2
    assert found.first_s == 3.0
    assert (
        found.detail
        == "2 x, first at 3.0 s: the referee accepts no row of a refused body. no category 9"
    )


def test_who_waited_for_whom() -> None:
    beside = replace(FETCH, connection=2, started_s=4.5, ended_s=6.0)
    run = Run([LOGIN, FETCH, POST, beside, LOGOUT])
    assert run.waited_s() == 4.0
    assert run.ended_s - run.opened_s == 99.0


def test_the_page_has_every_check_and_rule_in_order() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text()
    checks = [
        name[len("_check_") :].replace("_", "-")
        for name in vars(Checks)
        if name.startswith("_check_")
    ]
    hints = [
        f"{name}` | {severity.lower()}" for name, (severity, _, _) in RULES.items()
    ]
    assert re.findall(r"^\| `([a-z-]+)`", page, re.MULTILINE) == [*checks, *RULES]
    assert (
        re.findall(r"^\| `([a-z-]+` \| (?:fault|hint)) \|", page, re.MULTILINE) == hints
    )
    assert f"{len(checks)} checks" in page
    assert f"{len(hints)} rules" in page


def test_answers_of_a_task_are_posts_too_and_what_is_not_known_is_not_blamed() -> None:
    answers = replace(POST, route="POST /v1/answers", media_type="application/json")
    assert broken(LOGIN, FETCH, answers, LOGOUT) == []
    part = replace(answers, images=[1, 2])
    assert broken(LOGIN, FETCH, part, LOGOUT) == ["unanswered-images"]
    binary = replace(answers, images=[], media_type="application/x-tally")
    assert broken(LOGIN, FETCH, binary, LOGOUT) == []
    late = replace(answers, status=409, answer={"code": "window-closed"})
    assert "late-posts" in broken(LOGIN, FETCH, answers, late, LOGOUT)
