"""The way round Flask changes nothing but the time it takes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder

from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.gateway import Gateway
from referee.web.team_login import issue_token
from tests.referee.factories import TEAM, House

Told = tuple[str, dict[str, str], bytes]
CASES = [
    ("GET", "/v1/images/1", {}),
    ("HEAD", "/v1/images/1", {}),
    ("GET", "/v1/images/99", {}),
    ("GET", "/v1/images/x", {}),
    ("GET", "/v1/images/\u00e9", {}),
    ("GET", "/v1/images/", {}),
    ("GET", "/v1/images/1/2", {}),
    ("GET", "/v1/imagesx", {}),
    ("POST", "/v1/images/1", {}),
    ("OPTIONS", "/v1/images", {}),
    ("GET", "/v1/images?count=3", {}),
    ("HEAD", "/v1/images?count=3", {}),
    ("GET", "/v1/images?count=x", {}),
    ("POST", "/v1/detections", {"Content-Type": "text/plain"}),
    ("POST", "/v1/detections", {"Content-Type": "image/png"}),
    ("POST", "/v1/detections", {"Idempotency-Key": ""}),
    ("GET", "/v1/detections", {}),
]


@pytest.fixture
def both(
    build: Callable[..., House],
) -> tuple[Callable[..., Told], Callable[..., Told]]:
    """Ask through the gateway, and ask Flask alone."""
    house = build(auto_arm=True)
    app = create_app(house.contest, house.control, house.clock)
    live = house.control.login(TEAM)
    token = issue_token(part_of(app, Callers), live.run)
    gateway = app.wsgi_app
    flask_alone = app.__class__.wsgi_app.__get__(app)
    assert isinstance(gateway, Gateway)

    def through(
        target: Callable[[dict[str, Any], Any], Iterable[bytes]],
    ) -> Callable[..., Told]:
        def ask(
            method: str,
            path: str,
            headers: dict[str, str],
            bearer: str | None = token,
        ) -> Told:
            bearing = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
            body = io.BytesIO(b"1 1 .5 0 0 5 5\n") if method == "POST" else None
            builder = EnvironBuilder(
                path,
                method=method,
                headers=bearing | headers,
                input_stream=body,
            )
            environ = builder.get_environ() | ({"CONTENT_LENGTH": "15"} if body else {})
            told: list[Any] = []
            sent = target(environ, lambda *one: told.append(one))
            content = b"".join(sent)
            getattr(sent, "close", lambda: None)()
            status, fields = told[0][:2]
            return status[:3], {name.lower(): value for name, value in fields}, content

        return ask

    return through(gateway), through(flask_alone)


def settled(told: Told) -> Told:
    """What does not depend on the moment: the window goes on, and the receipts count on."""
    status, headers, content = told
    left = headers.pop("x-window-remaining-ms", None)
    assert left is None or 0 <= int(left) <= 600_000
    if status == "202":
        headers.pop("content-length")
        content = b""
    return status, headers | {"left": str(left is not None)}, content


@pytest.mark.parametrize(("method", "path", "headers"), CASES)
def test_flask_answers_as_the_gateway_does(
    both: Any,
    method: str,
    path: str,
    headers: dict[str, str],
) -> None:
    with_gateway, without = (settled(ask(method, path, headers)) for ask in both)
    assert with_gateway == without


@pytest.mark.parametrize("bearer", [None, "", "nonsense"])
def test_strangers_are_told_the_same_either_way(both: Any, bearer: str | None) -> None:
    for method, path in (
        ("GET", "/v1/images/1"),
        ("HEAD", "/v1/images"),
        ("POST", "/v1/detections"),
    ):
        with_gateway, without = (settled(ask(method, path, {}, bearer)) for ask in both)
        assert with_gateway == without
        assert with_gateway[0] == "401"


def test_an_error_nobody_foresaw_is_one_problem_document_and_is_logged(
    both: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(
        "referee.web.contestant.single_image.image_number",
        lambda *_: 1 / 0,
    )
    for ask in both:
        status, headers, content = ask("GET", "/v1/images/1", {})
        assert status == "500"
        assert headers["content-type"] == "application/problem+json"
        assert b'"code": "internal"' in content
        assert b"ZeroDivision" not in content
    assert [record.getMessage() for record in caplog.records] == [
        "a request failed"
    ] * 2


def test_an_error_on_flask_s_way_out_is_a_problem_document_too(
    both: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("referee.web.app.remaining_ms", lambda *_: 1 / 0)
    status, headers, content = both[0]("GET", "/v1/health", {})
    assert status == "500"
    assert headers["content-type"] == "application/problem+json"
    assert b'"code": "internal"' in content
    assert caplog.records
