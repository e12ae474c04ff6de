"""Directed attacks on teams' own pages, over real sockets: another's run, name, session or browser, and floods."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from referee.contest import read_secrets
from referee.web.question_texts import LONGEST_TEXT, MOST_MARKS
from referee.web.team.questions import MOST_OPEN
from tests.contest_day import TEAM, Day, problem
from tests.referee.web.team.team_sessions import COOKIE, TeamBrowser, log_in
from tests.referee.web.team.team_sessions import team_browser as browser_of
from tests.referee.web.team.test_team_view import server_of

ALIKE = (
    "ant",
    "Ant",
    "ANT",
    "\uff41\uff4e\uff54",
    "ánt",
    "a\u0301nt",
    "ant.",
    "a/nt",
    "..",
)
OTHERS_RUN = (
    "/team/runs/{run}/report",
    "/team/runs/{run}/receipts",
    "/team/runs/0{run}/receipts",
    "/team/runs/{run}/receipts/",
    "/team/runs/{run}%2Freceipts",
    "/team/runs//{run}/receipts",
    "/team/runs/./{run}/receipts",
    "/team/runs/{run}/receipts?team=ant",
    "/team/runs/{run}/RECEIPTS",
    "/team/runs/+{run}/receipts",
    "/team/runs/%20{run}/receipts",
    "/team/runs/{run}%00/receipts",
    "/team/runs/{run}.0/receipts",
    "/TEAM/runs/{run}/receipts",
    "/team/runs/\uff11/receipts",
    "/team/runs/\u0661/receipts",
    "/team/ant/runs/{run}/receipts",
    "/team/questions/1",
    "/operator/runs/{run}/report",
    "/operator/runs/{run}/replay/course.json",
    "/operator/status",
)


def test_no_spelling_of_an_address_leads_to_another_team_s_run(
    hall: Day,
    token: str,
) -> None:
    assert token
    bee = browser_of(server_of(hall), "bee")
    for path in OTHERS_RUN:
        for method in ("GET", "HEAD"):
            answer = bee.ask(method, path.format(run=1))
            refused = answer.status_code in (303, 401, 404)
            assert refused, (method, path, answer.status_code)
            assert "sha256" not in answer.text
    for header in ("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-User", "From"):
        answer = bee.ask("GET", "/v1/team", {header: "/team/runs/1/receipts"})
        assert answer.json()["team"] == "bee"


def test_teams_whose_names_look_alike_never_share_a_page(
    day: Callable[..., Day],
) -> None:
    made = day(teams=ALIKE)
    server = server_of(made)
    browsers = {team: browser_of(server, team) for team in ALIKE}
    for team, browser in browsers.items():
        assert browser.question(f"I am {team!r}").status_code == 201
    for team, browser in browsers.items():
        view = browser.view()
        assert view["team"] == team
        assert [one["text"] for one in view["questions"]] == [f"I am {team!r}"]
    for team in ("aNt", "ant\u200b", "ant\x00", "\uff41NT", "an\u0442"):
        refused = log_in(server, team)
        assert refused.headers["Location"] == "/team/login?refused=bad-credentials"


def test_a_tag_of_another_team_s_page_is_no_key_to_it(
    hall: Day,
) -> None:
    ant = browser_of(server_of(hall))
    bee = browser_of(server_of(hall), "bee")
    assert ant.question("What only ant knows").status_code in (201, 429)
    seen = ant.ask("GET", "/team/live")
    assert seen.headers["Cache-Control"] == "private, no-cache"
    tag = seen.headers["ETag"]
    for path in ("/team/live", "/team/"):
        for condition in (tag, "*"):
            answer = bee.ask("GET", path, {"If-None-Match": condition})
            assert "What only ant knows" not in answer.text
        assert bee.ask("GET", path, {"If-None-Match": tag}).status_code == 200
    nobody = TeamBrowser(server_of(hall), "")
    for condition in (tag, "*"):
        refused = nobody.ask("GET", "/team/live", {"If-None-Match": condition})
        problem(refused, 401, "bad-token")


def test_a_log_in_in_another_team_s_browser_is_the_one_that_logged_in(
    hall: Day,
) -> None:
    """Cookie and CSRF token of the team before stay that team's, and are of no use with the new session."""
    server = server_of(hall)
    bee = browser_of(server, "bee")
    csrf = bee.csrf
    entered = log_in(server, TEAM, Cookie=f"{COOKIE}={bee.cookie}")
    ant = TeamBrowser(server, entered.cookies[COOKIE])
    assert ant.view()["team"] == TEAM
    assert bee.view()["team"] == "bee"
    problem(ant.question("Whose?", csrf), 401, "bad-token")
    both = {"Cookie": f"{COOKIE}={ant.cookie}; {COOKIE}={bee.cookie}"}
    asked = server.ask(
        "POST",
        "/team/questions",
        None,
        both | {"X-CSRF-Token": csrf},
        json={"text": "Whose?"},
    )
    problem(asked, 401, "bad-token")


FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://{host}.evil.example"},
    {"Origin": "http://{host}:1"},
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-site"},
    {"Origin": "http://{host}", "Sec-Fetch-Site": "cross-site"},
)
OWN = (
    {},
    {"Origin": "http://{host}"},
    {"Origin": "https://day.example", "X-Forwarded-Host": "day.example"},
    {"Origin": "https://day.example", "Sec-Fetch-Site": "same-origin"},
)


@pytest.mark.parametrize("path", ["/team/login", "/operator/login"])
def test_no_other_site_logs_a_browser_in_as_its_own_even_over_plain_http(
    hall: Day,
    path: str,
) -> None:
    server = server_of(hall)
    key = read_secrets(hall.folder)[1].hex()
    form = {"team": TEAM, "name": "eve", "password": "six legs"}
    if path.startswith("/operator"):
        form["password"] = key
    host = server.url.partition("//")[2]
    for headers, is_own in [(one, False) for one in FOREIGN] + [
        (one, True) for one in OWN
    ]:
        bearing = {name: value.format(host=host) for name, value in headers.items()}
        answer = server.ask(
            "POST", path, None, bearing, data=form, allow_redirects=False
        )
        assert ("Set-Cookie" in answer.headers) is is_own, headers


def test_a_flood_of_questions_leaves_three_and_every_other_team_its_own(
    day: Callable[..., Day],
) -> None:
    made = day(teams=(TEAM, "bee"))
    ant = browser_of(server_of(made))
    bee = browser_of(server_of(made), "bee")
    csrf = ant.csrf
    with ThreadPoolExecutor(12) as many:
        answers = many.map(lambda at: ant.question(f"Flood {at}", csrf), range(60))
        statuses = [one.status_code for one in answers]
    assert statuses.count(201) == MOST_OPEN
    assert {*statuses} <= {201, 429}
    assert len(ant.view()["questions"]) == MOST_OPEN
    assert bee.question("May we, too?").status_code == 201
    with made.store() as store:
        asked = [one for one in store.questions.all() if one.team == TEAM]
        assert len(asked) == MOST_OPEN


ZALGO = "a" + "\u0301" * (MOST_MARKS + 1)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("<script>alert(1)</script><!--\"'`{{7*7}}{% raw %}", True),
        ("=HYPERLINK(1)", True),
        ("האם מותר מאוורר? 12 < 34", True),
        ("هل يجوز؟", True),
        ("สิ่งนี้ได้ไหม", True),
        ("a" + "\u0301" * MOST_MARKS, True),
        (ZALGO, False),
        ("a\u200bb", False),
        ("\u202eevil", False),
        ("\u2066evil\u2069", False),
        ("\ufeffevil", False),
        ("a\u2028b", False),
        ("\U000e0041", False),
        ("\ud800", False),
        ("\u3164 \u2800", False),
        ("x" * 10_000, False),
        ("\n" * 10_000, False),
        ("x" * LONGEST_TEXT, True),
    ],
)
def test_a_question_in_any_script_is_text_and_nothing_hides_in_it(
    asking: TeamBrowser,
    made_for_asking: Day,
    text: str,
    is_taken: bool,
) -> None:
    given = asking.question(text)
    assert given.status_code == (201 if is_taken else 400), given.text
    if is_taken:
        newest = asking.view()["questions"][0]
        assert newest["text"] == text
    for page in (asking.ask("GET", "/team/"), asking.ask("GET", "/team/live")):
        assert "<script>alert" not in page.text
    if is_taken:
        key = read_secrets(made_for_asking.folder)[1].hex()
        number = given.json()["id"]
        path = f"/operator/questions/{number}/answer"
        answered = server_of(made_for_asking).ask(
            "POST", path, key, json={"answer": "Yes."}
        )
        assert answered.ok, answered.text


@pytest.fixture(scope="module")
def made_for_asking(hall: Day) -> Day:
    return hall


@pytest.fixture(scope="module")
def asking(made_for_asking: Day) -> TeamBrowser:
    return browser_of(server_of(made_for_asking), "cat")


def test_a_form_with_ten_thousand_characters_comes_back_as_text(hall: Day) -> None:
    dog = browser_of(server_of(hall), "dog")
    text = "</textarea><script>" * 500
    sent = dog.ask(
        "POST",
        "/team/questions",
        data={"text": text, "csrf": dog.csrf},
    )
    assert sent.status_code == 400
    assert "<script>" not in sent.text.replace('<script src="/static', "")
    assert sent.headers["Cache-Control"] == "no-store"
    assert sent.headers.get("Content-Encoding") is None, "it has the CSRF token"


def test_a_public_page_of_a_name_says_nothing_of_teams_that_there_are_not(
    hall: Day,
) -> None:
    server = server_of(hall)
    answers = {
        server.ask("GET", f"/teams/{quote(team, safe='')}").text.replace(team, "")
        for team in ("nobody", "ANT", "ant ", "../team", "\uff11")
    }
    assert len(answers) == 1
