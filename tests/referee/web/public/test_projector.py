"""The projector in a hall: read from 15 m, and whatever is announced, all who run are whole on the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from lpirc_testsets import TestSet
from referee.web.operator.day_routes import LONGEST_ANNOUNCEMENT
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import Day
from tests.referee.web.public.hall_of_stations import (
    HEAT,
    RUNNING,
    STATIONS,
    ask,
    hall_of,
    names,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
SIZES = (
    (1920, 1080),
    (1280, 720),
    (1366, 768),
    (3840, 2160),
    (1280, 800),
    (1024, 768),
)
TEAMS = (16, 40)
SCREEN_MM = 3000
DISTANCE_MM = 15_000
LEAST_ARC_MINUTES = 16
LEAST_PIXELS = 60  # of 1080
WORDS = "The next heat begins when the power at every station is measured and all of the boards are cold again. "
ANNOUNCEMENT = (WORDS * 9)[:LONGEST_ANNOUNCEMENT]
WITH_FIGURES = """() => {  // as from half a minute on, when a score is released
  for (const warning of document.querySelectorAll(".runs .warn")) warning.remove();  // shown without a score only
  for (const clock of document.querySelectorAll(".runs .clock")) clock.textContent = "59:59";  // the widest
  for (const figures of document.querySelectorAll(".runs dl")) {
    while (figures.children.length > 2) figures.children[1].remove();
    figures.children[0].insertAdjacentHTML("afterend",
      '<div><dt>Score, provisional</dt><dd class="score">0.12</dd></div>');
  }
}"""
LOOK = """() => {
  const shown = where => [...document.querySelectorAll(where)].filter(
    one => one.getClientRects().length && one.textContent.trim());
  const box = one => one.getBoundingClientRect();
  const screen = {top: 0, left: 0, bottom: innerHeight, right: innerWidth};
  const within = (one, outer) => one.top >= outer.top - 1 && one.left >= outer.left - 1
    && one.bottom <= outer.bottom + 1 && one.right <= outer.right + 1;
  const meet = (one, two) => one.left < two.right - 1 && two.left < one.right - 1
    && one.top < two.bottom - 1 && two.top < one.bottom - 1;
  const say = one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 30)}`;
  const parts = shown(".top, .top > *, .line, .runs article, .ranking, .ranked tbody tr, .join, .idle li");
  const inner = shown(".runs article *").filter(one => !one.closest(".chart") && !one.matches(".unseen"));
  const rows = shown(".ranked tbody tr");
  const cells = shown(".ranked tbody tr > *");
  const apart = shown(".top > *, .line, .runs article, .idle li, .ranking header > *, .ranked tbody tr");
  const join = document.querySelector(".join svg");
  return {
    page: [document.documentElement.scrollWidth, document.documentElement.scrollHeight],
    cut: [
      ...parts.filter(one => !within(box(one), screen)),
      ...inner.filter(one => !within(box(one), box(one.closest("article")))),
      ...rows.filter(one => !within(box(one), box(one.closest(".ranking")))),
      ...cells.filter(one => !within(box(one), box(one.parentElement))),
    ].map(say),
    overlap: [...apart, join].flatMap((one, at, all) =>
      all.slice(at + 1).filter(two => meet(box(one), box(two))).map(two => `${say(one)} / ${say(two)}`)),
    articles: shown(".runs article").length,
    leaders: shown(".leaders tr").length,
    rest: shown(".rest tr").length,
    rows: rows.length,
  };
}"""
# The height of a capital letter, as ISO 9241-303 states the size of characters; of figures that of a digit.
LETTERS = """() => {
  const context = document.createElement("canvas").getContext("2d");
  const kinds = [["H", "h1, .next .name, .idle .name, .runs h2, .team > .name, .line p, .place h2, .prizes dd"],
    ["0", ".clock, .score, .rank"]];
  return kinds.flatMap(([letter, where]) => [...document.querySelectorAll(where)]
    .filter(one => one.getClientRects().length)
    .map(one => {
      const style = getComputedStyle(one);
      context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const scale = one.offsetHeight ? one.getBoundingClientRect().height / one.offsetHeight : 1;
      const measured = context.measureText(letter).actualBoundingBoxAscent;
      return [`${one.className || one.tagName} ${one.textContent.trim().slice(0, 20)}`, scale * measured,
        scale * parseFloat(style.fontSize)];
    }));
}"""
WITH_MORE = """wanted => {
  const first = document.querySelector(".runs article"), note = document.getElementById("runs-page");
  while (document.querySelectorAll(".runs article").length < wanted) first.after(first.cloneNode(true));
  const now = Date.now;
  const seen = [0, 10000].map(at => {
    Date.now = () => at;
    turn();
    return [note.textContent, document.querySelectorAll(".runs article:not([hidden])").length];
  });
  Date.now = now;
  return seen;
}"""


@pytest.fixture(scope="module", params=TEAMS)
def hall(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    small_set: TestSet,
) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("projector") / "contest"
    with hall_of(request.param, folder, small_set.folder) as made:
        yield made


def projector(hall: Day) -> str:
    assert hall.server is not None
    return f"{hall.server.url}/?view=projector"


def arc_minutes(pixels: float, width: int) -> float:
    """The angle of so many pixels of a screen `width` pixels and 3 m wide, from 15 m."""
    height_mm = pixels * SCREEN_MM / width
    return math.degrees(math.atan(height_mm / DISTANCE_MM)) * 60


def assert_read_from_15_m(page: Page, width: int) -> None:
    letters = page.evaluate(LETTERS)
    assert letters
    for what, height, size in letters:
        seen = arc_minutes(height, width)
        assert seen >= LEAST_ARC_MINUTES, f"{what} at {width}: {seen:.1f}"
        if width == SIZES[0][0]:
            assert size >= LEAST_PIXELS, what


def assert_whole(page: Page, articles: int) -> None:
    """At every size of a projector nothing that a hall must see is small, is cut, or lies over something else."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            "([w, h]) => innerWidth === w && innerHeight === h",
            arg=[width, height],
        )
        seen: dict[str, Any] = page.evaluate(
            f"() => {{ turn(); ({WITH_FIGURES})(); return ({LOOK})(); }}"
        )
        where = f"{articles} at {width}x{height}: {seen}"
        assert seen["page"] == [width, height], where
        assert seen["cut"] == [], where
        assert seen["overlap"] == [], where
        assert seen["articles"] == articles, where
        assert seen["leaders"] == 3, where
        assert seen["rest"] >= 1, where
        assert_read_from_15_m(page, width)


def stand(page: Page, articles: int, clocks: int) -> None:
    page.wait_for_function(
        "([all, open]) => document.querySelectorAll('.runs article').length === all"
        " && document.querySelectorAll('.runs .clock').length === open",
        arg=[articles, clocks],
    )


def test_from_nobody_to_four_who_run_all_is_whole_and_read_from_15_m_beside_the_longest_announcement(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, projector(hall), size=SIZES[0]) as page:
        page.locator(".idle").wait_for()
        page.locator(".leaders tr").first.wait_for()
        assert_whole(page, 0)
        ask(hall, "/announcements", text="An older one.")
        ask(hall, "/announcements", text=ANNOUNCEMENT)
        page.get_by_text(ANNOUNCEMENT).wait_for(state="attached")
        assert page.get_by_text("An older one.").count() == 0, "one line: the newest"
        assert_whole(page, 0)
        for at, team in enumerate(RUNNING[:2], start=1):
            ask(hall, "/runs", team=team, station=f"station-{at}")
            stand(page, at, at - 1)
            assert_whole(page, at)
            hall.login(team)
            stand(page, at, at)
            assert_whole(page, at)
        for at, team in enumerate(RUNNING[2:], start=3):
            ask(hall, "/runs", team=team, station=f"station-{at}", heat=HEAT)
            stand(page, at, 2)
            assert_whole(page, at)
        ask(hall, "/heats/start", heat=HEAT, absent="start")
        stand(page, STATIONS, STATIONS)
        assert_whole(page, STATIONS)
        assert_accessible(page)
        assert page.evaluate(WITH_MORE, 6) == [
            ["Page 1 of 2", 4],
            ["Page 2 of 2", 2],
        ]


def test_the_leaders_stay_while_every_other_team_and_every_line_of_the_announcement_has_its_time(
    hall: Day,
    browser: Browser,
) -> None:
    found: set[str] = set()
    leaders: set[tuple[str, ...]] = set()
    lines: set[float] = set()
    with visit(browser, projector(hall), size=SIZES[0]) as page:
        page.locator("#rest-page", has_text="Page ").wait_for()
        ask(hall, "/announcements", text=ANNOUNCEMENT)
        page.get_by_text(ANNOUNCEMENT).wait_for(state="attached")
        page.evaluate("() => { window.now_ms = 0; Date.now = () => window.now_ms; }")
        for at in range(120):
            page.evaluate("at => { window.now_ms = at * 5000; turn(); }", at)
            team = page.locator(".ranking .team > .name")
            shown = team.filter(visible=True).all_inner_texts()
            leaders.add(tuple(shown[:3]))
            found |= set(shown)
            lines.add(page.evaluate("document.querySelector('.line').scrollTop"))
        height = page.evaluate("document.querySelector('.line').scrollHeight")
        line = page.evaluate("document.querySelector('.line').clientHeight")
    assert len(leaders) == 1
    ranked = names(TEAMS[0] if len(found) <= TEAMS[0] else TEAMS[1])
    assert set(ranked) == found
    assert len(lines) == round(height / line) > 5


def test_an_announcement_that_has_expired_leaves_the_line(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, projector(hall), size=SIZES[0]) as page:
        said = ask(hall, "/announcements", text="Doors close soon.", minutes="0.5")
        assert said["expires_utc"] is not None
        page.get_by_text("Doors close soon.").wait_for()
        page.get_by_text("Doors close soon.").wait_for(state="detached")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_at_any_width(
    hall: Day,
    browser: Browser,
    theme: str,
) -> None:
    with visit(browser, f"{projector(hall)}&theme={theme}", size=SIZES[0]) as page:
        page.locator(".ranked tbody tr").first.wait_for()
        for width, height in ((360, 640), (768, 1024), (1440, 900), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_selector("html:not(.is-lost)")
            assert_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
