"""The loop of a run: batches, the window's end, failures on either side, logging out."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lpirc_client.errors import AnswerError
from lpirc_client.progress import Reporter
from lpirc_client.run import Answer, ImageRun, Plan, Summary
from lpirc_client.session import Session
from tests.client.referee_double import PASSWORD, Referee, rows_of

POST = "POST /v1/detections"


def one_row(number: int, jpeg: bytes) -> Any:
    assert jpeg == b"jpeg %d" % number
    return [(7, 0.5, 1.0, 2.0, 3.0, 4.0)]


def failing_at(last: int) -> Answer:
    def answer(number: int, jpeg: bytes) -> Any:
        if number == last:
            raise AnswerError("detector-failed", f"image {number}: no")
        return one_row(number, jpeg)

    return answer


def leaving(referee: Referee, left_s: float, after: int) -> Answer:
    """Answer each image, and shorten the window once image `after` is there."""

    def answer(number: int, jpeg: bytes) -> Any:
        if number == after:
            referee.until(lambda: len(referee.rows) == number - 1)
            assert referee.opened_at is not None
            referee.window_s = time.monotonic() - referee.opened_at + left_s
        return one_row(number, jpeg)

    return answer


def go(
    referee: Referee,
    plan: Plan,
    answer: Answer = one_row,
    **options: Any,
) -> Summary:
    session = Session(referee.url, "alpha", PASSWORD, **options)
    try:
        session.open()
        return ImageRun(session, plan, lambda _: answer, Reporter()).go()
    finally:
        session.close()


def posted_images(referee: Referee) -> list[int]:
    return [int(row[0]) for row in referee.rows]


def bodies(referee: Referee) -> list[int]:
    """How many rows each body had."""
    return [len(rows_of(body)) for body in referee.posts]


def test_rows_go_out_by_batches_while_the_detector_works_and_the_run_is_logged_out(
    referee: Referee,
) -> None:
    def answer(number: int, jpeg: bytes) -> Any:
        # Those before are on their way by themselves.
        referee.until(lambda: len(referee.rows) >= (number - 1) // 2 * 2)
        return one_row(number, jpeg)

    summary = go(referee, Plan(), answer, batch=2)
    assert posted_images(referee) == [1, 2, 3, 4, 5]
    assert bodies(referee) == [2, 2, 1]
    assert summary.ended == "finished"
    assert summary.images == 5
    assert summary.detections == 5
    assert summary.logged_out is True
    assert summary.failure is None
    assert referee.phase == "closed"


def test_a_run_can_be_taken_up_at_any_image(referee: Referee) -> None:
    first = go(referee, Plan(limit=2), stay=True)
    assert first.ended == "finished"
    assert first.next_image == 3
    assert first.logged_out is False
    assert referee.phase == "open"
    go(referee, Plan(first=first.next_image))
    assert posted_images(referee) == [1, 2, 3, 4, 5]


def test_nothing_found_is_not_posted(referee: Referee) -> None:
    summary = go(referee, Plan(), lambda *_: [])
    assert summary.images == 5
    assert summary.detections == 0
    assert summary.ended == "finished"
    assert referee.requests[POST] == 0


def test_near_the_end_no_row_waits_for_its_batch(referee: Referee) -> None:
    referee.window_s = 4.0

    def answer(number: int, jpeg: bytes) -> Any:
        referee.until(lambda: len(referee.rows) == number - 1)
        return one_row(number, jpeg)

    go(referee, Plan(), answer, batch=100)
    assert bodies(referee) == [1, 1, 1, 1, 1]


def test_the_windows_end_is_a_normal_end(referee: Referee) -> None:
    summary = go(referee, Plan(), leaving(referee, 0.0, after=3), batch=1)
    assert summary.ended == "window-closed"
    assert summary.failure is None
    assert summary.logged_out is False
    assert summary.images == summary.detections == len(referee.rows) == 2
    assert summary.of == 5


def test_a_window_that_ends_before_the_logout_leaves_the_run_finished(
    referee: Referee,
) -> None:
    referee.faults["DELETE /v1/session"] = [(409, "window-closed")]
    summary = go(referee, Plan())
    assert summary.ended == "finished"
    assert summary.failure is None


@pytest.mark.parametrize("logs_out", [False, True])
def test_what_was_found_before_the_detector_failed_is_posted(
    referee: Referee,
    logs_out: bool,
) -> None:
    summary = go(referee, Plan(), failing_at(4), logout_on_error=logs_out)
    assert posted_images(referee) == [1, 2, 3]
    assert summary.ended == "failed"
    assert summary.images == 3
    assert summary.logged_out == logs_out
    assert summary.failure is not None
    assert summary.failure.code == "detector-failed"
    if not logs_out:
        go(referee, Plan(first=summary.next_image))
        assert posted_images(referee) == [1, 2, 3, 4, 5]


def test_a_bad_row_is_not_sent_and_named_with_image_row_and_value(
    referee: Referee,
) -> None:
    summary = go(
        referee,
        Plan(),
        lambda *_: [
            (7, 0.5, 1, 2, 3, 4),
            ("red-disc", 0.5, 1, 2, 3, 4),
        ],
    )
    assert summary.failure is not None
    assert (
        summary.failure.sentence
        == "image 1, row 2: category is the name 'red-disc'; expected its id, 7"
    )
    assert referee.requests[POST] == 0
    assert summary.logged_out is False
    assert summary.next_image == 1


def test_rows_that_the_referee_refuses_end_the_run(referee: Referee) -> None:
    referee.faults[POST] = [(422, "bad-rows")]
    summary = go(referee, Plan(), batch=1)
    assert summary.failure is not None
    assert summary.failure.code == "bad-rows"
    assert summary.logged_out is False
    assert summary.next_image == 1


def test_a_lost_referee_leaves_the_run_open(referee: Referee) -> None:
    referee.faults["GET /v1/images/3"] = ["drop-before"] * 1000
    summary = go(referee, Plan(fetch=1), leaving(referee, 0.3, after=2), batch=1)
    assert summary.ended == "failed"
    assert summary.images == 2
    assert summary.logged_out is False
    assert summary.failure is not None
    assert summary.failure.code == "connection-lost"


@pytest.mark.parametrize(
    ("plan", "numbers"),
    [
        (Plan(), [1, 2, 3]),
        (Plan(limit=9), [1, 2, 3]),
        (Plan(first=2, limit=1), [2]),
        (Plan(first=4), []),
    ],
)
def test_a_plan_names_its_images(plan: Plan, numbers: list[int]) -> None:
    assert list(plan.numbers(3)) == numbers


def test_a_short_run_lasts_as_long_as_it_must(referee: Referee) -> None:
    summary = go(referee, Plan(least_s=0.1))
    assert summary.logged_out
    assert summary.elapsed_s >= 0.1


@pytest.mark.parametrize(("least_s", "images"), [(0.0, 5), (1e-6, 3)])
def test_a_falling_score_ends_no_run_within_a_minute_or_the_least(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
    least_s: float,
    images: int,
) -> None:
    monkeypatch.setattr("lpirc_client.run.LOOK_S", 0.0)
    energies_wh = iter(range(1, 10))
    referee.provisional = lambda: released(next(energies_wh))
    assert go(referee, Plan(least_s=least_s, stop="best")).images == images


def released(
    energy_wh: float,
    state: str = "fresh",
    utc: str | None = None,
) -> dict[str, object]:
    figures = {
        "score": 1.0,
        "map": 0.5,
        "energy_wh": energy_wh,
        "age_s": 0.0,
        "figure_state": state,
    }
    return figures | {"utc": utc or str(energy_wh)}


@pytest.mark.parametrize(
    "shown",
    [{"state": "meter-away"}, {"state": "integrator-stopped"}, {"utc": "once"}],
)
def test_a_score_that_is_not_fresh_or_was_seen_before_decides_nothing(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
    shown: dict[str, str],
) -> None:
    monkeypatch.setattr("lpirc_client.run.LOOK_S", 0.0)
    energies_wh = iter(range(1, 10))
    referee.provisional = lambda: released(next(energies_wh), **shown)
    assert go(referee, Plan(least_s=1e-6, stop="best")).images == 5


def test_waiting_ends_with_the_window(referee: Referee) -> None:
    referee.window_s = 0.3
    assert go(referee, Plan(least_s=60)).elapsed_s < 30


def test_the_first_warnings_of_a_run_are_shown_once(
    referee: Referee,
    capsys: pytest.CaptureFixture[str],
) -> None:
    referee.warnings = ["1 of 2 boxes lie\noutside.", "Another."]
    go(referee, Plan(), batch=1)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "1 of 2 boxes lie outside. Another." in told


def test_a_refused_look_at_the_provisional_score_ends_no_run(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.run.LOOK_S", 0.0)
    referee.faults["GET /v1/session"] = [(429, "too-many-requests")] * 5
    summary = go(referee, Plan(stop="best"))
    assert summary.ended == "finished"
    assert summary.images == 5
    assert summary.stop is None
    assert referee.requests["GET /v1/session"] == 5
