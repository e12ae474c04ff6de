"""The lines of `lpirc-client status`: all that the document tells, nothing that steers a terminal."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from lpirc_client.errors import ClientError, printable
from lpirc_client.http_errors import read_document
from lpirc_client.team_status import in_lines

RUN: dict[str, Any] = {
    "run": 3,
    "station": "one",
    "state": "judged",
    "void_reason": None,
    "images_served": 90,
    "images": 100,
    "detections_accepted": 1234,
    "posts": 9,
    "result": None,
    "open": None,
}
VIEW: dict[str, Any] = {
    "team": "alpha",
    "contest": "LPIRC",
    "place_in_queue": 2,
    "queued": 5,
    "attempts": {"used": 1, "of": 3},
    "hides_news": False,
    "runs": [],
    "refusals": [],
    "uploads": [],
    "questions": [],
    "answers": [],
}


def lines_of(**changed: Any) -> list[str]:
    return [printable(line) for line in in_lines(VIEW | changed)][2:]


def test_the_first_lines_say_who_where_and_what_is_left() -> None:
    assert [*in_lines(VIEW)] == [
        "alpha at LPIRC",
        "queue: 2 of 5; attempts used: 1 of 3",
    ]
    assert "frozen" in lines_of(hides_news=True)[0]


def test_a_run_has_its_figures_or_the_reason_why_it_has_no_rank() -> None:
    result = {"score": 0.1234567, "map": 0.25, "energy_wh": 2.0, "rank": 1}
    assert lines_of(runs=[RUN | {"result": result}]) == [
        "run 3 at one: judged; 90 of 100 images, 1234 detections in 9 posts",
        "  score 0.1235, rank 1; mAP 0.25000, 2.0000 Wh",
    ]
    unranked = result | {"rank": None, "not_ranked": "it is in review"}
    assert lines_of(runs=[RUN | {"result": unranked}])[-1] == (
        "  not ranked: it is in review"
    )
    left_out = RUN | {"result": {"left_out": "it has no score"}}
    assert lines_of(runs=[left_out])[-1] == "  left out: it has no score"
    void = RUN | {"state": "void", "void_reason": "the board fell"}
    assert lines_of(runs=[void])[0].startswith("run 3 at one: void: the board fell;")


def test_an_open_run_has_its_time_and_what_the_meter_says_if_that_is_told() -> None:
    opened: dict[str, Any] = {
        "remaining_s": 59.6,
        "warnings": ["pixels"],
        "figures": None,
    }
    assert lines_of(runs=[RUN | {"open": opened}])[1:] == [
        "  60 s left",
        "  warning: pixels",
    ]
    opened["figures"] = {"power_w": 36.0, "energy_wh": None}
    assert "  36.00 W, 0.0000 Wh so far" in lines_of(runs=[RUN | {"open": opened}])


def test_refusals_uploads_and_questions_each_have_a_line_and_no_control_sequence() -> (
    None
):
    refusal = {"count": 2, "status": 422, "code": "bad-rows", "sentence": "No.\x1b[2J"}
    question = {"text": "Why?\nWhen?", "answer": None}
    shared = {"question": "Where?", "answer": "Here.\nThere."}
    upload = {"file": "a.tflite", "state": "refused", "reason": "too large"}
    assert lines_of(
        refusals=[refusal],
        uploads=[upload, {"state": "scored"}],
        questions=[question],
        answers=[shared],
    ) == [
        "refused 2 times: 422 bad-rows: No. [2J",
        "upload a.tflite: refused: too large",
        "upload : scored",
        "question: Why?",
        "When?",
        "  no answer yet",
        "question of another team: Where?",
        "  answer: Here.",
        "  There.",
    ]


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"team": 1}', b"<html>", b'{"team": "a", "contest": "b"}']
)
def test_what_is_no_such_document_is_no_referee_s(body: bytes) -> None:
    answer = requests.Response()
    answer.status_code = 200
    answer.url = "http://referee/v1/team"
    answer._content = body  # noqa: SLF001 - no other way to make one
    with pytest.raises(ClientError) as refused:
        read_document(answer, 200, lambda document: [*in_lines(document)])
    assert refused.value.code == "not-a-referee"
