"""What the client says of a run's answers: detections in a contest of boxes, else the word of the task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lpirc_client.progress import JSON_INTERVAL_S, Lines, Progress
from lpirc_client.team_status import in_lines
from lpirc_client.wire import login_from

LOGIN: dict[str, Any] = {
    "token": "t",
    "run": 1,
    "images": 4,
    "window_s": 60,
    "remaining_s": 50,
    "categories": [],
}
RUN: dict[str, Any] = {
    "run": 1,
    "station": "one",
    "state": "judged",
    "void_reason": None,
    "images": 4,
    "images_served": 4,
    "images_answered": 4,
    "detections_accepted": 4,
    "posts": 1,
    "open": None,
    "result": {"score": 2.0, "rank": 1, "map": 0.5, "energy_wh": 0.25},
}
TEAM: dict[str, Any] = {
    "team": "ant",
    "contest": "day",
    "place_in_queue": None,
    "queued": 0,
    "attempts": {"used": 1, "of": None},
    "hides_news": False,
    "runs": [RUN],
    "refusals": [],
    "uploads": [],
    "questions": [],
    "answers": [],
}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (None, "detections"),
        ({"name": "counting", "answers": "counts"}, "counts"),
        ({"name": "counting"}, "answers"),  # of an earlier referee
    ],
)
def test_a_login_names_its_answers(task: dict[str, str] | None, words: str) -> None:
    assert login_from(LOGIN | {"task": task}).answers == words


def test_progress_says_the_word_and_its_json_stays_as_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(4, 4, 4, 9.0, "counts")
    Lines(0.0, as_json=False).update(progress)
    assert "4 of 4 images, 4 counts, 9 s left" in capsys.readouterr().err
    Lines(JSON_INTERVAL_S, as_json=True).update(progress)
    line = capsys.readouterr().err
    document = json.loads(line[line.index("{") :])
    assert document == {"images": 4, "of": 4, "detections": 4, "remaining_s": 9.0}


def test_the_status_of_boxes_and_of_a_task() -> None:
    said = "\n".join(in_lines(TEAM))
    assert "4 of 4 images answered, 4 detections in 1 posts" in said
    assert "score 2.0000, rank 1; mAP 0.50000, 0.2500 Wh" in said
    task = {"name": "counting", "accuracy": "closeness", "answers": "counts"}
    judged = RUN | {"result": RUN["result"] | {"others": {"exact": 0.25}}}
    said = "\n".join(in_lines(TEAM | {"task": task, "runs": [judged]}))
    assert "4 of 4 images answered, 4 counts in 1 posts" in said
    assert "rank 1; closeness 0.50000, exact 0.25000, 0.2500 Wh" in said
