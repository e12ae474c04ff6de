"""What a client is told of a failure, and whether it is worth another try."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from lpirc_power.errors import MeterError
from referee.auth.passwords import hash_password
from referee.errors import RefereeError, ShuttingDown, StorageFailed, TestSetChanged
from referee.web.app import create_app
from referee.web.problem_documents import answer_to
from tests.contest_day import PASSWORD
from tests.referee.factories import START, House

ROW = {
    "image_name": 1,
    "CLASS_ID": 1,
    "confidence": 0.5,
    "xmin": 0,
    "ymin": 0,
    "xmax": 5,
    "ymax": 5,
}


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ShuttingDown(), "5"),
        (StorageFailed("A sentence."), "5"),
        (TestSetChanged("A sentence."), None),
    ],
)
def test_what_is_unavailable_for_a_while_says_when_to_try_again(
    error: RefereeError,
    waits: str | None,
) -> None:
    answer = answer_to(error)
    assert answer.status == 503
    assert dict(answer.headers).get("Retry-After") == waits


def test_a_meter_that_is_not_ready_is_to_be_asked_again() -> None:
    told = answer_to(MeterError("meter-lost", "A sentence."))
    assert told.status == 503
    assert dict(told.headers)["Retry-After"] == "5"


@pytest.fixture
def cramped(build: Callable[..., House]) -> tuple[FlaskClient, str, sqlite3.Connection]:
    """A client, its token, and the other connection that keeps the database from being written."""
    house = build(auto_arm=True)
    house.store.teams.add("ant", hash_password(PASSWORD), START)
    client = create_app(house.contest, house.control, house.clock).test_client()
    token = client.post(
        "/v1/session",
        json={"team": "ant", "password": PASSWORD},
    ).get_json()["token"]
    house.store.database.connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(
        house.folder / "contest.db",
        isolation_level=None,
        check_same_thread=False,
    )
    other.execute("BEGIN IMMEDIATE")
    house.stack.callback(other.close)
    return client, token, other


@pytest.mark.parametrize("path", ["/v1/detections", "/result"])
def test_a_body_that_cannot_be_stored_is_to_be_sent_again_and_then_counts_once(
    cramped: tuple[FlaskClient, str, sqlite3.Connection],
    path: str,
) -> None:
    client, token, other = cramped

    def post() -> tuple[int, str | None]:
        form = ROW if path == "/v1/detections" else ROW | {"token": token}
        told = client.post(
            path,
            data=form,
            headers={"Authorization": f"Bearer {token}"},
        )
        return told.status_code, told.headers.get("Retry-After")

    def accepted() -> int:
        standing = client.get(
            "/v1/session",
            headers={"Authorization": f"Bearer {token}"},
        ).get_json()
        return int(standing["detections_accepted"])

    assert post() == (503, "5")
    assert accepted() == 0
    other.close()
    assert post() in {(202, None), (200, None)}
    assert accepted() == 1


def test_a_team_is_told_when_to_log_in_again_for_its_heat(
    build: Callable[..., House],
) -> None:
    house = build()
    house.store.teams.add("ant", hash_password(PASSWORD), START)
    house.control.arm("ant", "one", "final")
    client = create_app(house.contest, house.control, house.clock).test_client()
    told = client.post("/v1/session", json={"team": "ant", "password": PASSWORD})
    assert told.status_code == 409
    assert told.get_json()["code"] == "not-started"
    assert told.headers["Retry-After"] == "1"
