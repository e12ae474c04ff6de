"""POST of answers of another task than boxes over a real socket: taken once, refused with reasons, kept by a kill."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_testsets import synthesize
from tests.contest_day import Day, contest_day, problem

JSON = {"Content-Type": "application/json"}
PACKED = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="session")
def class_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "classes"
    return synthesize(
        folder, images=6, categories=3, size=(96, 64), task="classification"
    ).folder


@pytest.fixture(scope="module")
def classes(
    tmp_path_factory: pytest.TempPathFactory,
    class_set: Path,
) -> Iterator[Day]:
    with contest_day(
        tmp_path_factory.mktemp("classes") / "contest",
        class_set,
        task="classification",
    ) as made:
        made.serve()
        yield made


@pytest.fixture(scope="module")
def opened(classes: Day) -> dict[str, Any]:
    """The log-in of the run of all tests; each answers other images."""
    return classes.login()


Send = Callable[..., requests.Response]


def sender(day: Day, token: str) -> Send:
    server = day.server
    assert server is not None

    def send(
        body: object, headers: dict[str, str] = JSON, path: str = "/v1/answers"
    ) -> requests.Response:
        data = body if isinstance(body, bytes) else json.dumps(body)
        return server.ask("POST", path, token, headers, data=data)

    return send


def test_a_log_in_says_what_is_answered_and_how(opened: dict[str, Any]) -> None:
    told = opened
    assert told["task"]["name"] == "classification"
    assert told["task"]["path"] == "/v1/answers"
    assert "text/csv" in told["task"]["content_types"]
    assert told["rules"]["task"] == "classification"


def test_answers_count_once_and_their_receipt_comes_again(
    classes: Day, opened: dict[str, Any]
) -> None:
    send = sender(classes, opened["token"])
    first = send([[1, [1, 2]], [2, 3]], JSON | {"Idempotency-Key": "a"})
    assert first.status_code == 202
    assert first.json()["accepted"] == 2
    again = send([[1, [1, 2]], [2, 3]], JSON | {"Idempotency-Key": "a"})
    assert again.json() == first.json()
    problem(send([[3, 1]], JSON | {"Idempotency-Key": "a"}), 409, "key-reused")
    refused = problem(send([[3, 1], [2, 3], [1, 1]]), 409, "answered-already")
    assert refused["images"] == [2, 1]
    assert "Image 2 was answered" in refused["detail"]
    packed = struct.pack("<6I", 3, 2, 1, 0, 0, 0)
    total = send(packed, PACKED)
    assert (total.status_code, total.json()["accepted"]) == (202, 1)
    bad = problem(send([[4, 9], [4, 1]]), 422, "bad-answers")
    assert bad["problems"][0] == {
        "line": 1,
        "image": 4,
        "problem": "the class 9 is not the id of a category of the set",
    }
    problem(send(b"x", {"Content-Type": "image/png"}), 415, "unsupported-media-type")
    problem(send([[1, 2, 3]]), 422, "bad-answers")


def test_of_many_at_once_one_answer_for_an_image_is_taken(
    classes: Day, opened: dict[str, Any]
) -> None:
    send = sender(classes, opened["token"])
    with ThreadPoolExecutor(8) as pool:
        codes = [
            one.status_code
            for one in pool.map(lambda number: send([[5, 1 + number % 3]]), range(16))
        ]
    assert sorted(codes) == [202] + [409] * 15


def test_the_path_of_the_other_task_says_where_to_send(
    classes: Day, opened: dict[str, Any], hall: Day, token: str
) -> None:
    send = sender(classes, opened["token"])
    refused = problem(
        send([[1, 1, 0.5, 0, 0, 5, 5]], path="/v1/detections"), 409, "other-task"
    )
    assert "POST them to /v1/answers" in refused["detail"]
    refused = problem(sender(hall, token)([[1, 1]]), 409, "other-task")
    assert "answers are boxes: POST them to /v1/detections" in refused["detail"]


def test_a_killed_server_knows_what_was_answered(
    tmp_path: Path, class_set: Path
) -> None:
    with contest_day(tmp_path / "day", class_set, task="classification") as day:
        day.serve()
        token = day.login()["token"]
        assert sender(day, token)([[1, 1]]).status_code == 202
        assert day.server is not None
        day.server.kill()
        day.serve()
        send = sender(day, token)
        problem(send([[1, 2]]), 409, "answered-already")
        assert send([[2, 2]]).json()["received_total"] == 2
