"""The public replays in a real browser, from a real server that makes them by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, contest_day, until
from tests.referee.judging.judged_runs import closed_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["browser"]
LONG = "a name of a hundred characters" * 3 + "0123456789"
MARKUP = "<script>document.title = 'owned'</script>"
TEAMS = (TEAM, LONG, MARKUP)
CLOCK = "document.querySelector('[data-clock-element]').textContent"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[Day]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("replays") / "contest"
        made = stack.enter_context(contest_day(folder, small_set.folder, teams=TEAMS))
        with open_contest(folder) as contest:
            for seed, team in enumerate(TEAMS):
                run = closed_run(contest, team, 1.0 + seed, seed)
                judge(contest, run.id, Clock())
        made.serve()
        until(lambda: len(listed(made)) == len(TEAMS))
        yield made


def listed(hall: Day) -> list[int]:
    assert hall.server is not None
    runs = hall.server.ask("GET", "/replay/runs.json").json()["runs"]
    return [run["run"] for run in runs]


def places(hall: Day) -> list[dict[str, float]]:
    assert hall.server is not None
    board = hall.server.ask("GET", "/board.json").json()
    ranked: list[dict[str, float]] = board["ranking"]
    return ranked


def url(hall: Day, path: str) -> str:
    assert hall.server is not None
    return hall.server.url + path


def ready(page: Page, runs: str) -> None:
    page.locator(f".replay[data-ready='{runs}']").wait_for()


def test_two_runs_are_played_beside_each_other_on_one_clock(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall, "/replay")) as page:
        assert_accessible(page)
        page.get_by_role("button", name="Play beside run 1").first.click()
        ready(page, "1 2")
        page.keyboard.press("End")
        assert page.evaluate(CLOCK) == "1:00 of 1:00"
        names = page.locator(".lane h2").all_inner_texts()
        assert names == [f"Run 1 of {TEAM}", f"Run 2 of {LONG}"]
        scores = page.locator("[data-figure=score]").all_inner_texts()
        assert scores == sorted(scores, reverse=True)
        first, second = (place["score"] for place in places(hall)[:2])
        apart = f"{first - second:.4f} ahead"
        finish = page.locator("[data-finish-element]")
        assert finish.inner_text() == f"Photo finish: {apart}: {TEAM}."
        page.keyboard.press("Home")
        assert finish.inner_text() == ""
        page.keyboard.press("End")
        status = page.locator("[data-status-element]").inner_text()
        assert status.startswith("At 1:00. Run 1 of ant: 5 images answered")
        label = page.locator("[data-picture]").first.get_attribute("aria-label")
        assert (
            label
            == "Run 1 of ant. 5 images served, 5 answered, of 5 shown, one cell each."
        )


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_player_fits_every_screen_and_is_accessible(
    hall: Day,
    browser: Browser,
    scheme: str,
) -> None:
    with visit(browser, url(hall, "/replay/2/3")) as page:
        ready(page, "2 3")
        assert page.title() != "owned"
        page.emulate_media(color_scheme=scheme)
        page.locator("summary").click()
        for width in (360, 768, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert_accessible(page)
            heights = page.evaluate(HEIGHTS)
            assert min(heights) >= 44, heights


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_list_fits_every_screen_and_is_accessible(
    hall: Day,
    browser: Browser,
    scheme: str,
) -> None:
    with visit(browser, url(hall, "/replay"), color_scheme=scheme) as page:
        for width in (360, 768, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert_accessible(page)


def test_what_is_pressed_on_a_touch_screen_is_44_pixels_high(
    hall: Day,
    browser: Browser,
) -> None:
    phone = {"has_touch": True, "is_mobile": True, "size": (360, 740)}
    with visit(browser, url(hall, "/replay/1"), **phone) as page:
        ready(page, "1")
        heights = page.evaluate(TARGETS)
        assert min(heights) >= 44, heights


TARGETS = """() => [...document.querySelectorAll("main :is(button, select, input, a, summary)")]
  .filter(one => one.getClientRects().length).map(one => one.getBoundingClientRect().height)"""
HEIGHTS = """() => [...document.querySelectorAll(".controls :is(button, select, input)")]
  .filter(one => one.checkVisibility())
  .map(one => one.getBoundingClientRect().height)"""


def test_the_projector_plays_by_itself_the_first_two_and_then_each_alone(
    hall: Day,
    browser: Browser,
) -> None:
    size = (1920, 1080)
    with visit(browser, url(hall, "/replay?view=projector"), size=size) as page:
        ready(page, "1 2")
        assert page.evaluate("document.documentElement.scrollHeight") <= 1080
        assert page.evaluate("document.documentElement.scrollWidth") <= 1920
        sizes = page.evaluate(LETTERS)
        assert min(sizes) >= 60, sizes
        assert_accessible(page)
        page.get_by_text("1:00 of 1:00").wait_for()
        ready(page, "1")


def test_the_projector_takes_turns_between_the_board_and_the_first_replay(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall, "/replay")) as page:
        for script, times in (
            ("projector.js", ("TURN_MS = 30000", "TURN_MS = 300")),
            ("replay.js", ("REST_MS = 9000", "REST_MS = 300")),
        ):
            hasten(page, script, *times)
        page.goto(url(hall, "/?view=projector&turn=replays"))
        page.wait_for_url("**/replay?view=projector&turn=board")
        ready(page, "1 2")
        page.wait_for_url("**/?view=projector&turn=replays")
        page.locator(".idle").wait_for()


def hasten(page: Page, script: str, slow: str, fast: str) -> None:
    """Shorten a time in a script, which is in seconds for people in a hall."""

    def answer(route: Route) -> None:
        text = route.fetch().text()
        assert slow in text
        route.fulfill(body=text.replace(slow, fast), content_type="text/javascript")

    page.route(f"**/static/{script}*", answer)


LETTERS = """() => [...document.querySelectorAll(".lane h2, .lane dd, .clock")]
  .filter(one => one.getClientRects().length).map(one => parseFloat(getComputedStyle(one).fontSize))"""


def test_with_reduced_motion_nothing_moves_more_than_once_a_second(
    hall: Day,
    browser: Browser,
) -> None:
    path = url(hall, "/replay/1")
    with visit(browser, path, reduced_motion="reduce") as page:
        ready(page, "1")
        page.evaluate(COUNT_DRAWINGS)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        seen = "() => window.frames_s >= 2.5 && [window.drawings, window.frames_s]"
        drawings, seconds = page.wait_for_function(seen).json_value()
        assert 1 <= drawings <= seconds + 2


COUNT_DRAWINGS = """() => {
  const clear = CanvasRenderingContext2D.prototype.clearRect, began = performance.now();
  window.drawings = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...place) {
    if (this.canvas.matches("[data-picture]")) window.drawings++;
    return clear.apply(this, place);
  };
  const look = () => { window.frames_s = (performance.now() - began) / 1000; requestAnimationFrame(look); };
  look();
}"""


def test_without_scripts_the_page_says_what_is_missing(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall, "/replay/1"), java_script_enabled=False) as page:
        notice = page.locator("noscript p")
        assert notice.is_visible()
        assert "drawn by a script" in notice.inner_text()
        assert page.get_by_text(TEAM, exact=True).is_visible()
