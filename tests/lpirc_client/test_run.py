"""The loop of a run: batches, the window's end, failures on either side, logging out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

import pytest

from lpirc_client.errors import AnswerError
from lpirc_client.progress import Reporter
from lpirc_client.run import Answer, ImageRun, Plan, Summary
from lpirc_client.session import Session
from lpirc_client.wire import Row
from tests.lpirc_client.referee_double import PASSWORD, Referee

POST = "POST /v1/detections"


def one_row(number: int, jpeg: bytes) -> Iterable[Row]:
    assert jpeg == b"jpeg %d" % number
    return [(number, 7, 0.5, 1.0, 2.0, 3.0, 4.0)]


def failing_at(last: int) -> Answer:
    def answer(number: int, jpeg: bytes) -> Iterable[Row]:
        if number == last:
            raise AnswerError("detector-failed", f"image {number}: no")
        return one_row(number, jpeg)

    return answer


def leaving(referee: Referee, left_s: float, after: int) -> Answer:
    """Answer each image, and shorten the window once image `after` is there."""

    def answer(number: int, jpeg: bytes) -> Iterable[Row]:
        if number == after:
            assert referee.opened_at is not None
            referee.window_s = time.monotonic() - referee.opened_at + left_s
        return one_row(number, jpeg)

    return answer


def go(referee: Referee, plan: Plan, answer: Answer = one_row) -> Summary:
    with Session(referee.url) as session:
        login = session.login("alpha", PASSWORD)
        return ImageRun(session, login, plan, lambda _: answer, Reporter()).go()


def posted_images(referee: Referee) -> list[list[int]]:
    return [[row[0] for row in json.loads(body)] for body in referee.posts]


def test_rows_go_out_by_batches_and_the_run_is_logged_out(referee: Referee) -> None:
    summary = go(referee, Plan(batch=2))
    assert posted_images(referee) == [[1, 2], [3, 4], [5]]
    assert (summary.ended, summary.images, summary.detections, summary.logged_out) == ("finished", 5, 5, True)
    assert summary.failure is None
    assert referee.phase == "closed"


def test_a_run_can_be_taken_up_at_any_image(referee: Referee) -> None:
    first = go(referee, Plan(limit=2, stay=True))
    assert (first.ended, first.next_image, first.logged_out, referee.phase) == ("finished", 3, False, "open")
    go(referee, Plan(first=first.next_image))
    assert posted_images(referee) == [[1, 2], [3, 4, 5]]


def test_nothing_found_is_not_posted(referee: Referee) -> None:
    summary = go(referee, Plan(), lambda *_: [])
    assert (summary.images, summary.detections, summary.ended) == (5, 0, "finished")
    assert referee.requests[POST] == 0


def test_near_the_end_no_row_waits_for_its_batch(referee: Referee) -> None:
    referee.window_s = 4.0
    go(referee, Plan(batch=100))
    assert posted_images(referee) == [[1], [2], [3], [4], [5]]


def test_the_windows_end_is_a_normal_end(referee: Referee) -> None:
    summary = go(referee, Plan(batch=1), leaving(referee, 0.0, after=3))
    assert (summary.ended, summary.failure, summary.logged_out) == ("window-closed", None, False)
    assert summary.images == summary.detections == len(referee.rows) == 2
    assert summary.of == 5


def test_a_window_that_ends_before_the_logout_leaves_the_run_finished(referee: Referee) -> None:
    referee.faults["DELETE /v1/session"] = [(409, "window-closed")]
    summary = go(referee, Plan())
    assert (summary.ended, summary.failure) == ("finished", None)


def test_what_was_found_before_the_detector_failed_is_posted(referee: Referee) -> None:
    summary = go(referee, Plan(), failing_at(4))
    assert posted_images(referee) == [[1, 2, 3]]
    assert (summary.ended, summary.images, summary.logged_out) == ("failed", 3, True)
    assert summary.failure is not None
    assert summary.failure.code == "detector-failed"


def test_refused_rows_end_the_run(referee: Referee) -> None:
    summary = go(referee, Plan(batch=1), lambda n, _: [(n, 9, 0.5, 1, 2, 3, 4)])
    assert summary.failure is not None
    assert summary.failure.code == "bad-rows"
    assert summary.logged_out


def test_a_lost_referee_leaves_the_run_open(referee: Referee) -> None:
    referee.faults["GET /v1/images/3"] = ["drop-before"] * 1000
    summary = go(referee, Plan(batch=1), leaving(referee, 0.3, after=2))
    assert (summary.ended, summary.images, summary.logged_out) == ("failed", 2, False)
    assert summary.failure is not None
    assert summary.failure.code == "connection-lost"


@pytest.mark.parametrize(
    ("plan", "numbers"),
    [(Plan(), [1, 2, 3]), (Plan(limit=9), [1, 2, 3]), (Plan(first=2, limit=1), [2]), (Plan(first=4), [])],
)
def test_a_plan_names_its_images(plan: Plan, numbers: list[int]) -> None:
    assert list(plan.numbers(3)) == numbers


def test_a_short_run_lasts_as_long_as_it_must(referee: Referee) -> None:
    summary = go(referee, Plan(least_s=0.1))
    assert summary.logged_out
    assert summary.elapsed_s >= 0.1


def test_waiting_ends_with_the_window(referee: Referee) -> None:
    referee.window_s = 0.3
    assert go(referee, Plan(least_s=60)).elapsed_s < 30


def test_the_first_warnings_of_a_run_are_shown_once(
    referee: Referee, capsys: pytest.CaptureFixture[str]
) -> None:
    referee.warnings = ["1 of 2 boxes lie\noutside.", "Another."]
    go(referee, Plan(batch=1))
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "1 of 2 boxes lie outside. Another." in told
