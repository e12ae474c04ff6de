"""The library: a run in a few lines, whatever the detector, the window or the connection does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lpirc_client.errors import ClientError
from lpirc_client.session import Session
from lpirc_client.timeline import DETECTING, Timeline
from tests.client.referee_double import PASSWORD, Referee

FOUND = (7, 0.5, 1.0, 2.0, 3.0, 4.0)
POST = "POST /v1/detections"


def opened(referee: Referee, **options: object) -> Session:
    return Session(referee.url, "alpha", PASSWORD, **options)  # type: ignore[arg-type]


def numbers_of(referee: Referee) -> list[int]:
    return [int(row[0]) for row in referee.rows]


def test_a_run_in_three_lines(referee: Referee) -> None:
    with opened(referee) as session:
        for image in session.images(prefetch=2):
            session.post(image.number, [FOUND])
    assert numbers_of(referee) == [1, 2, 3, 4, 5]
    assert referee.phase == "closed"
    assert session.logged_out is True
    assert session.images_posted == 5
    assert session.detections_posted == 5


def test_images_may_be_asked_for_and_answered_in_any_order_and_as_arrays(
    referee: Referee,
) -> None:
    with opened(referee) as session:
        waiting = {image.number for image in session.images([4, 2, 3])}
        for number in sorted(waiting):
            session.post(number, np.array([FOUND, FOUND]))
    assert numbers_of(referee) == [2, 2, 3, 3, 4, 4]


def test_categories_that_a_float32_does_not_hold_go_out_as_json(
    referee: Referee,
) -> None:
    referee.categories = [{"id": 2**24 + 1, "name": "fine"}]
    with opened(referee) as session:
        session.post(1, [(2**24 + 1, *FOUND[1:])])
    assert referee.rows == [[1, 2**24 + 1, *FOUND[1:]]]


def test_flush_returns_when_every_row_is_on_the_referees_disk(referee: Referee) -> None:
    with opened(referee, batch=100) as session:
        session.post(3, [FOUND])
        session.flush()
        assert numbers_of(referee) == [3]


@pytest.mark.parametrize("logs_out", [False, True])
def test_an_exception_posts_what_was_found_and_leaves_the_run_open_unless_told_otherwise(
    referee: Referee,
    logs_out: bool,
) -> None:
    def broken_off() -> None:
        with opened(referee, logout_on_error=logs_out) as session:
            for image in session.images():
                session.post(image.number, [FOUND])
                if image.number == 3:
                    raise OSError("camera")

    with pytest.raises(OSError, match="camera"):
        broken_off()
    assert numbers_of(referee) == [1, 2, 3]
    assert referee.phase == ("closed" if logs_out else "open")


def test_the_end_of_the_window_ends_the_images_and_is_not_a_failure(
    referee: Referee,
) -> None:
    referee.faults["GET /v1/images?first=3&count=2"] = [(409, "window-closed")]
    with opened(referee) as session:
        came = [image.number for image in session.images(prefetch=2)]
    assert came == [1, 2]
    assert session.is_closed is True
    assert session.logged_out is False


def test_a_post_after_the_window_ends_the_block(referee: Referee) -> None:
    referee.faults[POST] = [(409, "window-closed")]
    with opened(referee) as session:
        session.post(1, [FOUND])
        session.flush()
        pytest.fail("it goes on after the window")
    assert session.is_closed


def test_a_refused_post_is_raised_at_the_next_one(referee: Referee) -> None:
    referee.faults[POST] = [(422, "bad-rows")]

    def refused() -> None:
        with opened(referee, batch=1) as session:
            session.post(1, [FOUND])
            referee.until(lambda: referee.requests[POST] == 1)
            session.flush()

    with pytest.raises(ClientError) as caught:
        refused()
    assert caught.value.code == "bad-rows"
    assert referee.phase == "open"


def test_while_a_post_is_on_its_way_the_detector_goes_on_and_the_next_body_gathers(
    referee: Referee,
) -> None:
    go_on = threading.Event()
    taken = []
    plain = referee.take

    def slowly(headers: object, body: bytes) -> tuple[int, dict[str, object]]:
        taken.append(len(body) // 28)
        assert go_on.wait(15)
        return plain(headers, body)

    referee.take = slowly  # type: ignore[method-assign]
    with opened(referee, batch=1) as session:
        for image in session.images():
            session.post(image.number, [FOUND])
            if image.number == 1:
                referee.until(lambda: taken)
        go_on.set()
    assert taken == [1, 4]
    assert numbers_of(referee) == [1, 2, 3, 4, 5]


def test_many_rows_go_out_in_several_bodies_and_no_more_than_two_of_them_wait(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.outbox.MOST_ROWS", 4)
    go_on = threading.Event()
    put = []
    plain = referee.take

    def slowly(headers: object, body: bytes) -> tuple[int, dict[str, object]]:
        assert go_on.wait(15)
        return plain(headers, body)

    referee.take = slowly  # type: ignore[method-assign]

    def work(session: Session) -> None:
        for number in (1, 2, 3, 4):
            session.post(number, [FOUND] * 9)
            put.append(number)

    with opened(referee, batch=1) as session:
        worker = threading.Thread(target=work, args=(session,))
        worker.start()
        referee.until(lambda: referee.requests[POST] == 1)
        worker.join(0.2)
        waiting = len(put)
        go_on.set()
        worker.join(15)
    assert waiting <= 2
    assert numbers_of(referee) == [1] * 9 + [2] * 9 + [3] * 9 + [4] * 9
    assert max(len(body) for body in referee.posts) == 4 * 28


def test_a_session_that_is_not_open_says_so(referee: Referee) -> None:
    with pytest.raises(ClientError, match="not open"):
        opened(referee).post(1, [])
    with pytest.raises(ClientError, match="not open"):
        next(opened(referee).images())


def test_a_timeline_is_a_chrome_trace_with_each_image(
    referee: Referee,
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace.json"
    with opened(referee, timeline=Timeline(path)) as session:
        for image in session.images(prefetch=2):
            threading.Event().wait(0.01)  # the detector's time
            session.post(image.number, [FOUND])
    events = [event for event in json.loads(path.read_text()) if event]
    assert {event["name"] for event in events} == {
        "waiting",
        "detecting",
        "posting",
        "fetch",
        "send",
    }
    assert [
        event["args"]["image"] for event in events if event["name"] == "detecting"
    ] == [1, 2, 3, 4, 5]
    assert all(
        event["ts"] >= 0 and event["dur"] >= 0 and event["ph"] == "X"
        for event in events
    )
    detecting_us = sum(event["dur"] for event in events if event["name"] == "detecting")
    detecting_s = session.timeline.report()["detecting_s"]
    assert 0.05 <= detecting_s == pytest.approx(detecting_us / 1e6, abs=0.001)


def test_the_time_of_a_generator_is_that_of_the_detector(referee: Referee) -> None:
    def detect() -> Iterator[tuple[float, ...]]:
        until_s = time.perf_counter() + 0.01
        while time.perf_counter() < until_s:
            pass
        yield FOUND

    with opened(referee) as session:
        for image in session.images():
            session.post(image.number, detect())
    assert session.timeline.sums_s[DETECTING] >= 5 * 0.01


def test_a_timeline_that_cannot_be_written_is_said_before_the_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(ClientError, match="cannot be written: Is a directory"):
        Timeline(tmp_path)


def test_a_timeline_on_a_full_disk_ends_and_the_run_does_not(
    referee: Referee,
    capsys: pytest.CaptureFixture[str],
) -> None:
    timeline = Timeline(Path("/dev/full"))
    with opened(referee, timeline=timeline) as session:
        for _ in range(2):
            for image in session.images():
                for _ in range(20):
                    session.post(image.number, [FOUND])
    assert referee.phase == "closed"
    assert (
        capsys.readouterr().err.count(
            "nothing more is written: No space left on device"
        )
        == 1
    )


def test_rows_do_not_wait_for_a_detector_that_is_busy_until_the_window_ends(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.outbox.URGENT_S", 59.9)
    with opened(referee, batch=100) as session:
        session.post(1, [FOUND])
        # Neither a flush nor another post.
        referee.until(lambda: numbers_of(referee) == [1])


def test_a_body_has_whole_images_so_what_was_accepted_before_a_refusal_is_counted(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.outbox.MOST_ROWS", 4)
    go_on = threading.Event()
    plain = referee.take
    answers = []

    def second_refused(headers: object, body: bytes) -> tuple[int, dict[str, object]]:
        assert go_on.wait(15)
        answers.append(len(body) // 28)
        return (
            referee.problem(422, "bad-rows")
            if len(answers) > 1
            else plain(headers, body)
        )

    referee.take = second_refused  # type: ignore[method-assign]
    session = opened(referee, batch=100)
    session.open()
    try:
        for number in (1, 2, 3):
            session.post(number, [FOUND] * 2)
        threading.Timer(0.05, go_on.set).start()
        with pytest.raises(ClientError, match="bad-rows"):
            session.flush()
    finally:
        session.close()
    assert answers == [4, 2]
    assert session.images_posted == 2
    assert session.detections_posted == 4
    assert numbers_of(referee) == [1, 1, 2, 2]


def test_an_image_with_more_rows_than_a_body_takes_is_counted_once(
    referee: Referee,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_client.outbox.MOST_ROWS", 2)
    with opened(referee) as session:
        session.post(1, [])
        session.post(2, [FOUND] * 5)
    assert session.images_posted == 2
    assert session.detections_posted == 5
    assert [len(body) // 28 for body in referee.posts] == [2, 2, 1]


def test_a_refused_post_is_logged_out_where_that_is_wanted(referee: Referee) -> None:
    referee.faults[POST] = [(422, "bad-rows")]
    with (
        pytest.raises(ClientError, match="bad-rows"),
        opened(referee, logout_on_error=True) as session,
    ):
        session.post(1, [FOUND])
    assert referee.phase == "closed"


def test_finishing_twice_logs_out_once(referee: Referee) -> None:
    with opened(referee) as session:
        session.finish()
        session.finish()
    assert session.logged_out is True
    assert session.is_closed is False
    assert referee.requests["DELETE /v1/session"] == 1


@pytest.mark.parametrize("number", [0, 6])
def test_rows_of_an_image_that_there_is_not_are_not_sent_with_the_others(
    referee: Referee,
    number: int,
) -> None:
    with opened(referee, stay=True) as session:
        session.post(5, [FOUND])
        with pytest.raises(
            ClientError,
            match=f"image {number}: there is no such image; `images` has the numbers 1 to 5",
        ):
            session.post(number, [FOUND])
    assert numbers_of(referee) == [5]


def test_abandoned_images_end_with_the_session(referee: Referee) -> None:
    with opened(referee) as session:
        images = session.images(prefetch=1)
        assert next(images).number == 1
    feeds = [thread for thread in threading.enumerate() if thread.name == "feed"]
    for thread in feeds:
        thread.join(15)
    assert not any(thread.is_alive() for thread in feeds)
    assert list(images) == []


def test_rows_come_from_several_threads_and_for_images_of_any_iterable(
    referee: Referee,
) -> None:
    with opened(referee, batch=3) as session:
        found = list(session.images(iter((2, 5))))
        threads = [
            threading.Thread(
                target=lambda: [session.post(n, [FOUND]) for n in range(1, 6)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {image.number for image in found} == {2, 5}
    assert sorted(numbers_of(referee)) == sorted([1, 2, 3, 4, 5] * 4)
    assert session.images_posted == 20


def test_a_connection_that_breaks_before_the_login_is_made_again(
    referee: Referee,
) -> None:
    referee.faults["GET /v1/health"] = ["drop-before", "drop-before"]
    with opened(referee) as session:
        session.post(1, [FOUND])
    assert session.logged_out


def test_what_speaks_another_protocol_is_told_with_the_scheme_to_try(
    referee: Referee,
) -> None:
    referee.faults["GET /v1/health"] = ["drop-before"] * 100
    with pytest.raises(ClientError, match=r"does it speak TLS\? Write https://"):
        opened(referee).open()
    with pytest.raises(ClientError, match=r"does it speak plain HTTP\? Write http://"):
        Session(referee.url.replace("http:", "https:"), "alpha", PASSWORD).open()
