"""Every page, at every width, light and dark: accessible, no wider than the screen, targets that a finger meets.

A new route needs a verdict here: an address in PAGES, or its endpoint in NO_PAGES.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from flask import Flask

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.store.records import Heat
from referee.web.app import create_app
from tests.browser import browser
from tests.contest_day import HASH, PASSWORD
from tests.referee.factories import START, House, StillClock
from tests.referee.judging.judged_runs import closed_run, opened_run
from tests.referee.web.served_app import served_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
TEAM = "moles"
LONG = "A team whose name is much too long for any line of a screen, " + "w" * 39
WIDTHS = (360, 768, 1440, 1920)
THUMB = (360, 768)
"""Widths of screens that are touched."""
# The first runs are judged, of TEAM and of LONG, in the heat "final"; the third is open.
PAGES = {
    "board.front": ["/", "/?view=projector"],
    "heats.all_heats": ["/heats", "/heats?view=projector"],
    "heats.one_heat": ["/heats/final"],
    "replay.listed": ["/replay", "/replay?view=projector"],
    "replay.of_run": ["/replay/1"],
    "replay.of_two": ["/replay/1/2"],
    "public-team.show": [f"/teams/{TEAM}", f"/teams/{LONG}"],
    "documents.list_of_documents": ["/docs/"],
    "documents.one_document": ["/docs/contestants"],
    "client.how_to_begin": ["/client/"],
    "display.screen": ["/display/one"],
    "team.login": ["/team/login"],
    "team.front": ["/team/"],
    "console.login": ["/operator/login"],
    "console.console": ["/operator/"],
    "jury.run_page": ["/operator/runs/1", "/operator/runs/3"],
    "operator-replay.player": ["/operator/runs/1/replay"],
    "operator-heat-page.show": ["/operator/heats/final"],
    "ceremony.ceremony": ["/operator/ceremony/"],
    "site.site": ["/operator/site/"],
    "settings-rules.rules": ["/operator/settings/rules"],
    "settings-testset.test_set": ["/operator/settings/testset"],
    "settings-stations.stations": ["/operator/settings/stations"],
    "settings-teams.teams": ["/operator/settings/teams"],
    "settings-operators.operators": ["/operator/settings/operators"],
    "settings-day.day": ["/operator/settings/day"],
    "settings-apply.look": ["/operator/settings/apply"],
    "nowhere": ["/nowhere"],
}
PARTS = {
    "board": r"/(\?|$|heats|teams|nowhere)",
    "handouts": r"/(replay|docs|client|display|team/)",
    "console": r"/operator/(?!settings)",
    "settings": r"/operator/settings",
}
"""Pages that one test opens, by their addresses."""
SCREENS = ("view=projector", "/display/")
"""Pages that nobody touches, parts of their addresses."""
# Data, files, changing parts of pages (each is in a page above), redirects, the help of 2015, which stays as it was,
# and what has its own test of accessibility.
NO_PAGES = re.compile(
    r"contest\.|legacy\.|entries\.|work\.|pages\.static_file"
    r"|.*\.(live|part|as_json|as_badge|following|status|download|playlist|course|picture|bundle|export|one_file)"
    r"|team\.without_slash|team-runs\.|settings-apply\.(first|waiting)|public-team\.by_name"
    r"|(board|heats|projector)\.\w+_route|ceremony\.live|display\.image|documents\.to_list"
    r"|client\.(to_page|list_of_sums)|console\.report|tracks\.as_(json|page)"
)
# Of axe's rules only those of colours see another scheme.
RULES: dict[str, list[str] | None] = {
    "light": None,
    "dark": ["color-contrast", "link-in-text-block"],
}
BROKEN = """rules => axe.run({
    resultTypes: ["violations"], ...(rules ? {runOnly: {type: "rule", values: rules}} : {}),
  }).then(found => found.violations.map(
    one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.target).join(" ; ")}`))"""
# Links within a sentence are as high as its line.
SMALL = """() => [...document.querySelectorAll(
    "a, button, summary, select, [role=button], input, textarea, label:has(input)")]
  .filter(one => one.getClientRects().length && !one.matches(
    ".skip, p a, dd a, td a, li a, pre a, article a, [type=checkbox], [type=radio], [type=hidden]"))
  .filter(one => one.getBoundingClientRect().height < 44 - 0.5)
  .map(one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 30)}`)"""


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    made = build(public_score=True, heats="round-robin", teams_see_score=True)
    contest = made.contest
    store = contest.store
    for team in (TEAM, LONG):
        store.teams.add(team, HASH, START)
    store.heats.put(Heat("final", START.isoformat(), "jo", 1))
    for seed, team in enumerate((TEAM, LONG)):
        run = closed_run(contest, team, 1.0 + seed, seed, heat="final")
        judge(contest, run.id, Clock())
    opened_run(contest, TEAM, 5)
    store.queue.change(lambda _: [LONG])
    store.announcements.add("jo", "Lunch at noon.", Clock().utc())
    store.questions.ask(TEAM, "May we restart?", START, 3)
    Publisher(contest, Clock()).tick()
    replays = ReplayPublisher(contest, Clock())
    for _ in store.runs.find():  # one each time
        replays.tick()
    return made


@pytest.fixture
def app(house: House) -> Flask:
    return create_app(house.contest, house.control, StillClock(60.0))


def test_every_route_that_is_read_has_a_verdict(app: Flask) -> None:
    read = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
    }
    known = {one for one in read if one in PAGES or NO_PAGES.fullmatch(one)}
    known |= {one for one in read if NO_PAGES.match(one)}
    assert read == known, "add each page to PAGES, and what is no page to NO_PAGES"
    assert PAGES.keys() - {"nowhere"} <= read
    for path in (one for paths in PAGES.values() for one in paths):
        opened = [part for part, of in PARTS.items() if re.match(of, path)]
        assert len(opened) == 1, (path, opened)


def log_in(page: Page, url: str, house: House) -> None:
    """Log in as an operator and as a team in the same browser."""
    page.goto(f"{url}/operator/login")
    page.get_by_label("Name").fill("jo")
    page.get_by_label("Password").fill(house.contest.operator_key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/operator/")
    page.goto(f"{url}/team/login")
    page.get_by_label("Team").fill(TEAM)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/team/")


def faults(page: Page, path: str) -> Iterator[str]:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("w => innerWidth === w", arg=width)
        for scheme in RULES:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            for one in page.evaluate(BROKEN, RULES[scheme]):
                yield f"{path} at {width}, {scheme}: {one}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            yield f"{path} at {width}: it is {wide} wide"
        is_touched = not any(part in path for part in SCREENS)
        if width in THUMB and is_touched:
            small = page.evaluate(SMALL)
            if small:
                yield f"{path} at {width}: {small}"


@pytest.mark.parametrize("part", PARTS)
def test_every_page_is_accessible_fits_and_has_targets_for_fingers(
    app: Flask,
    house: House,
    browser: Browser,
    part: str,
) -> None:
    with served_app(app) as url:
        context = browser.new_context(has_touch=True)
        page = context.new_page()
        page.set_default_timeout(15_000)
        log_in(page, url, house)
        found = list[str]()
        for paths in PAGES.values():
            for path in filter(re.compile(PARTS[part]).match, paths):
                answer = page.goto(url + path)
                assert answer is not None
                assert answer.ok or path == "/nowhere", f"{path}: {answer.status}"
                page.evaluate(AXE_SCRIPT)
                found += faults(page, path)
        context.close()
    assert found == [], "\n".join(found)
