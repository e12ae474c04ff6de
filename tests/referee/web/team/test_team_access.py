"""The log-in of teams' own pages: it opens no run, ends with what it is by, and leads nobody to another's pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from referee.auth import tokens
from referee.auth.passwords import hash_password
from referee.auth.tokens import TeamSession
from referee.contest import read_secrets
from referee.store.records import RunState
from referee.web.app import create_app
from tests.contest_day import HASH, PASSWORD, TEAM, Day, Server, problem
from tests.referee.factories import START, House, StillClock
from tests.referee.web.team.team_sessions import (
    COOKIE,
    TeamBrowser,
    log_in,
    team_browser,
)

PRIVATE = ("/team/live", "/v1/team", "/team/runs/1/report", "/team/runs/1/receipts")


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


@pytest.fixture
def ant(hall: Day) -> TeamBrowser:
    return team_browser(server_of(hall))


def is_out(browser: TeamBrowser) -> bool:
    """Every address of the team's own refuses this cookie, and its page leads to the log-in."""
    for path in PRIVATE:
        problem(browser.ask("GET", path), 401, "bad-token")
    asked = browser.ask("POST", "/team/questions", json={"text": "Why?"})
    problem(asked, 401, "bad-token")
    return browser.ask("GET", "/team/").headers["Location"] == "/team/login"


@pytest.mark.parametrize(
    "form", [{"username": TEAM, "password": PASSWORD}, {"team": TEAM}, {}]
)
def test_a_log_in_with_other_fields_is_told_the_right_ones(
    hall: Day, form: dict[str, str]
) -> None:
    answer = server_of(hall).ask("POST", "/team/login", data=form)
    problem(answer, 400, "bad-request")
    assert answer.json()["detail"].endswith("with the fields team and password.")


def test_a_log_in_opens_no_run_and_its_cookie_is_out_of_reach_for_scripts(
    day: Callable[..., Day],
) -> None:
    made = day()
    given = log_in(server_of(made))
    assert given.status_code == 303
    attributes = set(given.headers["Set-Cookie"].split("; ")[1:])
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= attributes
    assert "Secure" not in attributes
    behind_tls = log_in(server_of(made), **{"X-Forwarded-Proto": "https"})
    assert "Secure" in behind_tls.headers["Set-Cookie"].split("; ")
    view = team_browser(server_of(made)).view()
    assert view["team"] == TEAM
    assert view["runs"] == []
    with made.store() as store:
        assert store.runs.find() == []


def test_nobody_without_a_session_or_the_password_gets_in(hall: Day) -> None:
    server = server_of(hall)
    for cookie in ("", "a.b", "x" * 5000, "é"):
        assert is_out(TeamBrowser(server, cookie.encode().decode("latin-1")))
    for team, password in (
        (TEAM, "wrong"),
        (TEAM, ""),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        (TEAM, PASSWORD + "x" * 20_000),
    ):
        refused = log_in(server, team, password)
        assert refused.headers["Location"] == "/team/login?refused=bad-credentials"
        assert COOKIE not in refused.cookies
    assert "wrong" in server.ask("GET", refused.headers["Location"]).text


def test_a_browser_that_another_site_sends_is_not_logged_in_as_that_site_s_team(
    hall: Day,
) -> None:
    sent = log_in(server_of(hall), **{"Sec-Fetch-Site": "cross-site"})
    assert COOKIE not in sent.cookies


def test_guesses_are_limited_like_those_of_boards_and_with_them(
    day: Callable[..., Day],
) -> None:
    server = server_of(day())
    for _ in range(5):
        log_in(server, TEAM, "guess")
        server.ask("POST", "/v1/session", json={"team": TEAM, "password": "guess"})
    refused = log_in(server, TEAM, "another")
    assert refused.headers["Location"] == "/team/login?refused=too-many-failures"
    basic = server.ask("GET", "/v1/team", auth=(TEAM, "another"))
    problem(basic, 429, "too-many-failures")


def test_a_program_reads_the_same_document_by_the_password_and_by_nothing_else(
    hall: Day,
    ant: TeamBrowser,
    token: str,
) -> None:
    server = server_of(hall)
    by_password = server.ask("GET", "/v1/team", auth=(TEAM, PASSWORD)).json()
    assert by_password.keys() == ant.view().keys()
    assert by_password["runs"][0]["run"] == ant.view()["runs"][0]["run"]
    key = read_secrets(hall.folder)[1].hex()
    for bearer in (token, key, ant.cookie):
        problem(server.ask("GET", "/v1/team", bearer), 401, "bad-credentials")
    problem(server.ask("GET", "/v1/team", auth=(TEAM, "wrong")), 401, "bad-credentials")
    refused = problem(server.ask("GET", "/v1/team"), 401, "bad-token")
    assert "by HTTP Basic" in refused["detail"]


def test_cookies_of_operators_and_teams_and_tokens_do_not_stand_for_each_other(
    hall: Day,
    ant: TeamBrowser,
    token: str,
) -> None:
    server = server_of(hall)
    key = read_secrets(hall.folder)[1].hex()
    form = {"name": "eve", "password": key}
    entered = server.ask("POST", "/operator/login", data=form, allow_redirects=False)
    operators = entered.cookies["referee-operator"]
    assert is_out(TeamBrowser(server, operators))
    assert is_out(TeamBrowser(server, token))
    for cookie in (ant.cookie, token):
        headers = {"Cookie": f"referee-operator={cookie}"}
        answer = server.ask("GET", "/operator/status", None, headers)
        problem(answer, 401, "bad-token")
    problem(server.ask("GET", "/v1/session", ant.cookie), 401, "bad-token")
    both = {"Cookie": f"referee-operator={operators}; {COOKIE}={ant.cookie}"}
    assert server.ask("GET", "/v1/team", None, both).json()["team"] == TEAM


def test_each_claim_of_a_cookie_is_checked_even_under_the_contest_s_own_signature(
    hall: Day,
    ant: TeamBrowser,
) -> None:
    secret = read_secrets(hall.folder)[0]
    claims = tokens.read_team(secret, ant.cookie)
    assert claims is not None
    for other in (
        replace(claims, team="bee"),
        replace(claims, stamp="0" * 24),
        replace(claims, mark="0" * 32),
        TeamSession("bee", tokens.stamp(secret, "x"), claims.mark),
    ):
        forged = tokens.issue_team(secret, other)
        assert is_out(TeamBrowser(ant.server, forged))
    assert is_out(TeamBrowser(ant.server, tokens.issue_team(b"other", claims)))
    assert is_out(TeamBrowser(ant.server, ant.cookie[:-1] + "A" + ant.cookie[-1]))
    assert ant.view()["team"] == TEAM


def test_a_log_out_ends_this_session_for_good_and_no_other(
    hall: Day,
    ant: TeamBrowser,
) -> None:
    other = team_browser(ant.server)
    problem(ant.ask("POST", "/team/logout"), 401, "bad-token")
    problem(ant.ask("POST", "/team/logout", data={"csrf": ""}), 401, "bad-token")
    problem(
        ant.ask("POST", "/team/logout", data={"csrf": other.csrf}), 401, "bad-token"
    )
    left = ant.ask("POST", "/team/logout", data={"csrf": ant.csrf})
    assert left.headers["Location"] == "/team/login"
    assert is_out(ant)
    assert other.view()["team"] == TEAM


@pytest.mark.parametrize("end", ["password", "disabled"])
def test_a_session_ends_when_the_password_changes_or_the_team_is_disabled(
    day: Callable[..., Day],
    end: str,
) -> None:
    made = day()
    ant = team_browser(server_of(made))
    with made.store() as store:
        if end == "password":
            store.teams.set_password(TEAM, hash_password("another"))
        else:
            store.teams.set_disabled(TEAM, disabled=True)
    assert is_out(ant)
    assert COOKIE not in log_in(ant.server).cookies
    if end == "disabled":
        with made.store() as store:
            store.teams.set_disabled(TEAM, disabled=False)
        assert is_out(ant)
        assert team_browser(ant.server).view()["team"] == TEAM


def test_a_team_reads_no_run_of_another_team_by_any_number(
    hall: Day,
    ant: TeamBrowser,
    token: str,
) -> None:
    del token
    (opened,) = hall.runs(RunState.OPEN)
    bee = team_browser(ant.server, "bee")
    for what in ("report", "receipts"):
        for number in (opened.id, opened.id + 1, 0, 10**30):
            refused = problem(
                bee.ask("GET", f"/team/runs/{number}/{what}"), 404, "run-unknown"
            )
            assert refused["detail"] == f"bee has no run {number}."
        for odd in ("-1", "1.5", "one"):
            problem(bee.ask("GET", f"/team/runs/{odd}/{what}"), 404, "not-found")
    own = ant.ask("GET", f"/team/runs/{opened.id}/receipts")
    assert own.json()["run"] == opened.id
    for path in ("/v1/team", "/v1/team?team=ant", "/v1/team?run=1"):
        seen = bee.ask("GET", path).text
        assert '"team":"bee"' in seen
        assert TEAM not in seen


def test_a_session_ends_after_twelve_hours_by_the_referee_s_clock(
    build: Callable[..., House],
) -> None:
    house = build()
    clock = StillClock()
    app = create_app(house.contest, house.control, clock)
    client = app.test_client()
    house.contest.store.teams.add("beavers", HASH, START)
    form = {"team": "beavers", "password": PASSWORD}
    client.post("/team/login", data=form)
    clock.now_s = 12 * 3600 - 1
    seen = client.get("/v1/team")
    assert seen.json is not None
    assert seen.json["team"] == "beavers"
    clock.now_s += 1
    assert client.get("/v1/team").status_code == 401
