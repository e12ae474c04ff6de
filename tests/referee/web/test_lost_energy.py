"""A power cut of a meter in mid-run, over a real server: one line in every view, until the run is void."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from lpirc_power.visa.link import Link
from referee.contest import read_secrets
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, is_running, until, workers_of
from tests.referee.web.two_stations import OTHER_TEAM, two_stations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
LINE = f"The energy of run 1 of {TEAM} is lost: the meter's integrator was reset, or the meter was switched off, seen "
CONTEST = "Test day"
WAY_OUT = " s into its window; void the run and arm another."


def warned(day: Day) -> dict[str, list[str]]:
    """What `referee status` warns of, by the line that it stands under."""
    found: dict[str, list[str]] = {}
    under = ""
    for line in day.refers("status").stdout.splitlines():
        if line.lstrip().startswith("! "):
            found[under].append(line.strip(" !"))
            continue
        if line.startswith("    "):  # its way out
            continue
        under = line.split(", ")[0]
        found[under] = []
    return {line: warnings for line, warnings in found.items() if warnings}


def running(day: Day) -> Day:
    """Both teams are in their window, and the first has been warned of its boxes."""
    for team, place in (
        (TEAM, "station-1"),
        (OTHER_TEAM, "station-2"),
    ):
        assert day.refers("run", "arm", team, "--station", place).returncode == 0
        token = day.fetched(day.login(team)["token"])
        boxes = (
            [[1, 1, 0.5, 0.1, 0.1, 0.9, 0.9]]
            if team == TEAM
            else [[1, 1, 0.5, 1, 1, 90, 90]]
        )
        assert day.post(token, boxes).status_code == 202
    with day.store() as store:
        # TIME shows that it begins again.
        until(
            lambda: any(one.integrator_s >= 2 for one in store.readings.of_run(1, 0.0))
        )
    return day


def in_browser(page: Page, url: str, line: str | None) -> None:
    """The page at `url` soon warns of this line, once, and of no other loss."""
    if page.url != url:
        page.goto(url)
    from playwright.sync_api import expect

    expect(
        page.locator("main .notice.bad > .name, main .notice.bad.name")
    ).to_have_text([] if line is None else [line])


def log_in(page: Page, day: Day) -> None:
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", read_secrets(day.folder)[1].hex())
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_power_cut_is_one_line_in_every_view_and_state_until_the_run_is_void(
    day: Callable[..., Day],
    browser: Browser,
) -> None:
    made = running(two_stations(day, auto_arm=False))
    first = made.server
    assert first is not None
    made.meter.kill()
    until(lambda: "station-1: meter lost" in warned(made))
    away, team_s = warned(made)["station-1: meter lost"]
    assert away.startswith(("No meter answers", "The link to the meter"))
    assert "all coordinates in 0..1" in team_s
    made.revive_meter()
    place = "station-1: meter not integrating"
    until(lambda: place in warned(made))
    # For a moment the meter is only said not to integrate.
    until(lambda: warned(made).get(CONTEST, [""])[0].startswith(LINE))
    assert warned(made).keys() == {CONTEST, place}, "the other station is well"
    (line,) = warned(made)[CONTEST]
    (also,) = warned(made)[place]
    assert line[-len(WAY_OUT) :] == WAY_OUT
    assert also == team_s

    workers = workers_of(first.pid)
    first.kill()
    until(lambda: not any(map(is_running, workers)))
    server = made.serve()
    until(lambda: place in made.refers("status").stdout)
    assert warned(made) == {CONTEST: [line]}, (
        "it is no new loss; of its rows the team was warned before"
    )

    board = f"{server.url}/"
    console = f"{server.url}/operator/"
    with visit(browser, console) as operators, visit(browser, board) as publics:
        log_in(operators, made)

        def shown_everywhere(line: str | None) -> None:
            in_browser(operators, console, line)
            in_browser(publics, board, line)
            assert made.refers("run", "show", "1").stdout.count(str(line)) == (
                line is not None
            )
            assert "is lost" not in made.refers("run", "show", "2").stdout
            document = json.loads(made.refers("run", "show", "1", "--json").stdout)
            assert document["energy_lost"] == line

        shown_everywhere(line)
        assert operators.locator("#station-station-1 .notice").all_inner_texts() == []
        assert_accessible(operators)
        assert_accessible(publics)
        assert made.refers("run", "close", "1").stdout.endswith("no valid energy.\n")
        shown_everywhere(line)
        assert warned(made) == {CONTEST: [line]}
        assert made.refers("judge", "1").returncode == 0
        shown_everywhere(line)
        assert warned(made) == {CONTEST: [line]}
        returncode = made.refers(
            "run", "void", "1", "--reason", "the meter had no power"
        ).returncode
        assert returncode == 0
        shown_everywhere(None)
        assert warned(made) == {}
        assert made.refers("run", "unvoid", "1").returncode == 0
        assert warned(made) == {CONTEST: [line]}


def test_an_integrator_that_is_reset_by_hand_and_started_again_is_a_loss_too(
    day: Callable[..., Day],
) -> None:
    made = running(two_stations(day, auto_arm=False))
    with contextlib.closing(Link(made.meter.address)) as panel:
        panel.write(":INTEGRATE:STOP;:INTEGRATE:RESET;:INTEGRATE:START")
        assert panel.query("*OPC?") == "1"
    place = "station-1: meter integrating"
    begins = f"The energy of run 1 of {TEAM} is lost: the meter's integrator was "
    until(lambda: warned(made).get(CONTEST, [""])[0].startswith(begins))
    (line,) = warned(made)[CONTEST]
    (of_rows,) = warned(made)[place]
    assert of_rows.startswith("The team was warned")
    assert made.refers("run", "close", "1").stdout.endswith("no valid energy.\n")
    assert warned(made) == {CONTEST: [line]}
