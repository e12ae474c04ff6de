"""The jury's replay over a real server: whole, with its images, and for operators only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import TestSet, load_test_set
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from referee.pages.replay_player import player_hash
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day, Server, contest_day, problem
from tests.referee.judging.judged_runs import armed_run, closed_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
MARKUP = "</script><script>document.title = 'owned'</script><img src=x>"
JUDGED = 1
WITHOUT = 2
OTHER = 3
PATH = f"/operator/runs/{JUDGED}/replay"


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, small_set: TestSet
) -> Iterator[Day]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("jury") / "contest"
        teams = (TEAM, MARKUP)
        made = stack.enter_context(contest_day(folder, small_set.folder, teams=teams))
        with open_contest(folder) as contest:
            run = closed_run(contest, MARKUP, 1.0)
            judge(contest, run.id, Clock())
            without = armed_run(contest, TEAM)
            over = {"state": "closed", "elapsed_s": 5.0, "opened_utc": run.opened_utc}
            contest.store.runs.change(without.id, (without.state,), **over)
            never = armed_run(contest, TEAM)
            void = {"state": "void", "void_reason": "no board"}
            contest.store.runs.change(never.id, (never.state,), **void)
        made.serve()
        yield made


@pytest.fixture(scope="module")
def key(served: Day) -> str:
    return (served.folder / "operator-key").read_text().strip()


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def test_no_one_but_an_operator_gets_a_replay_or_its_images(
    served: Day,
    key: str,
) -> None:
    server = server_of(served)
    team = served.login()["token"]
    for token in (None, "x", team):
        problem(server.ask("GET", f"{PATH}/course.json", token), 401, "bad-token")
        problem(server.ask("GET", f"{PATH}/images/1", token), 401, "bad-token")
        answer = server.ask("GET", PATH, token, allow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["Location"] == f"/operator/login?next={PATH}"
    answer = server.ask("GET", f"{PATH}/course.json", key)
    assert answer.json()["team"] == MARKUP
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_images_are_those_that_the_team_knew_by_their_numbers(
    served: Day,
    key: str,
) -> None:
    server = server_of(served)
    test_set = load_test_set(Path(served.testset))
    with served.store() as store:
        order = store.runs.image_order(JUDGED).tolist()
    for number, original in enumerate(order, start=1):
        answer = server.ask("GET", f"{PATH}/images/{number}", key)
        assert answer.content == test_set.image_path(original).read_bytes()
        assert answer.headers["Cache-Control"] == "no-store"
    for number in (0, len(order) + 1):
        answer = server.ask("GET", f"{PATH}/images/{number}", key)
        problem(answer, 404, "image-unknown")
    problem(server.ask("GET", "/operator/runs/99/replay", key), 404, "run-unknown")


def test_a_replay_is_made_again_only_when_its_run_has_changed(
    served: Day,
    key: str,
) -> None:
    server = server_of(served)
    first = server.ask("GET", f"{PATH}/course.json", key)
    again = server.ask("GET", f"{PATH}/course.json", key)
    assert again.headers["ETag"] == first.headers["ETag"]
    with open_contest(served.folder) as contest:
        judge(contest, JUDGED, Clock())
        contest.store.log.append(Clock().utc(), JUDGED, "a-test")
    later = server.ask("GET", f"{PATH}/course.json", key)
    assert later.json()["events"][-1]["kind"] == "a-test"


def log_in(page: Page, key: str) -> None:
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", key)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_the_jury_plays_a_run_with_its_images_by_keyboard_alone(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    with visit(browser, server_of(served).url + PATH) as page:
        log_in(page, key)
        page.locator(".replay[data-ready]").wait_for()
        assert page.locator("h1").inner_text() == f"Replay of run {JUDGED} of {MARKUP}"
        assert page.title().startswith("Replay of run")
        page.keyboard.press("End")
        page.get_by_text("1:00 of 1:00").wait_for()
        picture = page.locator("[data-picture]")
        page.wait_for_function(
            "() => /Image [0-9], [0-9]+ box/.test(document.querySelector('[data-picture]').ariaLabel)"
        )
        colours = page.evaluate(COLOURS)
        assert colours > 50, "a picture is drawn, not only boxes"
        assert picture.get_attribute("role") == "img"
        page.keyboard.press("Home")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert page.locator("[data-speed-element]").input_value() == "20"
        for _ in range(4):  # else the run may be over before the second press
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        page.get_by_role("button", name="Pause", exact=True).wait_for()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play", exact=True).wait_for()
        for width in (360, 768, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for scheme in ("dark", "light"):
                page.emulate_media(color_scheme=scheme)
                assert_accessible(page)


COLOURS = """() => {
  const canvas = document.querySelector("[data-picture]");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), found = new Set();
  for (let at = 0; at < data.length; at += 4) found.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
  return found.size;
}"""


def test_the_controls_are_in_sight_on_a_laptop_and_the_jury_sees_the_truth(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    with visit(browser, server_of(served).url + PATH) as page:
        page.set_viewport_size({"width": 1366, "height": 768})
        log_in(page, key)
        page.locator(".replay[data-ready]").wait_for()
        for name in ("[data-play-element]", "[data-seek-element]", "[data-picture]"):
            box = page.locator(name).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 768, name
        page.get_by_role("link", name=f"Page of run {JUDGED}").wait_for()
        page.keyboard.press("End")
        page.wait_for_function(
            "() => /Image [0-9], [0-9]+ box/.test(document.querySelector('[data-picture]').ariaLabel)"
        )
        before = page.evaluate(PICTURE)
        page.get_by_label("Ground truth").check()
        page.get_by_text("missed object").wait_for()
        with_truth = page.evaluate(PICTURE)
        assert with_truth != before
        assert_accessible(page)
        page.get_by_label("Ground truth").uncheck()
        assert page.evaluate(PICTURE) != with_truth


PICTURE = "document.querySelector('[data-picture]').toDataURL()"


def test_a_run_without_readings_and_posts_is_played_and_says_so(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    url = f"{server_of(served).url}/operator/runs/{WITHOUT}/replay"
    with visit(browser, url) as page:
        log_in(page, key)
        page.get_by_text("There are no readings of the meter").wait_for()
        page.get_by_text("No detections were received.").wait_for()
        page.keyboard.press("End")
        page.get_by_text("0:05 of 0:05").wait_for()
        assert_accessible(page)


def test_a_run_that_was_never_opened_cannot_be_played_and_says_why(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    url = f"{server_of(served).url}/operator/runs/{OTHER}/replay"
    with visit(browser, url) as page:
        log_in(page, key)
        page.get_by_text("This run was never opened").wait_for()
        page.get_by_text("This run is void: no board").wait_for()
        assert page.locator("[data-play-element]").is_disabled()


ADD_SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.owned = true";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.owned = true'>");
}"""


def test_the_report_with_its_replay_runs_the_player_and_nothing_else(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    server = server_of(served)
    path = f"/operator/runs/{JUDGED}/report"
    plain = server.ask("GET", path, key)
    assert "script-src" not in plain.headers["Content-Security-Policy"]
    answer = server.ask("GET", f"{path}?replay=yes", key)
    policy = dict(
        one.strip().split(" ", 1)
        for one in answer.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == player_hash()
    url = f"{server.url}{path}?replay=yes"
    refused = ["Content Security Policy"]
    with visit(browser, f"{server.url}/operator/login", refused=refused) as page:
        log_in(page, key)
        page.goto(url)
        page.locator(".replay[data-ready]").wait_for()
        assert page.locator(".lane h2").inner_text() == f"Run {JUDGED} of {MARKUP}"
        assert page.title().startswith("Run "), "no markup of a name ran"
        assert_accessible(page)
        page.evaluate(ADD_SCRIPT)
        page.wait_for_function("() => [...document.images].at(-1).complete")
        assert page.evaluate("window.owned") is None


def test_a_password_of_a_team_opens_no_replay(served: Day) -> None:
    server = server_of(served)
    answer = server.ask("GET", f"{PATH}/images/1", auth=(TEAM, PASSWORD))
    assert answer.status_code == 401
