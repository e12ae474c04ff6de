"""Every page, at every width, light and dark: accessible, no wider than the screen, targets that a finger meets.

A new route needs a verdict here: an address in PAGES, or its endpoint in NO_PAGES.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from flask import Flask

from lpirc_testsets import TestSet
from lpirc_tracks.submissions.entries import PUBLIC, board_by
from lpirc_tracks.submissions.open_track import configured_track
from referee.clock import Clock
from referee.contest import Contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.registration.team_sheet import team_sheet
from referee.store.model_records import Publication
from referee.store.records import Heat
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.arriving_bodies import UNWATCHED
from referee.web.listener import Listen
from referee.web.setup.setup_access import SetupCode
from referee.web.setup.setup_app import SettingUp, create_setup_app
from tests.browser import browser
from tests.contest_day import HASH, PASSWORD, called
from tests.page_faults import faults
from tests.referee.factories import START, House, StillClock
from tests.referee.factories import house as made_house
from tests.referee.judging.judged_runs import closed_run, opened_run
from tests.referee.web.served_app import served_app
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
TEAM = "moles"
LONG = "A team whose name is much too long for any line of a screen, " + "w" * 39
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
    "settings-prizes.prizes": ["/operator/settings/prizes"],
    "settings-tracks.tracks": ["/operator/settings/tracks"],
    "settings-hall.hall": ["/operator/settings/hall"],
    "console.report": ["/operator/runs/1/report?replay=yes"],
    "tracks.as_page": ["/tracks/files"],
    "nowhere": ["/nowhere"],
}
ADDRESSES = [path for paths in PAGES.values() for path in paths]
SCREENS = ("view=projector", "/display/")
"""Pages that nobody touches, parts of their addresses."""
# Data, files, changing parts of pages (each is in a page above), redirects, and the help of 2015, which is plain text.
NO_PAGES = re.compile(
    r"contest\.|legacy\.|entries\.|work\.|pages\.static_file"
    r"|.*\.(live|part|as_json|as_badge|following|status|download|playlist|course|picture|bundle|export|one_file)"
    r"|team\.without_slash|team-runs\.|settings-apply\.(first|waiting)|public-team\.by_name"
    r"|(board|heats|projector)\.\w+_route|ceremony\.live|display\.image|documents\.to_list"
    r"|client\.(to_page|list_of_sums)|log\.all_links"
)


@pytest.fixture(autouse=True)
def no_database_is_left_open() -> None:
    """Nothing is looked for: each thread that answers a browser opens the database of the module's contest."""


@pytest.fixture(scope="module")
def house(
    tmp_path_factory: pytest.TempPathFactory, small_set: TestSet
) -> Iterator[House]:
    """A contest with what each page shows, for all tests: none changes what another sees."""
    folder = tmp_path_factory.mktemp("pages") / "contest"
    files = {"name": "files", "rule": "results", "testset": str(small_set.folder)}
    settings: dict[str, Any] = {
        "public_score": True,
        "heats": "round-robin",
        "teams_see_score": True,
        "tracks": [files],
    }
    with made_house(folder, small_set, **settings) as made:
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
        publish_track(contest)
        Publisher(contest, Clock()).tick()
        replays = ReplayPublisher(contest, Clock())
        for _ in store.runs.find():  # one each time
            replays.tick()
        yield made


def publish_track(contest: Contest) -> None:
    """Publish a final board of the track, with a place for each team."""
    track = configured_track(contest, "files")
    document = board_by(contest, track, [], PUBLIC)
    place = {"entries": 2, "public_score": 0.5, "measured_by": None, "official": True}
    for rank, team in enumerate((TEAM, LONG), start=1):
        accepted = START.replace(hour=9 + rank).isoformat()[:19]
        own = {"rank": rank, "team": team, "score": 0.6 / rank, "level_with": None}
        document["places"].append(place | own | {"accepted_utc": accepted})
    now = datetime.now(UTC).isoformat()
    publication = Publication("files", now, "jo", "c" * 64, document)
    publications = contest.store.publications
    publications.publish(publication, publications.track_mark("files"), [])


@pytest.fixture(scope="module")
def app(house: House) -> Flask:
    return create_app(house.contest, house.control, StillClock(60.0))


@pytest.fixture(scope="module")
def url(app: Flask) -> Iterator[str]:
    with served_app(app) as url:
        yield url


@pytest.fixture(scope="module")
def page(browser: Browser, url: str, house: House) -> Iterator[Page]:
    """A page of a browser where an operator and a team have logged in."""
    context = browser.new_context(has_touch=True)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_S * 1000)
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
    yield page
    context.close()


def test_every_route_that_is_read_has_a_verdict(app: Flask) -> None:
    read = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
    }
    known = {one for one in read if one in PAGES or NO_PAGES.match(one)}
    assert read == known, "add each page to PAGES, and what is no page to NO_PAGES"
    assert PAGES.keys() - {"nowhere"} <= read


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_page_is_accessible_fits_and_has_targets_for_fingers(
    page: Page,
    url: str,
    path: str,
) -> None:
    answer = page.goto(url + path)
    assert answer is not None
    assert answer.ok or path == "/nowhere", answer.status
    is_touched = not any(part in path for part in SCREENS)
    found = list(faults(page, is_touched=is_touched))
    assert found == [], "\n".join(found)


def test_the_sheet_of_passwords_is_as_the_pages(page: Page, url: str) -> None:
    page.goto(f"{url}/operator/settings/teams")
    page.get_by_label("Team", exact=True).fill("x" * 90)
    page.get_by_role("button", name="Register", exact=True).click()
    page.get_by_role("heading", name="Passwords").wait_for()
    found = list(faults(page))
    assert found == [], "\n".join(found)


def test_pages_that_are_files_are_as_the_pages(
    page: Page,
    house: House,
    tmp_path: Path,
) -> None:
    named = {"contest": "Test", "url": "http://10.0.0.1:8080", "key": "k" * 44}
    passwords = {TEAM: "word", LONG: "word"}
    sheet = team_sheet(named, passwords, dict.fromkeys(passwords, "A school"))
    (tmp_path / "sheet.html").write_text(sheet)
    called("season", str(house.contest.folder), "--out", str(tmp_path))
    for name in ("sheet.html", "season.html"):
        page.goto((tmp_path / name).as_uri())
        found = list(faults(page))
        assert found == [], "\n".join((name, *found))


def test_the_pages_of_a_set_up_are_as_the_pages(
    page: Page,
    tmp_path: Path,
) -> None:
    code = SetupCode.draw()
    app = create_setup_app(tmp_path, Listen(), code, UNWATCHED)
    found: list[str] = []

    def look() -> None:
        found.extend(f"{page.url} {fault}" for fault in faults(page))

    with ExitStack() as stack:
        url = stack.enter_context(served_app(app))
        stack.callback(part_of(app, SettingUp).resources.close)
        for path in ("/", "/setup/nowhere", f"/setup/?code={code.shown}"):
            page.goto(url + path)
            look()
        page.get_by_role("button").click()
        page.wait_for_url("**/setup/contest")
        look()
    assert found == [], "\n".join(found)
