"""A mistyped address is answered with the one that may be meant, a wrong method with those that are accepted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from referee.web.app import create_app
from referee.web.near_addresses import near_address
from tests.referee.factories import House


@pytest.fixture
def client(build: Callable[..., House]) -> FlaskClient:
    made = build()
    return create_app(made.contest, made.control, made.clock).test_client()


def detail(client: FlaskClient, method: str, path: str) -> str:
    document = client.open(path, method=method).get_json()
    sentence: str = document["detail"]
    return sentence


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/team/ant", "/teams/ant"),
        ("/projector", "/?view=projector"),
        ("/console", "/operator/"),
        ("/setup/", "/operator/settings/"),
        ("/settings/", "/operator/settings/"),
        ("/standings.json", "/board.json"),
        ("/v1/image/3", "/v1/images/3"),
        ("/team/run/3/report", "/team/runs/3/report"),
        ("/v1/images/", "/v1/images"),
        ("/v1/detection", "/v1/detections"),
        ("/v1/Detections", "/v1/detections"),
        ("/v1/session/", "/v1/session"),
        ("/v1/sessions", "/v1/session"),
        ("/v2/session", "/v1/session"),
        ("/api/v1/session", "/v1/session"),
        ("/session", "/v1/session"),
        ("/health", "/v1/health"),
        ("/v1/helth", "/v1/health"),
        ("/v1/login", "/v1/session"),
        ("/v1/result", "/v1/detections"),
        ("/v1/openapi", "/v1/openapi.json"),
        ("/v1/board.json", "/board.json"),
        ("/boards.json", "/board.json"),
        ("/doc", "/docs"),
        ("/v1/image", "/v1/images"),
        ("/v1/leaderboard", "/"),
        ("/leaderboard", "/"),
        ("/images/7", "/v1/images/7"),
        ("/image/7", "/v1/images/7"),
        ("/zipimage", "/zipimages"),
        ("/Login", "/login"),
        ("/getToken", "/get_token"),
        ("/no_of_image", "/no_of_images"),
    ],
)
def test_a_mistyped_address_is_answered_with_the_near_one(
    client: FlaskClient, path: str, meant: str
) -> None:
    for method in ("GET", "POST"):
        sentence = detail(client, method, path)
        near = re.search(r"Did you mean (?:[A-Z]+ (?:or|and)? ?)*(\S+)\?", sentence)
        assert near is not None
        assert f"nothing at {path}. " in sentence
        assert near[1] == meant


@pytest.mark.parametrize(
    ("method", "path", "meant"),
    [
        ("POST", "/v1/logout", "DELETE /v1/session"),
        ("GET", "/v1/logout", "DELETE /v1/session"),
        ("GET", "/v1/login", "POST /v1/session"),
        ("POST", "/v1/login", "/v1/session"),
        ("POST", "/v1/signout", "DELETE /v1/session"),
        ("POST", "/v1/submit", "/v1/detections"),
        ("POST", "/v1/status", "GET /v1/session"),
        ("GET", "/v1/result", "POST /v1/detections"),
        ("POST", "/v1/image/3", "GET /v1/images/3"),
        ("GET", "/no_of_image", "POST /no_of_images"),
        ("PATCH", "/getToken", "GET /get_token or POST /get_token"),
    ],
)
def test_a_near_address_that_takes_another_method_is_told_with_it(
    client: FlaskClient, method: str, path: str, meant: str
) -> None:
    assert f" Did you mean {meant}? " in detail(client, method, path)


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/wp-admin.php", "/v1/x/3", "/operatr/live", "/%0a", "/a/b"]
)
def test_no_address_is_guessed_that_cannot_be_meant(
    client: FlaskClient, path: str
) -> None:
    sentence = detail(client, "GET", path)
    assert "Did you mean" not in sentence
    assert sentence.endswith("and GET /help those of the original protocol.")
    assert sentence.isprintable()


def test_a_long_address_is_shown_in_part_and_compared_with_none(
    client: FlaskClient,
) -> None:
    path = "/v1/images/" + "9" * 5000 + "/x"
    sentence = detail(client, "GET", path)
    assert len(sentence) < 250
    assert near_address(path, ["/v1/images/<number>/x"]) is None


def test_the_value_of_a_variable_does_not_make_an_address_near() -> None:
    rules = ["/teams/<name>", "/files/<path:name>", "/"]
    assert near_address("/team/averylongname", rules) == "/teams/averylongname"
    assert near_address("/runs/averylongname", rules) is None
    assert near_address("/file/averylongname", rules) is None


@pytest.mark.parametrize(
    ("method", "path", "accepted"),
    [
        ("GET", "/v1/answers", "the method GET, but POST."),
        ("POST", "/v1/images/3", "the method POST, but GET."),
        ("PATCH", "/v1/session", "the method PATCH, but DELETE and GET and POST."),
    ],
)
def test_a_wrong_method_is_named_with_the_accepted_ones(
    client: FlaskClient, method: str, path: str, accepted: str
) -> None:
    told = client.open(path, method=method)
    assert told.status_code == 405
    assert told.get_json()["detail"] == f"{path} does not accept {accepted}"
    for one in accepted.partition("but ")[2].rstrip(".").split(" and "):
        assert one in told.headers["Allow"]


def test_an_address_is_not_told_as_itself(client: FlaskClient) -> None:
    assert "Did you mean" not in detail(client, "GET", "/team/runs/abc/report")


@pytest.mark.parametrize("first", ["docs", "client"])
def test_a_document_that_there_is_not_leads_to_the_list(
    client: FlaskClient, first: str
) -> None:
    assert f"Did you mean /{first}/?" in detail(client, "GET", f"/{first}/nope")
