"""Images one by one and in batches: whole, in part, again, or only looked at; what was handed out is on record."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_testsets import load_test_set
from tests.contest_day import Day, Server, problem, until

BATCH = "/v1/images?first=1&count=6"


@pytest.fixture
def server(hall: Day) -> Server:
    assert hall.server is not None
    return hall.server


@pytest.fixture
def get(server: Server, token: str) -> Callable[..., requests.Response]:
    def ask(
        path: str,
        method: str = "GET",
        **headers: str,
    ) -> requests.Response:
        return server.ask(
            method,
            path,
            token,
            {name.replace("_", "-"): v for name, v in headers.items()},
        )

    return ask


def originals(day: Day, testset: Path) -> list[bytes]:
    images = load_test_set(testset)
    with day.store() as store:
        return [
            images.image_path(number).read_bytes()
            for number in store.runs.image_order(1).tolist()
        ]


def unpacked(answer: requests.Response) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("?first=1&count=6", range(1, 7)),
        ("?first=2&count=3", range(2, 5)),
        ("?count=2", range(1, 3)),
        ("?first=5", range(5, 7)),
        ("?first=6&count=1000", range(6, 7)),
        ("", range(1, 7)),
    ],
)
def test_a_batch_has_its_images_in_order_by_the_team_s_numbers(
    get: Any,
    hall: Day,
    tiny_set: Path,
    query: str,
    numbers: range,
) -> None:
    answer = get(f"/v1/images{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/zip"
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    files = originals(hall, tiny_set)
    assert unpacked(answer) == {f"{n}.jpg": files[n - 1] for n in numbers}
    assert list(unpacked(answer)) == [f"{n}.jpg" for n in numbers]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("first=7", 404, "image-unknown"),
        ("first=999999999999", 404, "image-unknown"),
        ("first=0", 400, "bad-request"),
        ("first=-1", 400, "bad-request"),
        ("first=x", 400, "bad-request"),
        ("first=", 400, "bad-request"),
        ("count=0", 400, "bad-request"),
        ("count=1001", 400, "bad-request"),
        ("count=" + "9" * 5000, 400, "bad-request"),
        ("first=1&first=2", 400, "bad-request"),
        ("&".join(f"x{n}=1" for n in range(100)), 400, "bad-request"),
        ("first=%EF%BC%91", 400, "bad-request"),
        ("first=1&count=2&x=3", 400, "bad-request"),
    ],
)
def test_a_batch_that_cannot_be_is_refused(
    get: Any,
    query: str,
    status: int,
    code: str,
) -> None:
    problem(get(f"/v1/images?{query}"), status, code)


def test_an_unknown_parameter_is_told_with_the_known_ones(
    get: Callable[..., requests.Response],
) -> None:
    told = problem(get("/v1/images?frist=3"), 400, "bad-request")["detail"]
    assert told == (
        "The query has the unknown parameter 'frist'; the parameters here are first, count. "
        "Did you mean 'first'?"
    )


def test_a_route_without_parameters_ignores_a_query(
    get: Callable[..., requests.Response],
) -> None:
    assert get("/v1/images/2?at=17").status_code == 200
    assert get("/v1/session?at=17").status_code == 200


@pytest.mark.parametrize("first", [0, 10**12])
def test_the_largest_number_that_is_told_of_can_be_asked_for(
    get: Callable[..., requests.Response], first: int
) -> None:
    told = problem(get(f"/v1/images?first={first}"), 400, "bad-request")["detail"]
    largest = int(told.rpartition(" ")[2].rstrip("."))
    assert get(f"/v1/images?first={largest}").status_code == 200
    problem(get(f"/v1/images?first={largest + 1}"), 404, "image-unknown")


@pytest.mark.parametrize("path", ["/v1/images/2", BATCH])
def test_head_tells_that_an_image_is_there_and_nothing_about_it(
    get: Any,
    path: str,
) -> None:
    head, other = (
        get(one, "HEAD")
        for one in (path, path.replace("2", "3").replace("count=6", "count=5"))
    )
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["Content-Type"] == get(path).headers["Content-Type"]
    varying = ("date", "x-window-remaining-ms")
    told = [
        {
            name.lower(): value
            for name, value in one.headers.items()
            if name.lower() not in varying
        }
        for one in (head, other)
    ]
    assert told[0] == told[1]
    assert "content-length" not in told[0]
    assert get("/v1/images/99", "HEAD").status_code == 404


def test_head_of_the_openapi_document_tells_its_length(get: Any) -> None:
    whole = get("/v1/openapi.json")
    head = get("/v1/openapi.json", "HEAD")
    assert head.content == b""
    assert int(head.headers["Content-Length"]) == len(whole.content)


@pytest.mark.parametrize(
    "conditions",
    [
        {"Range": "bytes=5-", "If_None_Match": "*"},
        {"Range": "bytes=0-0"},
        {"If_Modified_Since": "Fri, 01 Jan 2100 00:00:00 GMT"},
        {"If_Range": "x", "Range": "bytes=0-9"},
    ],
)
def test_a_conditional_request_or_one_for_a_range_is_answered_by_the_whole(
    get: Any,
    conditions: dict[str, str],
) -> None:
    for path in ("/v1/images/2", BATCH):
        told = get(path, **conditions)
        whole = get(path)
        assert told.status_code == 200
        assert told.content == whole.content
        assert not {"Accept-Ranges", "ETag", "Last-Modified"} & told.headers.keys()


def test_every_answer_within_a_run_tells_what_is_left_of_the_window(
    get: Any,
    server: Server,
    token: str,
) -> None:
    answers = [
        *(get("/v1/images/1", method) for method in ("GET", "HEAD", "POST", "DELETE")),
        *(
            get(path)
            for path in (
                BATCH,
                "/v1/images/99",
                "/v1/images?first=99",
                "/v1/session",
                "/v1/nothing",
            )
        ),
        server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": "text/plain"},
            data=b"no rows",
        ),
        server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": "image/png"},
            data=b"x",
        ),
        server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Idempotency-Key": "k" * 300},
            data=b"[]",
        ),
        server.ask("PUT", "/v1/session", token),
    ]
    left = [int(answer.headers["X-Window-Remaining-Ms"]) for answer in answers]
    assert sorted(left, reverse=True) == left
    assert all(0 < ms < 600_000 for ms in left)
    assert "X-Window-Remaining-Ms" not in server.ask("GET", "/v1/health").headers
    headers = server.ask("GET", "/v1/images/1", "nonsense").headers
    assert "X-Window-Remaining-Ms" not in headers


def test_no_answer_is_for_a_cache(get: Any) -> None:
    for path in (
        "/v1/images/1",
        BATCH,
        "/v1/session",
        "/v1/health",
        "/v1/images/99",
        "/v1/nothing",
    ):
        assert get(path).headers["Cache-Control"] == "no-store"


def test_what_was_handed_out_is_on_record_and_nothing_else(
    day: Callable[..., Day],
    tiny_set: Path,
) -> None:
    made = day()
    server = made.server
    assert server is not None
    token = made.login()["token"]
    sizes = [len(content) for content in originals(made, tiny_set)]
    batch = "/v1/images?first=2&count=3"
    for path in ("/v1/images/1", batch):
        server.ask("HEAD", path, token)
    for path in ("/image", "/zipimages"):
        head = server.ask("HEAD", path, data={"token": token, "image_name": "1"})
        assert head.status_code == 200
        assert ("Content-Length" in head.headers) is False
    assert server.ask("GET", "/v1/session", token).json()["images_served"] == 0
    for path in (batch, "/v1/images/6", "/v1/images/3"):
        server.ask("GET", path, token)
    assert server.ask("GET", "/v1/session", token).json()["images_served"] == 4
    server.ask("DELETE", "/v1/session", token)
    assert served(made) == [(number, sizes[number - 1]) for number in (2, 3, 4, 6, 3)]


def served(made: Day) -> list[tuple[int, int]]:
    with contextlib.closing(sqlite3.connect(made.folder / "contest.db")) as database:
        rows = database.execute(
            "SELECT image, bytes, elapsed_s FROM served WHERE run = 1 ORDER BY rowid"
        ).fetchall()
    assert all(0 < elapsed_s < 600 for _, _, elapsed_s in rows)
    return [(image, size) for image, size, _ in rows]


def test_a_closed_run_gives_nothing_and_says_that_nothing_is_left(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=2)
    assert made.server is not None
    token = made.login()["token"]
    until(lambda: made.run().closed_utc)
    for method, path in (
        ("GET", "/v1/images/1"),
        ("GET", BATCH),
        ("POST", "/v1/detections"),
        ("PUT", BATCH),
    ):
        answer = made.server.ask(
            method,
            path,
            token,
            data=b"[]" if method == "POST" else None,
        )
        assert answer.status_code == (405 if method == "PUT" else 409)
        assert answer.headers["X-Window-Remaining-Ms"] == "0"
    for method in ("GET", "DELETE"):
        answer = made.server.ask(method, "/v1/session", token)
        assert answer.status_code == 200
        assert answer.headers["X-Window-Remaining-Ms"] == "0"
