"""The OpenAPI document is what the server does: schemathesis holds the live one to it, and no route is left out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from referee.web.app import create_app
from referee.web.problem_documents import STATUS_OF_CODE
from tests.contest_day import Day, program
from tests.referee.factories import House

# Chance decides too much of what is refused: rows of unknown images, tags that do not match.
NOT_HELD_TO = "positive_data_acceptance"


@pytest.fixture
def hold(day: Callable[..., Day], tmp_path: Path) -> Callable[..., None]:
    """Let schemathesis ask a server of its own, within a run."""
    made = day()
    token = made.login()["token"]
    assert made.server is not None
    url = made.server.url

    def held(*options: str) -> None:
        arguments = [
            f"{url}/v1/openapi.json",
            "-H",
            f"Authorization: Bearer {token}",
            "--seed",
            "1",
            *options,
        ]
        result = subprocess.run(
            [
                program("st"),
                "run",
                *arguments,
                "--exclude-checks",
                NOT_HELD_TO,
                "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr

    return held


def test_the_server_does_what_the_document_says(hold: Callable[..., None]) -> None:
    # It cannot send the media type of tus; test_receiving does.
    hold(
        "--exclude-operation-id",
        "logOut",
        "--exclude-operation-id",
        "addToUpload",
        "--max-examples",
        "3",
    )


def test_logging_out_is_what_the_document_says(hold: Callable[..., None]) -> None:
    hold("--include-operation-id", "logOut", "--max-examples", "1")


def test_every_route_of_version_1_is_in_the_document_and_nothing_else(
    build: Callable[..., House],
) -> None:
    house = build()
    app = create_app(house.contest, house.control, house.clock)
    routes = {
        (rule.rule.replace("<number>", "{n}"), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1/")
        and not rule.rule.startswith("/v1/jobs")  # the operator's devices ask there
    }
    document = app.test_client().get("/v1/openapi.json").json
    assert document is not None
    told = {
        (path, method)
        for path, operations in document["paths"].items()
        for method in operations
        if method in ("get", "post", "put", "patch", "delete")
    }
    assert told == routes


def test_every_code_in_the_document_has_the_status_it_is_told_with(
    build: Callable[..., House],
) -> None:
    house = build()
    document = (
        create_app(house.contest, house.control, house.clock)
        .test_client()
        .get("/v1/openapi.json")
        .json
    )
    assert document is not None
    told = {}
    for response in document["components"]["responses"].values():
        parts = response["content"]["application/problem+json"]["schema"].get(
            "allOf",
            [{}, {}],
        )[1]
        for code in parts.get("properties", {}).get("code", {}).get("enum", ()):
            told[code] = parts["properties"]["status"]["const"]
    assert told == {code: STATUS_OF_CODE[code] for code in told}
    assert {"window-closed", "bad-rows", "too-large"} <= told.keys()


def test_the_document_tells_of_the_wait_wherever_there_can_be_one(
    build: Callable[..., House],
) -> None:
    house = build()
    document = (
        create_app(house.contest, house.control, house.clock)
        .test_client()
        .get("/v1/openapi.json")
        .json
    )
    assert document is not None
    waits = {
        name
        for name, told in document["components"]["responses"].items()
        if "Retry-After" in told.get("headers", {})
    }
    assert waits == {"TooMany", "Conflict", "Unavailable"}
