"""A run over HTTP: its window, its receipts, its meter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from lpirc_testsets import load_test_set, synthesize
from referee.store.records import RunState
from tests.contest_day import PASSWORD, ROWS, TEAM, Day, problem, until

LEFT = "X-Window-Remaining-Ms"


def test_log_in_opens_the_run_and_tells_all_a_client_needs(
    hall: Day,
    token: str,
) -> None:
    told = hall.login()
    assert told["token"] == token
    assert told["run"] == 1
    assert told["images"] == 6
    assert told["window_s"] == 600.0
    assert [set(one) for one in told["categories"]] == [{"id", "name"}] * 3
    assert 0 < told["remaining_s"] < 600


def test_every_answer_within_a_run_tells_less_time_left_than_the_one_before(
    hall: Day,
    token: str,
) -> None:
    assert hall.server is not None
    ask = hall.server.ask
    answers = [
        ask("POST", "/v1/session", json={"team": TEAM, "password": PASSWORD}),
        ask("GET", "/v1/session", token),
        ask("GET", "/v1/images/1", token),
        ask("GET", "/v1/images/99", token),
        hall.post(token),
        hall.post(token, [[1, 2]]),
        ask("POST", "/v1/detections", token, {"Content-Type": "image/png"}, data=b"x"),
    ]
    left = [int(answer.headers[LEFT]) for answer in answers]
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] < left[0] <= 600_000


def test_images_are_the_files_to_the_byte_in_the_run_s_own_order(
    hall: Day,
    token: str,
    tiny_set: Path,
) -> None:
    assert hall.server is not None
    images = load_test_set(tiny_set)
    with hall.store() as store:
        order = store.runs.image_order(1).tolist()
    assert sorted(order) == [1, 2, 3, 4, 5, 6]
    for number, original in enumerate(order, start=1):
        answer = hall.server.ask("GET", f"/v1/images/{number}", token)
        assert answer.headers["Content-Type"] == "image/jpeg"
        assert answer.content == images.image_path(original).read_bytes()


def test_a_receipt_counts_the_rows_and_names_the_hash_of_the_body(
    hall: Day,
    token: str,
) -> None:
    assert hall.server is not None
    before = hall.server.ask("GET", "/v1/session", token).json()["detections_accepted"]
    for body, kind in [
        (json.dumps(ROWS), "application/json"),
        ("", "text/plain"),
        ("[]", "application/json"),
    ]:
        answer = hall.server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": kind},
            data=body,
        )
        before += (accepted := 2 if len(body) > 2 else 0)
        assert answer.status_code == 202
        sha256 = hashlib.sha256(body.encode()).hexdigest()
        told = {
            key: value
            for key, value in answer.json().items()
            if key not in ("receipt", "log", "warnings")
        }
        assert told == {
            "accepted": accepted,
            "received_total": before,
            "sha256": sha256,
        }


def test_json_and_text_rows_mean_the_same(hall: Day, token: str) -> None:
    assert hall.server is not None
    rows = [
        [3, 2, 0.1, 1.5, 2e-3, 7, 8.25],
        [6, 1, 1e-17, 0, 0, 0, 0],
    ]
    bodies = [
        ("application/json; charset=utf-8", json.dumps(rows)),
        ("text/plain", "\n".join(" ".join(map(str, row)) for row in rows)),
        (
            "text/csv",
            "\r\n".join(", ".join(map(str, row)) for row in rows) + "\r\n\r\n",
        ),
    ]
    for kind, body in bodies:
        status_code = hall.server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": kind},
            data=body,
        ).status_code
        assert status_code == 202
    with hall.store() as store:
        stored = store.posts.detections(1)[-6:]
    assert np.array_equal(stored, np.array(rows * 3, dtype=np.float64))


def test_an_idempotency_key_gives_the_first_receipt_again_and_counts_once(
    hall: Day,
    token: str,
) -> None:
    first = hall.post(token, key="once")
    hall.post(token)
    assert hall.post(token, key="once").json() == first.json()
    problem(hall.post(token, [], key="once"), 409, "key-reused")


def test_a_second_log_in_is_the_same_session_with_less_time(
    hall: Day,
    token: str,
) -> None:
    first = hall.login()
    second = hall.login()
    assert (
        (second["token"], second["run"]) == (first["token"], first["run"]) == (token, 1)
    )
    assert second["remaining_s"] < first["remaining_s"]


def test_the_session_counts_what_was_served_and_taken(hall: Day, token: str) -> None:
    assert hall.server is not None
    hall.server.ask("GET", "/v1/images/2", token)
    hall.server.ask("GET", "/v1/images/2", token)
    shown = hall.server.ask("GET", "/v1/session", token).json()
    assert shown["run"] == 1
    assert shown["phase"] == "open"
    assert 1 <= shown["images_served"] <= 6


def test_a_team_with_no_free_station_is_told_so(hall: Day, token: str) -> None:
    assert hall.server is not None
    answer = hall.server.ask(
        "POST",
        "/v1/session",
        json={"team": "dog", "password": PASSWORD},
    )
    assert token
    problem(answer, 409, "station-busy")


def test_the_deadline_closes_the_run_with_nobody_asking(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=2)
    token = made.login()["token"]
    assert made.post(token).status_code == 202
    until(lambda: made.runs(RunState.CLOSED))
    run = made.run()
    assert run.closed_by == "deadline"
    assert run.elapsed_s == 2.0
    assert run.energy_wh == pytest.approx(36 * 2 / 3600, rel=0.01)
    assert run.integrator_s == pytest.approx(2.0, abs=1.0)
    refuse_everything(made, token, accepted=2)


def test_logout_closes_the_run_and_a_new_log_in_is_a_new_run(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    made.post(token)
    told = made.server.ask("DELETE", "/v1/session", token).json()
    assert told["phase"] == "closed"
    assert told["detections_accepted"] == 2
    assert 0 < told["elapsed_s"] < 600
    assert told["energy_wh"] >= 0
    again = made.server.ask("DELETE", "/v1/session", token)
    assert again.status_code == 200
    assert again.json() == told
    refuse_everything(made, token, accepted=2)
    other = made.login()
    assert other["run"] == 2
    assert other["token"] != token
    refuse_everything(made, token, accepted=2)


def test_a_closed_run_says_how_many_images_it_was_served(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    for number in (1, 2, 2):
        made.server.ask("GET", f"/v1/images/{number}", token)
    made.server.ask("DELETE", "/v1/session", token)
    shown = [made.server.ask("GET", "/v1/session", token).json() for _ in range(3)]
    assert [(one["phase"], one["images_served"]) for one in shown] == [
        ("closed", 2)
    ] * 3
    assert made.refers("run", "void", "1", "--reason", "test").returncode == 0
    assert made.server.ask("GET", "/v1/session", token).json()["phase"] == "void"


def refuse_everything(made: Day, token: str, accepted: int) -> None:
    """After the end there is only the session to be looked at."""
    assert made.server is not None
    problem(made.post(token), 409, "window-closed")
    problem(made.server.ask("GET", "/v1/images/1", token), 409, "window-closed")
    shown = made.server.ask("GET", "/v1/session", token)
    assert shown.status_code == 200
    assert shown.json()["remaining_s"] == 0.0
    assert shown.json()["detections_accepted"] == accepted


def test_a_body_that_ends_after_the_deadline_is_too_late(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=2)
    assert made.server is not None
    token = made.login()["token"]
    body = b"[[1, 1, 0.5, 0, 0, 5, 5]]"

    def slowly() -> list[bytes]:
        return [body[:10], body[10:]]

    class Slow:
        """A body whose second half comes only when the run is closed."""

        def __len__(self) -> int:
            return len(body)

        def __iter__(self) -> object:
            first, second = slowly()
            yield first
            until(lambda: made.runs(RunState.CLOSED))
            yield second

    answer = made.server.ask(
        "POST",
        "/v1/detections",
        token,
        {"Content-Type": "application/json"},
        data=Slow(),
    )
    problem(answer, 409, "window-closed")
    with made.store() as store:
        assert store.posts.count_detections(1) == 0


def test_log_ins_at_the_same_moment_open_one_run(day: Callable[..., Day]) -> None:
    made = day()
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: made.login(), range(8)))
    assert len({(one["token"], one["run"]) for one in told}) == 1
    assert [run.id for run in made.runs(RunState.OPEN)] == [1]


def test_a_body_sent_many_times_at_once_with_one_key_counts_once(
    hall: Day,
    token: str,
) -> None:
    with hall.store() as store:
        before = store.posts.count_detections(1)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: hall.post(token, key="at once"), range(8)))
    assert {
        (answer.status_code, answer.json()["received_total"]) for answer in answers
    } == {(202, before + len(ROWS))}
    with hall.store() as store:
        assert store.posts.count_detections(1) == before + len(ROWS)


def test_what_is_acknowledged_around_the_end_is_counted_and_nothing_else(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    busy = Barrier(5)

    def post_until_closed(_: int) -> int:
        accepted = made.post(token).json()["accepted"]
        busy.wait()
        while (answer := made.post(token)).status_code == 202:
            accepted += answer.json()["accepted"]
        problem(answer, 409, "window-closed")
        return int(accepted)

    with ThreadPoolExecutor(4) as pool:
        totals = pool.map(post_until_closed, range(4))
        busy.wait()
        closed = made.server.ask("DELETE", "/v1/session", token).json()
        acknowledged = sum(totals)
    assert closed["detections_accepted"] == acknowledged
    with made.store() as store:
        assert len(store.posts.detections(1)) == acknowledged


def test_a_dead_meter_opens_no_window_and_a_living_one_does(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    made.meter.kill()
    answer = made.server.ask(
        "POST",
        "/v1/session",
        json={"team": TEAM, "password": PASSWORD},
    )
    told = answer.json()
    problem(answer, 503, told["code"])
    assert told["code"].startswith("meter-")
    assert made.runs(RunState.OPEN) == []
    made.revive_meter()
    opened = made.login()
    assert opened["remaining_s"] > 598
    assert made.run(opened["run"]).state is RunState.OPEN


def test_an_image_file_that_changes_while_it_is_being_served_changes_nothing_that_is_served(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    images = synthesize(
        tmp_path / "set",
        images=3,
        categories=2,
        seed=1,
        size=(96, 64),
    )
    made = day(testset=images.folder)
    assert made.server is not None
    token = made.login()["token"]
    with made.store() as store:
        order = store.runs.image_order(1).tolist()
    before = [images.image_path(original).read_bytes() for original in order]
    assert made.server.ask("GET", "/v1/images/1", token).status_code == 200
    until(
        lambda: (
            made.server
            and made.server.ask("HEAD", "/v1/images?count=3", token).status_code == 200
        )
    )
    images.image_path(order[0]).write_bytes(before[1])
    images.image_path(order[1]).unlink()
    assert [
        made.server.ask("GET", f"/v1/images/{n}", token).content for n in (1, 2, 3)
    ] == before


def test_a_body_sent_again_after_the_run_has_closed_gets_its_receipt_again(
    day: Callable[..., Day],
) -> None:
    made = day()
    token = made.login()["token"]
    first = made.post(token, key="once")
    assert made.server is not None
    made.server.ask("DELETE", "/v1/session", token)
    again = made.post(token, key="once")
    assert again.status_code == 202
    assert again.json() == first.json()
    problem(made.post(token, [[1, 1, 0.5, 0, 0, 5, 5]], key="once"), 409, "key-reused")
    problem(made.post(token, key="twice"), 409, "window-closed")
    problem(made.post(token), 409, "window-closed")


def test_looking_at_the_head_of_an_image_does_not_count_as_having_it(
    day: Callable[..., Day],
) -> None:
    made = day()
    token = made.login()["token"]
    assert made.server is not None
    assert made.server.ask("HEAD", "/v1/images/1", token).status_code == 200
    assert made.server.ask("GET", "/v1/session", token).json()["images_served"] == 0


def test_a_run_of_a_part_of_the_images_knows_no_others(day: Callable[..., Day]) -> None:
    made = day(served=False)
    config = made.folder / "contest.toml"
    config.write_text("images = { per_attempt = 2 }\n" + config.read_text())
    server = made.serve()
    login = made.login()
    token = login["token"]
    assert login["images"] == 2
    problem(server.ask("GET", "/v1/images/3", token), 404, "image-unknown")
    problem(made.post(token, [[3, 1, 0.5, 0, 0, 5, 5]]), 422, "bad-rows")
    assert made.post(token, [[2, 1, 0.5, 0, 0, 5, 5]]).status_code == 202
    form = {
        "token": token,
        "image_name": "3",
        "CLASS_ID": "1",
        "confidence": "0.5",
    }
    server.ask(
        "POST",
        "/result",
        data=form | dict.fromkeys(("xmin", "ymin", "xmax", "ymax"), "5"),
    )
    assert server.ask("POST", "/no_of_images", data={"token": token}).text == "2"
    assert server.ask("DELETE", "/v1/session", token).json()["detections_accepted"] == 1
    judged = json.loads(made.refers("judge", "1", "--json").stdout)
    assert judged["images"] == 2
