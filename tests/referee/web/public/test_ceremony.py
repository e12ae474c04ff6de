"""The unveiling as the hall sees it: a new place has the screen to itself, key by key, and the prizes at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lpirc_testsets import TestSet
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import Day, problem
from tests.referee.web.public.hall_of_stations import (
    LONG_NAMES,
    ask,
    hall_of,
    key_of,
    names,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
TEAMS = 5
HD = (1920, 1080)
HEIGHTS = """() => {
  const place = document.querySelector(".place"), [animation] = place.getAnimations();
  return [1000, 3000, 6000, 6500, 6900, 7100].map(at => {
    animation.currentTime = at;
    return [place.clientHeight / innerHeight, Number(getComputedStyle(place).opacity)];
  });
}"""


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[Day]:
    with hall_of(TEAMS, tmp_path / "contest", small_set.folder) as made:
        yield made


def as_operator(hall: Day) -> dict[str, Any]:
    """The state of a browser profile in which the operator is logged in."""
    assert hall.server is not None
    form = {"name": "jo", "password": key_of(hall)}
    answer = hall.server.ask(
        "POST", "/operator/login", data=form, allow_redirects=False
    )
    ((name, value),) = answer.cookies.items()
    cookie = {"name": name, "value": value, "domain": hall.server.host, "path": "/"}
    cookie |= {"expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}
    return {"cookies": [cookie], "origins": []}


def address(hall: Day, path: str = "/?view=projector") -> str:
    assert hall.server is not None
    return f"{hall.server.url}{path}"


RUNS = """() => document.querySelector(".place")?.getAnimations().length"""
HELD = """addEventListener("animationstart", ({target}) => {
  if (target.matches(".place")) target.getAnimations().forEach(one => one.pause());
}, true)"""
"""An animation that is over is no longer known, and a busy machine may not look at the page as long as one lasts."""


def hold(page: Page) -> None:
    page.add_init_script(HELD)
    page.reload()


def shows(page: Page, rank: str) -> None:
    page.locator(".place .rank", has_text=rank).wait_for()


def test_an_operator_unveils_from_the_projector_key_by_key_and_the_prizes_come_last(
    hall: Day,
    browser: Browser,
) -> None:
    operator = as_operator(hall)
    with visit(browser, address(hall), size=HD, storage_state=operator) as page:
        page.locator(".leaders tr").first.wait_for()
        page.keyboard.press("Space")
        ask(hall, "/board/freeze")
        page.get_by_text("Frozen").wait_for()
        for key in ("Space", "Enter", "PageDown"):
            page.keyboard.press(key)
        assert hall.server is not None
        board = hall.server.ask("GET", "/board.json").json()
        assert board["state"] == "frozen", "the first press is in the console"
        ask(hall, "/board/unveil")
        shows(page, f"Place {TEAMS}")
        for rank, key in zip(
            (4, 3, 2), ("Space", "PageDown", "ArrowRight"), strict=True
        ):
            page.keyboard.press(key)
            shows(page, f"Place {rank}")
            assert page.locator(".place .name").first.inner_text()
        page.keyboard.press("Enter")
        shows(page, "The winner")
        assert page.locator(".prizes").count() == 0
        assert page.get_by_text("Best score").count() == 0
        page.keyboard.press("Space")
        page.locator(".prizes dd").first.wait_for()
        assert page.locator(".prizes dt").all_inner_texts()[0] == "Best score"
        assert page.locator(".leaders tr").count() == 3
        assert_accessible(page)


def test_a_new_place_has_the_screen_to_itself_and_then_those_below_it_follow(
    hall: Day,
    browser: Browser,
) -> None:
    ask(hall, "/board/freeze")
    ask(hall, "/board/unveil")
    with visit(browser, address(hall), size=HD) as page:
        hold(page)
        shows(page, f"Place {TEAMS}")
        page.wait_for_function(RUNS)
        heights = [height for height, _ in page.evaluate(HEIGHTS)]
        assert heights[0] == heights[2] > 0.8
        assert heights[-1] < 0.6
        ask(hall, "/board/unveil")
        shows(page, f"Place {TEAMS - 1}")
        page.wait_for_function(RUNS)
        assert page.evaluate(HEIGHTS)[0][0] > 0.8, "it begins anew for each place"
        rows = page.locator(".ceremony .rest tr").filter(visible=True)
        assert rows.locator(".rank").all_inner_texts() == [str(TEAMS)]
        box = page.locator(".place h2").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= HD[0]
        assert_accessible(page)


def test_a_browser_that_reduces_motion_changes_without_moving(
    hall: Day,
    browser: Browser,
) -> None:
    ask(hall, "/board/freeze")
    ask(hall, "/board/unveil")
    with visit(browser, address(hall), size=HD, reduced_motion="reduce") as page:
        hold(page)
        shows(page, f"Place {TEAMS}")
        page.wait_for_function(RUNS)
        seen = page.evaluate(HEIGHTS)
        assert {opacity for _, opacity in seen} == {1}
        assert len({round(height, 3) for height, _ in seen}) <= 2, "no size between"


def test_the_presenter_sees_who_comes_next_and_others_cannot_look(
    hall: Day,
    browser: Browser,
) -> None:
    assert hall.server is not None
    problem(
        hall.server.ask("GET", "/operator/ceremony/live"),
        401,
        "bad-token",
    )
    led = hall.server.ask("GET", "/operator/ceremony/", allow_redirects=False)
    assert led.status_code == 303
    ask(hall, "/board/freeze")
    path = "/operator/ceremony/"
    with visit(browser, address(hall, path), storage_state=as_operator(hall)) as page:
        page.get_by_text("The board is frozen.").wait_for()
        ask(hall, "/board/unveil")
        page.get_by_role("heading", name="Next: place 4").wait_for()
        last = hall.server.ask("GET", "/board.json").json()["ranking"][-1]["team"]
        assert last in page.locator("section", has_text="Shown").last.inner_text()
        assert_accessible(page)
        page.get_by_role("button", name="Show place 4").click()
        page.get_by_role("heading", name="Next: place 3").wait_for()
        for rank in (2, 1):
            page.keyboard.press("PageDown")
            page.get_by_role("heading", name=f"Next: place {rank}").wait_for()
        page.keyboard.press("PageDown")
        page.get_by_role("heading", name="Next: the prizes").wait_for()
        page.keyboard.press("PageDown")
        page.get_by_text("The board is live.").wait_for()
    ranked = hall.server.ask("GET", "/board.json").json()["ranking"]
    assert {one["team"] for one in ranked} == set(names(TEAMS))
    assert set(LONG_NAMES) <= set(names(TEAMS))


def test_a_second_presenter_does_not_show_two_places_and_a_spectators_keys_do_nothing(
    hall: Day,
    browser: Browser,
) -> None:
    ask(hall, "/board/freeze")
    ask(hall, "/board/unveil")
    operator = as_operator(hall)
    with visit(browser, address(hall), size=HD) as spectator:
        shows(spectator, f"Place {TEAMS}")
        assert spectator.locator("meta[name=csrf]").count() == 0
        spectator.keyboard.press("Space")
        with visit(
            browser,
            address(hall),
            size=HD,
            storage_state=operator,
            refused=[409, "ERR_FAILED"],
        ) as page:
            shows(page, f"Place {TEAMS}")
            page.route("**/board/projector", lambda route: route.abort())
            ask(hall, "/board/unveil")
            page.keyboard.press("Space")
            page.get_by_text("Another operator has just unveiled").wait_for()
            page.unroute_all(behavior="ignoreErrors")
            shows(page, f"Place {TEAMS - 1}")
        shows(spectator, f"Place {TEAMS - 1}")
