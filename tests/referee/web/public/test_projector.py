"""The projector in a hall: whatever is announced, and however long the names, all who run are whole on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from referee.web.operator.day_routes import LONGEST_ANNOUNCEMENT
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import HASH, Day, Meter, contest_day
from tests.referee.judging.judged_runs import closed_run

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
STATIONS = 4
RUNNING = (
    "The Low-Power Vision Laboratory of the North, second team",
    "w" * 100,
    "bee",
    "Team <b>four</b> & the measured many of the south-west",
)
AFFILIATION = "Institute of Embedded Systems and Signal Processing, University of Somewhere Far Away"
RANKED = tuple(f"ranked team {number} of the many" for number in range(1, 41))
WORDS = "The next heat begins when the power at every station is measured and all of the boards are cold again. "
ANNOUNCEMENT = (WORDS * 9)[:LONGEST_ANNOUNCEMENT]
LOOK = """() => {
  const shown = where => [...document.querySelectorAll(where)].filter(
    one => one.getClientRects().length && one.textContent.trim());
  const box = one => one.getBoundingClientRect();
  const screen = {top: 0, left: 0, bottom: innerHeight, right: innerWidth};
  const within = (one, outer) => one.top >= outer.top - 1 && one.left >= outer.left - 1
    && one.bottom <= outer.bottom + 1 && one.right <= outer.right + 1;
  const meet = (one, two) => one.left < two.right - 1 && two.left < one.right - 1
    && one.top < two.bottom - 1 && two.top < one.bottom - 1;
  const say = one => `${one.tagName} ${one.textContent.trim().slice(0, 30)}`;

  for (const clock of shown(".now .clock")) clock.textContent = "59:59";  // the widest
  for (const figures of shown(".now .live-figures")) {  // as from half a minute on, when a score is released
    const article = figures.closest("article");
    for (const part of article.querySelectorAll("p:not(.from)")) part.remove();
    while (figures.children.length > 2) figures.lastElementChild.remove();
    figures.insertAdjacentHTML("beforeend",
      "<div><dt>Score<span class=later> so far, about</span></dt><dd>0.12</dd></div>");
    figures.insertAdjacentHTML("afterend",
      '<p class="quiet">provisional<span class=later>, on half</span>, as of <time>12:36 PM</time></p>');
  }
  const parts = shown(".state, .notices, .notice, .stage, .now article, .next, .next li");
  const inner = shown(".now article *").filter(one => !one.closest(".chart"));
  const apart = shown(".title, .notices, .now article, .next").map(box);
  return {
    page: [document.documentElement.scrollWidth, document.documentElement.scrollHeight],
    cut: [
      ...parts.filter(one => !within(box(one), screen)),
      ...shown(".notice").filter(one => !within(box(one), box(one.closest(".notices")))),
      ...inner.filter(one => !within(box(one), box(one.closest("article"))) && !one.matches(".unseen")),
    ].map(say),
    overlap: apart.some((one, at) => apart.slice(at + 1).some(two => meet(one, two))),
    clocks: shown(".now .clock").map(one => parseFloat(getComputedStyle(one).fontSize) / innerHeight),
    articles: shown(".now article").length,
    bottoms: shown(".ranking tbody tr").map(one => box(one).bottom),
  };
}"""
WITH_MORE = """wanted => {
  const first = document.querySelector(".now article"), note = document.querySelector(".now .pages");
  while (document.querySelectorAll(".now article").length < wanted) first.after(first.cloneNode(true));
  const now = Date.now;
  const seen = [0, 10000].map(at => {
    Date.now = () => at;
    turn();
    return [note.textContent, document.querySelectorAll(".now article:not([hidden])").length];
  });
  Date.now = now;
  return seen;
}"""
SMALLEST_CLOCK = 0.035  # of the screen's height


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[Day]:
    """Four stations, forty ranked teams, a queue, and three announcements as long as they may be."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("projector") / "contest"
        made = stack.enter_context(
            contest_day(folder, small_set.folder, auto_arm=False, teams=RANKED)
        )
        settings = folder / "contest.toml"
        more = []
        for number in range(2, STATIONS + 1):
            made.meters.append(Meter(folder / "meter.log"))
            meter = made.meters[-1].address
            more.append(
                f'[[stations]]\nname = "station-{number}"\nmeter = "{meter}"\nupdate_interval_s = 0.1\n'
            )
        text = settings.read_text().replace(
            "[[stations]]",
            "public_score = true\n[[stations]]",
            1,
        )
        settings.write_text("\n".join([text, *more]))
        with open_contest(folder) as contest:
            for seed, team in enumerate(RANKED):
                judge(
                    contest,
                    closed_run(contest, team, 1.0 + seed / 50, seed).id,
                    Clock(),
                )
            for team in RUNNING:
                contest.store.teams.add(team, HASH, Clock().utc(), AFFILIATION)
            contest.store.queue.change(lambda _: list(RANKED[2:7]))
        made.serve()
        yield made


def ask(hall: Day, path: str, **body: object) -> Any:
    assert hall.server is not None
    key = (hall.folder / "operator-key").read_text().strip()
    answer = hall.server.ask("POST", f"/operator{path}", key, json=body)
    assert answer.ok, answer.text
    return answer.json()


def assert_whole(page: Page, articles: int) -> None:
    """At every size of a projector nothing that a hall must see is cut, or lies over something else."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            "([w, h]) => innerWidth === w && innerHeight === h",
            arg=[width, height],
        )
        page.evaluate("() => new Promise(requestAnimationFrame)")
        seen = page.evaluate(LOOK)
        where = f"{articles} at {width}x{height}: {seen}"
        assert seen["page"] == [width, height], where
        assert seen["cut"] == [], where
        assert not seen["overlap"], where
        assert seen["articles"] == articles, where
        assert min(seen["clocks"], default=1.0) >= SMALLEST_CLOCK, where
        assert seen["bottoms"], where
        assert max(seen["bottoms"]) <= height, where


def stand(page: Page, articles: int, clocks: int) -> None:
    page.wait_for_function(
        "([all, open]) => document.querySelectorAll('.now article').length === all"
        " && document.querySelectorAll('.now .clock').length === open",
        arg=[articles, clocks],
    )


def test_one_two_and_four_who_run_are_whole_beside_the_longest_announcements(
    hall: Day,
    browser: Browser,
) -> None:
    assert hall.server is not None
    with visit(browser, f"{hall.server.url}/?view=projector", size=SIZES[0]) as page:
        page.get_by_text("No team is running.").wait_for()
        for _ in range(3):
            ask(hall, "/announcements", text=ANNOUNCEMENT)
        page.locator(".notices .pages", has_text="Page ").wait_for()
        assert_whole(page, 0)
        for at, team in enumerate(RUNNING[:2], start=1):
            ask(hall, "/runs", team=team, station=f"station-{at}")
            stand(page, at, at - 1)
            assert_whole(page, at)
            hall.login(team)
            stand(page, at, at)
            assert_whole(page, at)
        for at, team in enumerate(RUNNING[2:], start=3):
            ask(
                hall,
                "/runs",
                team=team,
                station=f"station-{at}",
                heat="the final of the afternoon",
            )
        stand(page, STATIONS, 2)
        assert_whole(page, STATIONS)
        ask(hall, "/heats/start", heat="the final of the afternoon", absent="start")
        stand(page, STATIONS, STATIONS)
        assert_whole(page, STATIONS)
        assert_accessible(page)
        assert page.evaluate(WITH_MORE, 6) == [
            ["Page 1 of 2", 4],
            ["Page 2 of 2", 2],
        ]


def test_every_announcement_and_every_ranked_team_has_its_page(
    hall: Day,
    browser: Browser,
) -> None:
    assert hall.server is not None
    found: dict[str, set[str]] = {
        ".notices .name": set(),
        ".ranking tbody .team > .name": set(),
    }
    with visit(browser, f"{hall.server.url}/?view=projector", size=SIZES[0]) as page:
        page.locator(".ranking .pages", has_text="Page ").wait_for()
        texts = [
            f"{number}. {ANNOUNCEMENT}"[:LONGEST_ANNOUNCEMENT] for number in range(3)
        ]
        for text in texts:
            ask(hall, "/announcements", text=text)
        page.get_by_text(texts[-1]).wait_for(state="attached")
        page.evaluate("() => { window.now_ms = 0; Date.now = () => window.now_ms; }")
        for at in range(60):
            page.evaluate("at => { window.now_ms = at * 10000; dress(); }", at)
            for where, seen in found.items():
                seen |= set(page.locator(where).filter(visible=True).all_inner_texts())
    assert set(texts) <= found[".notices .name"]
    assert set(RANKED) <= found[".ranking tbody .team > .name"]
