"""POST of detections over a real socket: four kinds of bodies, many at once, and a kill in their midst."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contest_day import (
    ROWS,
    TIMEOUT_S,
    Day,
    Server,
    is_running,
    problem,
    until,
    workers_of,
)
from tests.scoring.detections.detection_bodies import FORM, PACKED, TEXT, bodies, form

CLIENTS = 8


class Client:
    """One kept connection that posts text until it is told to stop or the server is gone."""

    def __init__(
        self,
        server: Server,
        token: str,
        number: int,
    ) -> None:
        self.number = number
        self.acknowledged: dict[str, dict[str, object]] = {}
        self._server = server
        self._token = token

    def post_until(self, enough: threading.Event) -> None:
        connection = http.client.HTTPConnection(
            self._server.host,
            self._server.port,
            timeout=TIMEOUT_S,
        )
        for i in range(100_000):
            if enough.is_set():
                break
            try:
                self._post(connection, f"{self.number}-{i}")
            except (OSError, http.client.HTTPException):
                break
        connection.close()

    def _post(
        self,
        connection: http.client.HTTPConnection,
        key: str,
    ) -> None:
        body = f"1 1 0.5 0 0 5 {len(self.acknowledged)}\n" * (1 + self.number)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": TEXT,
            "Idempotency-Key": key,
        }
        connection.request("POST", "/v1/detections", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 202, content
        self.acknowledged[key] = json.loads(content)


@pytest.fixture
def server(hall: Day) -> Server:
    assert hall.server is not None
    return hall.server


@pytest.mark.parametrize("kind", list(bodies(ROWS)))
def test_every_kind_of_body_is_stored_as_the_same_rows(
    hall: Day,
    server: Server,
    token: str,
    kind: str,
) -> None:
    body = bodies(ROWS)[kind]
    receipt = server.ask(
        "POST",
        "/v1/detections",
        token,
        {"Content-Type": kind},
        data=body,
    )
    assert receipt.status_code == 202, receipt.text
    assert receipt.json()["accepted"] == 2
    assert receipt.json()["sha256"] == hashlib.sha256(body).hexdigest()
    with hall.store() as store:
        found = store.posts.detections(1)
    assert len(found) == receipt.json()["received_total"]
    assert found[-2:].tolist() == ROWS


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        (PACKED, b"x" * 29, "bad-rows"),
        (PACKED, b"\xff" * 28, "bad-rows"),
        (FORM, form(ROWS)[:-9], "length-mismatch"),
        (FORM, form([[*ROWS[0][:6], "x"]]), "bad-rows"),
        (FORM, b"1 1 .5 0 0 5 5", "length-mismatch"),
    ],
)
def test_what_is_no_such_body_is_refused_whole(
    server: Server,
    token: str,
    kind: str,
    body: bytes,
    code: str,
) -> None:
    before = server.ask("GET", "/v1/session", token).json()["detections_accepted"]
    problem(
        server.ask("POST", "/v1/detections", token, {"Content-Type": kind}, data=body),
        422,
        code,
    )
    detections_accepted = server.ask("GET", "/v1/session", token).json()[
        "detections_accepted"
    ]
    assert detections_accepted == before


def test_totals_of_many_clients_are_exact(day: Callable[..., Day]) -> None:
    made = day()
    assert made.server is not None
    token = str(made.login()["token"])
    enough = threading.Event()
    clients = [Client(made.server, token, number) for number in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        posting = [pool.submit(client.post_until, enough) for client in clients]
        until(lambda: all(len(client.acknowledged) >= 20 for client in clients))
        enough.set()
        for one in posting:
            one.result()
    receipts = [
        receipt for client in clients for receipt in client.acknowledged.values()
    ]
    total = 0
    for receipt in sorted(receipts, key=lambda one: int(str(one["received_total"]))):
        total += int(str(receipt["accepted"]))
        assert receipt["received_total"] == total
    with made.store() as store:
        assert store.posts.count_detections(1) == total


@pytest.mark.parametrize("killed", ["worker", "server"])
def test_what_was_acknowledged_before_a_kill_is_on_disk(
    day: Callable[..., Day],
    killed: str,
) -> None:
    made = day()
    assert made.server is not None
    server = made.server
    token = str(made.login()["token"])
    clients = [Client(server, token, number) for number in range(CLIENTS)]
    workers = workers_of(server.pid)
    with ThreadPoolExecutor(CLIENTS) as pool:
        posting = [
            pool.submit(client.post_until, threading.Event()) for client in clients
        ]
        until(lambda: sum(len(client.acknowledged) for client in clients) >= 200)
        for worker in workers if killed == "worker" else ():
            os.kill(worker, signal.SIGKILL)
        server.kill()
        for one in posting:
            one.result()
    until(lambda: not any(map(is_running, workers)))
    with made.store() as store:
        for client in clients:
            for key, receipt in client.acknowledged.items():
                post = store.posts.find(1, key)
                assert post is not None
                assert post.row_count == receipt["accepted"]
                assert post.sha256 == receipt["sha256"]
                assert post.received_total == receipt["received_total"]
        stored = len(store.posts.detections(1))
    assert (
        stored
        == made.serve().ask("GET", "/v1/session", token).json()["detections_accepted"]
    )


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_an_empty_body_is_taken_with_a_warning(
    server: Server, token: str, kind: str
) -> None:
    for body, warned in ((b"", True), (b" \n", True), (b"[]", False)):
        if body == b"[]" and kind == "text/csv":
            continue
        headers = {"Content-Type": kind}
        answer = server.ask("POST", "/v1/detections", token, headers, data=body)
        assert answer.status_code == 202
        assert answer.json()["accepted"] == 0
        told = answer.json().get("warnings", [])
        assert [one[:17] for one in told] == ["The body is empty"] * warned


def test_a_receipt_warns_of_rows_that_look_like_a_mistake_and_only_then(
    server: Server,
    token: str,
) -> None:
    plausible = server.ask("POST", "/v1/detections", token, json=ROWS)
    assert plausible.status_code == 202
    assert "warnings" not in plausible.json()
    rows = [[1, 1, 99.0, 0.1, 0.1, 0.4, 0.4], [6, 1, 0.5, 97, 5, 110, 20], *ROWS]
    for _ in range(2):  # the same key gets the same answer
        answer = server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Idempotency-Key": "odd"},
            json=rows,
        )
        assert answer.status_code == 202
        assert answer.json()["accepted"] == 4
        warnings = answer.json()["warnings"]
        assert [warning[:6] for warning in warnings] == ["1 of 4"] * 3
        assert "image 6" in warnings[2]
