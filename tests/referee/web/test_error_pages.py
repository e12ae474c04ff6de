"""A failure as a page for a person at a browser, and as a problem document for every program."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from referee.web.app import create_app
from referee.web.error_pages import is_browser
from referee.web.page_sentences import without_commands
from tests.contest_day import PROBLEM
from tests.referee.factories import House

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def client(build: Callable[..., House]) -> FlaskClient:
    made = build()
    return create_app(made.contest, made.control, made.clock).test_client()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "not-found"),
        (f"/{MARKUP}", 404, "not-found"),
        ("/operator/live", 401, "token-missing"),
        ("/v1/images/1", 401, "token-missing"),
        ("/v1/session", 401, "token-missing"),
        ("/display/nowhere/next", 401, "token-missing"),
        ("/static/nothing.css", 404, "not-found"),
    ],
)
def test_a_person_gets_a_page_with_the_same_status_and_code(
    client: FlaskClient,
    path: str,
    status: int,
    code: str,
) -> None:
    told = client.get(path, headers={"Accept": BROWSER})
    assert (told.status_code, told.mimetype) == (status, "text/html")
    assert "default-src 'self'" in told.headers["Content-Security-Policy"]
    assert "Accept" in told.headers["Vary"]
    assert told.headers["Cache-Control"] == "no-store"
    assert MARKUP not in told.text
    document = client.get(path)
    assert document.mimetype == PROBLEM
    assert document.get_json()["code"] in told.text
    assert document.status_code == status
    assert document.headers["Vary"] == told.headers["Vary"]


@pytest.mark.parametrize(
    "accepted",
    [
        "",
        "*/*",
        "application/json",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",  # Java's default
        "application/json, text/plain, */*",  # of axios
        "text/html,application/xhtml+xml,application/problem+json",
        "text/html;q=0,application/xhtml+xml",
        ",;q=x,",
    ],
)
def test_every_program_gets_a_problem_document(
    client: FlaskClient, accepted: str
) -> None:
    for path in ("/nowhere", "/v1/images/1", "/v1/session"):
        assert client.get(path, headers={"Accept": accepted}).mimetype == PROBLEM


def test_who_sends_a_token_is_a_program_whatever_it_accepts(
    client: FlaskClient,
) -> None:
    headers = {"Accept": BROWSER, "Authorization": "Bearer x"}
    assert client.get("/v1/session", headers=headers).mimetype == PROBLEM
    assert not is_browser({"HTTP_ACCEPT": BROWSER, "HTTP_AUTHORIZATION": ""})


def test_a_method_that_is_refused_still_says_which_ones_are_accepted(
    client: FlaskClient,
) -> None:
    told = client.delete("/board.json", headers={"Accept": BROWSER})
    assert told.status_code == 405
    assert "GET" in told.headers["Allow"]
    assert told.mimetype == "text/html"


@pytest.mark.parametrize("path", ["/operator/runs/9/stop", "/operator/settings/rule"])
def test_an_operator_s_address_that_is_not_there_leads_to_the_operator_s_pages(
    client: FlaskClient, path: str
) -> None:
    said = client.get(path).get_json()["detail"]
    assert said.startswith(f"There is nothing at {path}. The console is at /operator/,")
    assert "contestants" not in said


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("There is no run 9; see: referee run list", "There is no run 9."),
        ("No 'x'; see: referee team list. Did you mean 'y'?", "No 'x'. Did you mean 'y'?"),
        ("It is armed; end it first: referee run void 1", "It is armed; end it first."),
        ("All are one; log in, or use: referee operator add N", "All are one; log in."),
        ("The referee starts: wait", "The referee starts: wait"),
    ],
)  # fmt: skip
def test_a_page_offers_no_command_of_a_shell(said: str, shown: str) -> None:
    assert without_commands(said) == shown
