"""A whole contest day through the console: what an operator clicks, what the teams' systems get, what the hall sees."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import requests

from lpirc_testsets import read_ground_truth, synthesize
from tests.browser import visit
from tests.contest_day import (
    PASSWORD,
    Day,
    Meter,
    contest_day,
    problem,
    until,
)
from tests.end_to_end.console_acts import act, start_heat, until_shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEAMS = ("ant", "bee", "cat")
SECOND = '[[stations]]\nname = "station-2"\nmeter = "{}"\nupdate_interval_s = 0.1\n'
HTML = {"Accept": "text/html"}


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    """Three teams and two stations, served."""
    test_set = synthesize(
        tmp_path / "set",
        images=6,
        categories=3,
        seed=4,
        size=(96, 64),
    ).folder
    with contest_day(
        tmp_path / "contest",
        test_set,
        auto_arm=False,
        teams=TEAMS,
    ) as made:
        second = Meter(made.folder / "meter.log", load="constant:9W")
        made.meters.append(second)
        config = made.folder / "contest.toml"
        config.write_text(config.read_text() + SECOND.format(second.address))
        made.serve()
        yield made


def row(page: Page, run: int) -> str:
    return page.inner_text(f"#run-{run}")


def log_in(
    day: Day,
    team: str,
    password: str = PASSWORD,
) -> requests.Response:
    assert day.server is not None
    return day.server.ask(
        "POST",
        "/v1/session",
        json={"team": team, "password": password},
    )


def knock(day: Day, team: str) -> dict[str, Any]:
    """Ask again until the heat has started, as a team's system does; its light goes out soon after it stops asking."""
    answers = [log_in(day, team)]
    problem(answers[0], 409, "not-started")

    def is_let_in() -> bool:
        answers.append(log_in(day, team))
        return answers[-1].status_code == 201

    until(is_let_in, pause_s=0.5)
    session: dict[str, Any] = answers[-1].json()
    return session


def take_part(
    day: Day,
    token: str,
    run: int,
    share: float,
) -> None:
    """What a team's system does: fetches all images and posts a `share` of the true boxes, some of every image.

    An image without rows is answered by those served after it, so the last one served needs a row, whichever it is.
    """
    truth = read_ground_truth(day.testset)
    with day.store() as store:
        order = store.runs.image_order(run)
    images = np.argsort(order)[truth.image - 1] + 1
    rows = np.column_stack(
        [images, truth.category, np.full(len(images), 0.9), truth.boxes]
    )
    spread = np.linspace(0, len(rows) - 1, round(len(rows) * share)).astype(np.int64)
    assert set(images[spread]) == set(images)
    posted = day.post(day.fetched(token), rows[spread].tolist())
    assert posted.status_code == 202


def log_out(day: Day, token: str) -> None:
    assert day.server is not None
    assert day.server.ask("DELETE", "/v1/session", token).status_code == 200


def ranked(day: Day) -> list[str]:
    """The teams on the public board, first to last."""
    assert day.server is not None
    return [
        one["team"]
        for one in day.server.ask("GET", "/board.json").json()["ranking"]
        if one["rank"]
    ]


def test_an_operator_runs_the_whole_day_from_the_console(
    day: Day,
    browser: Browser,
) -> None:
    assert day.server is not None
    key = (day.folder / "operator-key").read_text().strip()
    with visit(browser, f"{day.server.url}/operator/", refused=[401]) as page:
        enter(page, "wrong")
        until_shown(page, "[role=alert]", "wrong")
        enter(page, key)
        until_shown(page, "h1", "Test day")
        problem(log_in(day, "ant", "guess"), 401, "bad-credentials")
        until_shown(page, "[aria-labelledby=refusals]", "bad-credentials")
        until_shown(page, "[aria-labelledby=refusals]", "operator Ada")

        a_heat(page, day)
        a_void_and_a_repeat(page, day)
        a_freeze_and_an_unveiling(page, day)
        reports(page)
        events = day_events(day)
        acts = [
            (one.get("operator"), one.get("user"), one.get("action")) for one in events
        ]
        for action in ("log-in", "draw", "arm", "void", "judge"):
            assert ("key", "Ada", action) in acts, action


def enter(page: Page, password: str) -> None:
    page.fill("[name=name]", "Ada")
    page.fill("[name=password]", password)
    page.get_by_role("button", name="Log in").click()


def a_heat(page: Page, day: Day) -> None:
    """Ant at 36 W and bee at 9 W run head to head; ant logs out, bee is closed by the operator; both are judged."""
    act(page, "Draw the queue by lot")
    until_shown(page, "#queue", "3")
    teams = {"sides/station-1": "ant", "sides/station-2": "bee"}
    act(page, "Make a heat", name="final", **teams)
    with ThreadPoolExecutor(2) as at_the_door:
        let_in = [at_the_door.submit(knock, day, team) for team in ("ant", "bee")]
        page.locator(".heat.good").wait_for()
        start_heat(page, "final")
        ant, bee = (one.result() for one in let_in)
    for one in (ant, bee):
        take_part(day, one["token"], one["run"], share=0.8)
    until_shown(page, "#station-station-1", "6 of 6")
    log_out(day, ant["token"])
    act(page, f"Close run {bee['run']}")
    act(page, "Judge all closed runs")
    for run in (1, 2):
        until_shown(page, f"#run-{run} .mark", "judged")
    assert day.run(bee["run"]).closed_by == "operator"


def a_void_and_a_repeat(page: Page, day: Day) -> None:
    """Cat's board fails in its run, which is void; its repeat counts."""
    act(page, "Arm cat", station="station-2")
    token = log_in(day, "cat").json()["token"]
    until_shown(page, "#station-station-2", "cat")
    act(page, "Void run 3", reason="the board lost power")
    until_shown(page, "#run-3", "the board lost power")
    assert day.server is not None
    problem(day.server.ask("GET", "/v1/images/1", token), 409, "window-closed")
    until_shown(page, "#station-station-2", "Free")
    act(page, "Arm cat", station="station-2")
    token = log_in(day, "cat").json()["token"]
    take_part(day, token, 4, share=1.0)
    log_out(day, token)


def a_freeze_and_an_unveiling(page: Page, day: Day) -> None:
    """What is judged after the freeze is seen only as it is unveiled, the last place first."""
    until_shown(page, "#run-4 .mark", "closed")
    while ranked(day) != ["bee", "ant"]:
        page.wait_for_timeout(100)
    act(page, "Freeze the board")
    until_shown(page, "nav", "frozen")
    act(page, "Judge run 4")
    until_shown(page, "#run-4 .mark", "judged")
    assert ranked(day) == ["bee", "ant"]
    seen = []
    for shown in ("1 of 3", "2 of 3", "3 of 3", "live"):
        act(page, "Unveil the board")
        seen.append(ranked(day))
        # Else the next press is refused: it would not know of this one.
        until_shown(
            page,
            "nav",
            shown,
        )
    assert [one[-1] for one in seen] == ["ant"] * 4
    assert seen[-1] == ["cat", "bee", "ant"]


def reports(page: Page) -> None:
    """A run's report opens from its row; it may run no script."""
    told = page.context.expect_event(
        "response",
        lambda one: one.url.endswith("/runs/4/report"),
    )
    with told as answer, page.expect_popup() as opened:
        page.click("#report-4")
    opened.value.wait_for_load_state()
    assert "cat" in opened.value.inner_text("h1")
    assert "script" not in answer.value.headers["content-security-policy"]
    opened.value.close()


def day_events(day: Day) -> list[dict[str, object]]:
    with day.store() as store:
        return [one["detail"] for one in store.log.newest_after(0, 1000)[1]]
