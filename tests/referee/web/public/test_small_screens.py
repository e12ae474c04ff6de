"""The board on phones and tablets: 16 teams in few screens, no column squeezed, targets that a finger meets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import TestSet
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import Day
from tests.referee.web.public.hall_of_stations import RUNNING, ask, hall_of
from tests.referee.web.public.test_ceremony import as_operator

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
PHONE = (360, 640)
TABLETS = ((768, 1024), (820, 1180))
TEAMS = 16
SCREENS = 3
TARGET = 44
PAGES = (
    "/",
    "/operator/login",
    "/operator/",
    "/operator/ceremony/",
)
RANKING = """() => {
  const top = document.querySelector(".ranking").getBoundingClientRect().top;
  const rows = [...document.querySelectorAll(".ranking tbody tr")];
  return [rows.length, rows.at(-1).getBoundingClientRect().bottom - top];
}"""
# Links within a sentence are as high as its line.
SMALL = """() => [...document.querySelectorAll("a, button, summary, select, [role=button], input, label:has(input)")]
  .filter(one => one.getClientRects().length && !one.matches(".skip, p a, dd a, [type=checkbox]"))
  .filter(one => one.getBoundingClientRect().height < 44 - 0.5)
  .map(one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 30)}`)"""
SQUEEZED = """() => [...document.querySelectorAll(".ranking tbody tr > *")].flatMap(cell => {
  const style = getComputedStyle(cell), box = cell.getBoundingClientRect();
  if (!box.width || style.display === "contents") return [];
  const isTooNarrow = cell.matches(".team") ? box.width < 240 : cell.scrollWidth > cell.clientWidth + 1;
  return isTooNarrow ? [`${cell.className} ${box.width} ${cell.textContent.trim().slice(0, 30)}`] : [];
})"""
MEETS = """() => {
  const PARTS = ".rank, .score, .interval, td[data-label], .team > .name:first-child, .mark, .ties-short";
  return [...document.querySelectorAll(".ranking tbody tr")].flatMap(row => {
  const leaves = [...row.querySelectorAll(PARTS)]
    .filter(one => one.getClientRects().length).map(one => [one, one.getBoundingClientRect()]);
  return leaves.flatMap(([one, a], at) => leaves.slice(at + 1).filter(([two, b]) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([two]) => `${one.textContent.trim()} / ${two.textContent.trim()}`));
  });
}"""


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("small") / "contest"
    with hall_of(TEAMS, folder, small_set.folder) as made:
        ask(made, "/runs", team=RUNNING[1], station="station-1")
        made.login(RUNNING[1])
        yield made


def test_a_phone_shows_16_teams_in_three_screens(hall: Day, browser: Browser) -> None:
    assert hall.server is not None
    with visit(
        browser,
        hall.server.url,
        size=PHONE,
        has_touch=True,
        is_mobile=True,
    ) as page:
        page.locator(".ranking tbody tr").nth(TEAMS - 1).wait_for()
        teams, height = page.evaluate(RANKING)
        assert teams == TEAMS
        assert height <= SCREENS * PHONE[1]
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
        assert page.evaluate(MEETS) == []
        assert_accessible(page)


@pytest.mark.parametrize("size", [PHONE, *TABLETS])
@pytest.mark.parametrize("path", PAGES)
def test_a_finger_meets_every_target(
    hall: Day,
    browser: Browser,
    path: str,
    size: tuple[int, int],
) -> None:
    assert hall.server is not None
    with visit(
        browser,
        hall.server.url + path,
        size=size,
        has_touch=True,
        is_mobile=True,
        storage_state=as_operator(hall) if path != "/operator/login" else None,
    ) as page:
        page.locator("main").wait_for()
        assert page.evaluate("matchMedia('(pointer: coarse)').matches")
        assert page.evaluate(SMALL) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", TABLETS)
def test_no_column_is_squeezed_on_a_tablet(
    hall: Day,
    browser: Browser,
    size: tuple[int, int],
) -> None:
    assert hall.server is not None
    with visit(browser, hall.server.url, size=size) as page:
        page.locator(".ranking tbody tr").nth(TEAMS - 1).wait_for()
        assert page.evaluate(SQUEEZED) == []
        assert page.evaluate(MEETS) == []
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]
        assert_accessible(page)
