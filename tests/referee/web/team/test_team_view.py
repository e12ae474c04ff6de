"""What a team's document says of its runs: figures if the contest lets it, receipts as they were given, its report."""

from __future__ import annotations

import html
import http.client
import json
import logging
import re
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets.plugins import Plugin
from referee.contest import read_secrets
from referee.seams import Pages
from referee.web.plugged_pages import PluggedPages
from tests import warm_programs
from tests.contest_day import PASSWORD, TEAM, Day, Server, problem, until
from tests.referee.web.team.team_sessions import TeamBrowser, log_in, team_browser
from tests.referee.web.two_stations import asked_from, two_stations
from tests.timeouts import TIMEOUT_S

ELSEWHERE = "127.0.0.9"


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def operate(day: Day, path: str, **body: str) -> None:
    key = read_secrets(day.folder)[1].hex()
    given = server_of(day).ask("POST", f"/operator/{path}", key, json=body)
    assert given.ok, given.text


def sees_score(day: Day) -> Day:
    """The same contest, in which teams see figures; served."""
    settings = day.folder / "contest.toml"
    text = settings.read_text()
    settings.write_text(
        text.replace("teams_see_score = false", "teams_see_score = true")
    )
    day.serve()
    return day


def newest_run(browser: TeamBrowser) -> dict[str, Any]:
    run: dict[str, Any] = browser.view()["runs"][0]
    return run


def basic_from(server: Server, address: str, password: str) -> int:
    """The status of the team's document, asked for from one of this machine's loopback addresses."""
    connection = http.client.HTTPConnection(
        server.host, server.port, TIMEOUT_S, source_address=(address, 0)
    )
    with closing(connection):
        credentials = b64encode(f"{TEAM}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}"}
        connection.request("GET", "/v1/team", headers=headers)
        return connection.getresponse().status


@pytest.fixture
def over(day: Callable[..., Day]) -> tuple[Day, TeamBrowser, list[Any]]:
    """A closed run of the team, with what its two posts and its log-out were answered."""
    made = day(auto_arm=True)
    token = made.fetched(made.login()["token"])
    answers = [made.post(token).json() for _ in range(2)]
    left = server_of(made).ask("DELETE", "/v1/session", token).json()
    return made, team_browser(server_of(made)), [*answers, left]


def test_power_and_energy_are_told_only_where_teams_may_see_figures(
    day: Callable[..., Day],
) -> None:
    made = day()
    made.login()
    ant = team_browser(server_of(made))
    opened = newest_run(ant)["open"]
    assert opened["figures"] is None
    assert opened["remaining_s"] > 0
    assert "Power" not in ant.ask("GET", "/team/live").text


def test_what_the_meter_says_ends_with_the_freeze(day: Callable[..., Day]) -> None:
    made = sees_score(day(served=False))
    made.login()
    ant = team_browser(server_of(made))
    until(lambda: (newest_run(ant)["open"]["figures"]["power_w"] or 0) > 35)
    figures = newest_run(ant)["open"]["figures"]
    assert figures["energy_wh"] > 0
    assert figures["reading_age_s"] < TIMEOUT_S
    assert figures["power"].keys() == {"elapsed_s", "power_w"}
    operate(made, "board/freeze")
    until(lambda: newest_run(ant)["open"]["figures"] is None)
    assert ant.view()["hides_news"]


def test_the_receipts_are_those_that_the_posts_and_the_log_out_were_given(
    over: tuple[Day, TeamBrowser, list[Any]],
) -> None:
    _, ant, (first, second, left) = over
    run = newest_run(ant)
    assert run["state"] == "closed"
    assert (run["posts"], run["detections_accepted"]) == (2, 4)
    told = ant.ask("GET", f"/team/runs/{run['run']}/receipts").json()
    for answer, receipt in zip((first, second), told["receipts"], strict=True):
        given = answer["receipt"] | {"sha256": answer["sha256"]}
        given |= {name: answer[name] for name in ("accepted", "received_total")}
        given.pop("form")
        assert receipt == given
    assert run["receipts"] == told["receipts"][::-1]
    assert told["closing"] == left["receipt"]
    assert run["closing"].items() <= left["receipt"].items()


def test_the_report_is_the_one_of_the_command_and_follows_the_published_result(
    over: tuple[Day, TeamBrowser, list[Any]],
) -> None:
    made, ant, _ = over
    number = newest_run(ant)["run"]
    path = f"/team/runs/{number}/report"
    problem(ant.ask("GET", path), 409, "run-state")
    operate(made, f"runs/{number}/judge")
    until(lambda: newest_run(ant)["result"] is not None)
    result = newest_run(ant)["result"]
    board = server_of(made).ask("GET", "/board.json").json()
    assert result == board["teams"][TEAM]["attempts"][0]
    assert result["score"] == board["ranking"][0]["score"]
    first = ant.ask("GET", path)
    assert first.status_code == 200, first.text
    assert "default-src 'none'" in first.headers["Content-Security-Policy"]
    named = f'filename="report-run-{number}.html"'
    assert named in first.headers["Content-Disposition"]
    (written,) = (made.folder / "reports").glob("*.html")
    assert first.text == written.read_text()
    written.write_text("as kept")
    assert ant.ask("GET", path).text == "as kept", "it is written once"
    operate(made, "board/freeze")
    problem(ant.ask("GET", path), 409, "board-state")


def boxes_of_one_image(day: Day, images: int) -> list[list[float]]:
    """The boxes of the test set's first image, for every image of a run: right once, so the mAP has many digits."""
    truth = json.loads((day.testset / "ground_truth.json").read_text())
    boxes = [one for one in truth["annotations"] if one["image_id"] == 1]
    rows = []
    for number in range(1, images + 1):
        for box in boxes:
            left, top, width, height = box["bbox"]
            corners = [left, top, left + width - 1, top + height - 1]
            rows.append([number, box["category_id"], 0.5, *corners])
    return rows


def test_a_report_follows_a_result_whose_published_figures_are_rounded(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=True)
    login = made.login()
    token = made.fetched(login["token"])
    assert made.post(token, boxes_of_one_image(made, login["images"])).ok
    server_of(made).ask("DELETE", "/v1/session", token)
    ant = team_browser(server_of(made))
    number = newest_run(ant)["run"]
    operate(made, f"runs/{number}/judge")
    until(lambda: newest_run(ant)["result"] is not None)
    exact = json.loads(made.refers("judge", str(number), "--json").stdout)["map"]
    published = newest_run(ant)["result"]
    assert published["map"] == round(exact, 5) != exact
    answer = ant.ask("GET", f"/team/runs/{number}/report")
    assert answer.status_code == 200, answer.text
    # More digits tell of the ground truth, also those of the document within the report.
    assert str(exact)[:9] not in answer.text
    told = re.search(r"\"score\": ([0-9.]+)", html.unescape(answer.text))
    assert told is not None
    assert float(told[1]) == published["score"]


def test_a_person_logs_in_from_where_no_station_is_and_a_board_does_not_wait_for_it(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, clients=("127.0.0.1", "127.0.0.2"))
    server = server_of(made)
    body = {"team": TEAM, "password": PASSWORD}
    status, _ = asked_from(server, ELSEWHERE, "POST", "/v1/session", body=body)
    assert status == 403
    status, _ = asked_from(server, ELSEWHERE, "GET", "/team/login")
    assert status == 200
    for password, status in [("wrong", 401)] * 10 + [("another", 429), (PASSWORD, 429)]:
        given = basic_from(server, ELSEWHERE, password)
        assert given == status
    # A guesser's address is the only one that waits.
    assert log_in(server).headers["Location"] == "/team/"
    assert basic_from(server, ELSEWHERE, PASSWORD) == 200


@pytest.mark.parametrize("found", [[{"file": "a"}], None, [7]])
def test_a_plug_in_that_fails_leaves_out_what_it_would_tell(
    found: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    plugin = Plugin(next(iter(entry_points(group="lpirc.pages"))), None)
    good = [{"state": "scored", "file": "a.csv"}]
    offers = (
        (plugin, Pages(handed_in=lambda _team: found)),
        (plugin, Pages(handed_in=lambda team: good if team == TEAM else [])),
        (plugin, Pages()),
    )
    with caplog.at_level(logging.ERROR):
        assert PluggedPages(offers).handed_in(TEAM) == good
    assert "it failed" in caplog.text
    assert PluggedPages(offers[1:]).handed_in("bee") == []


def test_the_command_tells_the_same_in_plain_lines_and_as_json(
    over: tuple[Day, TeamBrowser, list[Any]],
    tmp_path: Path,
) -> None:
    made, ant, _ = over
    ant.question("May we use a fan?\nOr two?")
    operate(made, "questions/1/answer", answer="One.")
    command = ["lpirc-client", "status", server_of(made).url, "--team", TEAM]
    environment = {"LPIRC_PASSWORD": PASSWORD, "NO_COLOR": "1"}

    def told(*more: str, password: str = PASSWORD) -> Any:
        return warm_programs.run(
            [*command, *more],
            TIMEOUT_S,
            tmp_path,
            environment | {"LPIRC_PASSWORD": password},
        )

    told_json = told("--json")
    assert told_json.returncode == 0, told_json.stderr
    document = json.loads(told_json.stdout)
    assert document | {"utc": ""} == ant.view() | {"utc": ""}
    lines = told().stdout.splitlines()
    assert lines[:3] == [
        "ant at Test day",
        "queue: not queued; attempts used: 1",
        "run 1 at station-1: closed; 2 of 6 images answered, 4 detections in 2 posts",
    ]
    assert lines[-3:] == [
        "question: May we use a fan?",
        "Or two?",
        "  answer: One.",
    ]
    wrong = told(password="wrong")
    assert wrong.returncode == 1
    assert wrong.stderr == (
        "lpirc-client: Team or password is wrong: the team was 'ant', the password LPIRC_PASSWORD\n"
    )
    with_colon = warm_programs.run(
        ["lpirc-client", "status", server_of(made).url, "--team", "a:b"],
        TIMEOUT_S,
        tmp_path,
        environment,
    )
    assert with_colon.returncode == 1
    assert "colon" in with_colon.stderr
