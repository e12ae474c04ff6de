"""At the stations: heats, a referee that is killed, a meter that is lost, a void run and its repeat."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.end_to_end.console_acts import act, confirm, start_heat, until_shown
from tests.end_to_end.hall import Board
from tests.end_to_end.persons import Day, fits, whole

if TYPE_CHECKING:
    from playwright.sync_api import Page

SHOWS_A_GAP = """selector => {
  const canvas = document.querySelector(selector), row = Math.round(canvas.height * .55);
  const {data} = canvas.getContext("2d").getImageData(0, row, canvas.width, 1);
  const drawn = Array.from({length: canvas.width}, (_, x) => data[4 * x + 3] ? "x" : " ").join("");
  return /x {4,}x/.test(drawn.trim());
}"""
"""Below the line of power the chart is filled, but not where nothing was read."""
PULLED = "the plug of the meter was pulled"


def made(day: Day, name: str) -> list[Board]:
    """A heat of the first two teams of the queue, as the dialog proposes it, and their boards."""
    waiting = day.ruth.locator("tr[id^=queue-]")
    if not waiting.count():
        act(
            day.ruth,
            "Draw the queue by lot",
        )
        waiting.first.wait_for()
    sentence = act(day.ruth, "Make a heat", round="1")
    assert sentence.startswith(f"Heat {name} is made: ")
    teams = re.findall(r"(team [A-P]) at station-\d", sentence)
    return [day.board(team) for team in teams]


def started(day: Day, name: str) -> list[Board]:
    """The boards knock, all lights are on, ruth starts, and the boards are let in."""
    boards = made(day, name)
    with ThreadPoolExecutor(len(boards)) as at_the_door:
        let_in = [at_the_door.submit(board.enter_at_the_start) for board in boards]
        day.ruth.locator(".heat.good").wait_for()
        start_heat(day.ruth, name)
        for one in let_in:
            one.result()
    return boards


def a_heat(day: Day, name: str) -> None:
    boards = started(day, name)
    for board in boards:
        board.work_and_leave()
    for board in boards:
        until_judged(
            day.ruth,
            board.run,
        )


def until_judged(page: Page, run: int) -> None:
    until_shown(
        page,
        f"#run-{run} .mark",
        "judged",
    )


def a_heat_with_a_killed_referee(day: Day, name: str) -> None:
    """SIGKILL in mid-run, and the same command line: both runs go on, with their tokens and their meters."""
    first, second = started(day, name)
    first.fetch()
    first.post()
    day.hall.referee.kill_all()
    day.ruth.locator("#lost").filter(has_text="What you see is").wait_for()
    fits(day.ruth)
    day.hall.restart()
    day.ruth.locator("#lost").wait_for(state="hidden")
    until_shown(
        day.ruth,
        "#station-station-1",
        "meter integrating",
    )
    day.ruth.wait_for_function(SHOWS_A_GAP, arg="#power-station-1 canvas")
    fits(day.ruth)
    first.leave()
    second.work_and_leave()
    for board in (first, second):
        until_judged(
            day.ruth,
            board.run,
        )


def a_heat_with_a_lost_meter(day: Day, name: str) -> Board:
    """The second meter's plug is pulled in mid-run. The console says so, and its line's button voids the run."""
    ruth = day.ruth
    first, second = started(day, name)
    second.fetch()
    day.hall.meters[1].kill()
    lost = f"The meter of station-2 is lost while run {second.run} of {second.team}"
    until_shown(
        ruth,
        "#attention li",
        lost,
    )
    until_shown(
        ruth,
        "#station-station-2",
        "so there is no score",
    )
    until_shown(
        ruth,
        "#station-station-1",
        "meter integrating",
    )
    whole(ruth)
    ruth.goto(f"{day.hall.url}/operator/heats/{name}")
    until_shown(
        ruth,
        ".side",
        "Power as last read",
    )
    fits(ruth)
    ruth.goto(f"{day.hall.url}/operator/runs/{second.run}")
    until_shown(
        ruth,
        "#attention li",
        lost,
    )
    fits(ruth)
    ruth.get_by_role("button", name=f"Void run {second.run} …", exact=True).click()
    confirm(
        ruth,
        reason=PULLED,
    )
    ruth.get_by_role("link", name="All runs").click()
    until_shown(
        ruth,
        f"#run-{second.run}",
        PULLED,
    )
    until_shown(
        ruth,
        "#station-station-2",
        "It did not answer at the end",
    )
    until_shown(
        ruth,
        "#attention li",
        "The meter of station-2: It did not answer",
    )
    first.work_and_leave()
    until_judged(
        ruth,
        first.run,
    )
    fits(ruth)
    return second


def a_repeat_that_needs_a_review(day: Day, board: Board) -> None:
    """The team runs once more, with more power than the fixed range takes; eve lets that stand."""
    day.hall.switch_on(2, "constant:36W")
    act(
        day.ruth,
        f"Arm {board.team}",
        station="station-2",
    )
    board.enter()
    board.work_and_leave()
    review = f"Run {board.run} of {board.team} is in review"
    until_shown(
        day.eve,
        "#attention li",
        review,
    )
    until_shown(
        day.eve,
        "#attention li",
        "over-range",
    )
    fits(day.eve)
    line = day.eve.locator("#attention li").filter(has_text=review)
    line.get_by_role("button", name=f"Let stand run {board.run} …").click()
    confirm(
        day.eve,
        note="The range was too small; the energy is still its own.",
    )
    until_shown(
        day.eve,
        f"#run-{board.run}",
        "let stand by eve",
    )
    day.hall.switch_on(2, "constant:9W")
