"""When a team's report shows the ground truth: as late as the public replays, whoever asks and whatever was written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contest_day import TEAM, Day, problem, until
from tests.referee.web.team.team_sessions import TeamBrowser, team_browser
from tests.referee.web.team.test_team_view import newest_run, operate, server_of

PAST = "2020-01-01T00:00:00+00:00"
FUTURE = "2999-01-01T00:00:00+00:00"
OF_TRUTH = "Average precision by category"
LEFT_OUT = "This report leaves out what tells of the ground truth"


def judged_day(
    day: Callable[..., Day], secret_until: str | None
) -> tuple[Day, TeamBrowser]:
    """A run of the team that is judged, and its browser."""
    made = day(served=False, auto_arm=False, teams=(TEAM, "bee"))
    if secret_until is not None:
        settings = made.folder / "contest.toml"
        line = f"ground_truth_secret_until = {secret_until}\n"
        settings.write_text(line + settings.read_text())
    made.serve()
    operate(made, "runs", team=TEAM)
    token = made.fetched(made.login()["token"])
    assert made.post(token).ok
    server_of(made).ask("DELETE", "/v1/session", token)
    operate(made, "runs/1/judge")
    ant = team_browser(server_of(made))
    until(lambda: newest_run(ant)["result"] is not None)
    return made, ant


def shows_truth(ant: TeamBrowser) -> bool:
    answer = ant.ask("GET", "/team/runs/1/report")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert (OF_TRUTH in answer.text) is not (LEFT_OUT in answer.text)
    return OF_TRUTH in answer.text


@pytest.mark.parametrize("secret_until", [None, FUTURE])
def test_a_report_hides_the_truth_before_its_date_and_for_ever_without_one(
    day: Callable[..., Day],
    secret_until: str | None,
) -> None:
    made, ant = judged_day(day, secret_until)
    assert not shows_truth(ant)
    # The operator has written the whole one: it is not the team's.
    key_report = made.refers("report", "1")
    assert key_report.returncode == 0
    assert not shows_truth(ant)


def test_a_team_that_asks_at_once_has_its_report_written_once_and_takes_few_slots(
    day: Callable[..., Day],
) -> None:
    made, ant = judged_day(day, None)

    def ask(_: int) -> tuple[int, int]:
        answer = ant.ask("GET", "/team/runs/1/report")
        files = [*made.folder.glob("reports/*.html")]
        inode = files[0].stat().st_ino if files else 0
        return answer.status_code, inode

    with ThreadPoolExecutor(8) as many:
        answers = [*many.map(ask, range(8))]
    statuses = [status for status, _ in answers]
    assert {*statuses} <= {200, 429}
    assert 200 in statuses
    assert ant.ask("GET", "/team/runs/1/report").status_code == 200
    (file,) = (made.folder / "reports").iterdir()
    inodes = {inode for status, inode in answers if status == 200}
    assert inodes == {file.stat().st_ino}, "each writing makes a new file"


def test_the_whole_report_is_there_only_while_no_team_is_about_to_run(
    day: Callable[..., Day],
) -> None:
    made, ant = judged_day(day, PAST)
    assert shows_truth(ant)
    operate(made, "queue/add", team="bee")
    assert not shows_truth(ant)
    operate(made, "queue/remove", team="bee")
    until(lambda: shows_truth(ant))
    operate(made, "runs", team="bee")
    assert not shows_truth(ant), "at once, not when the board is published next"
    operate(made, "runs/2/void", reason="a test")
    until(lambda: shows_truth(ant))
    operate(made, "board/freeze")
    problem(ant.ask("GET", "/team/runs/1/report"), 409, "board-state")
    bee = team_browser(server_of(made), "bee")
    problem(bee.ask("GET", "/team/runs/1/report"), 404, "run-unknown")
