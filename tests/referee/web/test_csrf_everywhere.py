"""No page of another site changes anything in an operator's or a team's browser: on every route, by every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from referee.web.app import create_app
from tests.contest_day import HASH, PASSWORD
from tests.referee.factories import START, House, StillClock
from tests.referee.web.public.route_verdicts import Verdict, verdict_of
from tests.referee.web.public.test_freeze import BODY, methods_of, paths_of

READS = ("GET", "HEAD")
LOG_INS = ("operator-access.log_in", "team-access.log_in")
BY_COOKIE = (Verdict.OPERATOR, Verdict.TEAM, Verdict.TEAM_BY_PASSWORD)
TEAM = "beavers"


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    made = build()
    made.contest.store.teams.add(TEAM, HASH, START)
    return made


@pytest.fixture
def client(house: House) -> FlaskClient:
    """A browser in which an operator and a team are logged in."""
    client = create_app(house.contest, house.control, StillClock()).test_client()
    key = house.contest.operator_key
    client.post("/operator/login", data={"name": "jo", "password": key})
    client.post("/team/login", data={"team": TEAM, "password": PASSWORD})
    assert client.get("/operator/status").status_code == 200
    assert client.get("/v1/team").status_code == 200
    return client


def changing(client: FlaskClient) -> Iterator[tuple[str, str]]:
    """Each method and address that could change something by the cookie of a browser."""
    for rule in client.application.url_map.iter_rules():
        if rule.endpoint in LOG_INS or verdict_of(rule.endpoint) not in BY_COOKIE:
            continue
        for method in methods_of(rule):
            if method not in READS:
                for path in paths_of(rule):
                    yield method, path


def records(house: House) -> tuple[Any, ...]:
    """What a change leaves behind."""
    store = house.contest.store
    return (
        store.log.head(),
        store.queue.teams(),
        store.teams.all(),
        store.questions.all(),
        (house.contest.folder / "contest.toml").read_text(),
    )


FORMS: tuple[dict[str, Any], ...] = (
    {
        "data": BODY,
    },
    {
        "data": BODY | {"csrf": "0" * 32},
    },
    {
        "json": BODY,
    },
    {
        "json": BODY | {"csrf": ""},
        "headers": {"X-CSRF-Token": ""},
    },
    {
        "data": "{}",
        "content_type": "text/plain",
    },
    {
        "data": BODY,
        "headers": {"Authorization": "Basic eDp5"},
    },
    {
        "data": BODY,
        "headers": {"Authorization": "Bearer"},
    },
    {
        "data": BODY,
        "headers": {"X-HTTP-Method-Override": "GET"},
    },
)
REFUSED = (
    400,
    401,
    403,
    415,
)
"""What a page of another site, or an extension of a proxy, may make a browser send."""


def test_without_its_token_a_browser_with_both_cookies_changes_nothing(
    client: FlaskClient,
    house: House,
) -> None:
    before = records(house)
    asked = [*changing(client)]
    assert len(asked) > 40
    taken = []
    for method, path in asked:
        for form in FORMS:
            status = client.open(path, method=method, **form).status_code
            if status not in REFUSED:
                taken.append((method, path, form, status))
    assert taken == []
    assert records(house) == before
    assert client.get("/operator/status").status_code == 200, "nobody was logged out"
    assert client.get("/v1/team").status_code == 200


def test_a_token_of_the_team_s_session_is_none_of_the_operator_s_and_the_other_way(
    client: FlaskClient,
    house: House,
) -> None:
    before = records(house)
    pages = {
        "/operator/": client.get("/operator/").text,
        "/team/": client.get("/team/").text,
    }
    for own, other in (("/operator/", "/team/"), ("/team/", "/operator/")):
        token = token_in(pages[other])
        for method, path in changing(client):
            if not path.startswith(own):
                continue
            headers = {"X-CSRF-Token": token}
            form = BODY | {"csrf": token}
            for sent in ({"data": form}, {"json": form}):
                answer = client.open(path, method=method, headers=headers, **sent)
                assert answer.status_code in REFUSED, path
    assert records(house) == before


def token_in(page: str) -> str:
    for before in ('name="csrf" value="', 'data-csrf="', 'csrf" content="'):
        if before in page:
            return page.partition(before)[2].partition('"')[0]
    raise AssertionError("the page has no token")


def test_no_address_that_is_only_read_changes_anything(
    client: FlaskClient,
    house: House,
) -> None:
    """A link or a picture on another site makes a browser ask with its cookies."""
    before = records(house)
    for rule in client.application.url_map.iter_rules():
        if verdict_of(rule.endpoint) in BY_COOKIE and "GET" in (rule.methods or ()):
            for path in paths_of(rule):
                with client.get(path) as answer:
                    answer.get_data()
    assert records(house) == before
