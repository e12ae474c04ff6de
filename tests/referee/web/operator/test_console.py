"""The console in a browser, over a real server: what it shows, what its buttons do, and what it lives through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.contest import open_contest
from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day, Server, contest_day

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
MARKUP, LONG = "<script>alert(1)</script>", "a name of a hundred characters" * 3 + "0123456789"
PATIENCE_MS = 30_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("console") / "contest"
    with contest_day(folder, tiny_set, auto_arm=False, teams=(TEAM, "bee", MARKUP, LONG)) as made:
        made.serve()
        yield made


@pytest.fixture(scope="module")
def key(served: Day) -> str:
    with open_contest(served.folder) as contest:
        return contest.operator_key


@pytest.fixture
def console(served: Day, browser: Browser, key: str) -> Iterator[Callable[..., Page]]:
    """Open the console, logged in as ruth; nothing may go wrong on its page."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(logged_in(served, browser, key, **more))


@contextmanager
def logged_in(served: Day, browser: Browser, key: str, **more: object) -> Iterator[Page]:
    with visit(browser, f"{server_of(served).url}/operator/", **more) as page:  # type: ignore[arg-type]
        page.set_default_timeout(PATIENCE_MS)
        log_in(page, key)
        page.wait_for_selector("#theme")
        yield page


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def log_in(page: Page, password: str) -> None:
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")


def said(page: Page, text: str) -> None:
    """Wait until the console says so."""
    page.wait_for_function("text => document.getElementById('said').textContent.includes(text)", arg=text)


def act(page: Page, name: str, **fields: str) -> None:
    """Press a button and confirm, by keyboard only."""
    page.get_by_role("button", name=name, exact=True).first.focus()
    page.keyboard.press("Enter")
    for label, text in fields.items():
        page.get_by_role("dialog").get_by_label(label).fill(text)
    page.keyboard.press("Enter")


def test_the_log_in_refuses_in_words_and_leads_back(served: Day, browser: Browser, key: str) -> None:
    with visit(browser, f"{server_of(served).url}/operator/") as page:
        assert "/operator/login" in page.url
        assert_accessible(page)
        log_in(page, "a guess")
        page.wait_for_selector("text=The name or the password is wrong.")
        log_in(page, key)
        page.wait_for_selector("#session >> text=ruth")
        assert page.url.endswith("/operator/")


def test_the_console_is_one_screen_and_a_name_in_markup_or_without_end_does_no_harm(
    console: Callable[..., Page],
) -> None:
    page = console(color_scheme="light")
    assert page.get_by_role("rowheader", name=MARKUP).is_visible()
    assert_accessible(page)
    for width, height in ((1440, 900), (1920, 1080), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        wide, high = page.evaluate("[document.body.scrollWidth, document.body.scrollHeight]")
        assert wide <= width
        assert width < 400 or high <= height
    page.click("#theme")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert_accessible(page)


def test_a_run_s_life_by_keyboard_is_told_in_words_and_put_on_record(
    served: Day, console: Callable[..., Page], key: str
) -> None:
    page = console()
    page.focus(f"#arm-{TEAM}")
    page.keyboard.press("Enter")
    assert f"A run of {TEAM} is armed" in page.inner_text("#ask-says")
    assert_accessible(page)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == f"arm-{TEAM}"
    act(page, f"Arm {TEAM}")
    said(page, "The run is armed.")
    number = served.runs(RunState.ARMED)[-1].id
    served.login()
    page.wait_for_selector(f".clock[data-key='{number}']")
    page.wait_for_selector(".chart canvas")
    act(page, f"Close run {number}")
    said(page, f"Run {number} of {TEAM} is closed.")
    report = server_of(served).ask("GET", f"/operator/runs/{number}/report", key)
    assert f"Run {number} of {TEAM}" in report.text
    assert "script" not in report.headers["Content-Security-Policy"]
    act(page, f"Void run {number}", Reason="the board fell")
    said(page, "is void")
    page.wait_for_selector(f"#run-{number} >> text=the board fell")
    act(page, f"Unvoid run {number}")
    said(page, "counts again")
    with served.store() as store:
        acts = [one for one in store.events(number) if one["kind"] == "operator"]
    assert [(one["operator"], one["action"]) for one in acts] == [
        ("ruth", action) for action in ("arm", "close", "void", "unvoid")
    ]


def test_what_the_server_refuses_is_said_in_the_dialog_and_nothing_typed_is_lost(
    served: Day, console: Callable[..., Page], key: str
) -> None:
    page = console(refused=[404])
    page.click("#add-bee")
    page.click("#ask-do")
    page.click("#remove-bee")
    removed = server_of(served).ask("POST", "/operator/queue/remove", key, json={"team": "bee"})
    assert removed.status_code == 200
    page.click("#ask-do")
    page.wait_for_selector("#ask-failure >> text=bee is not in the queue")
    assert page.locator("#ask").is_visible()


def test_what_is_typed_opened_and_focused_outlives_the_news_and_nothing_is_sent_twice(
    served: Day, console: Callable[..., Page], key: str
) -> None:
    page = console()
    page.focus("#main")
    armed = server_of(served).ask("POST", "/operator/runs", key, json={"team": "bee"}).json()["id"]
    server_of(served).ask("POST", f"/operator/runs/{armed}/void", key, json={"reason": "a draught"})
    page.wait_for_selector("small >> text=a draught")  # also what lies within the focused element is renewed
    page.get_by_role("button", name="Announce", exact=True).click()
    page.keyboard.type("Lunch at one")
    wrong = {"team": TEAM, "password": "wrong"}
    assert server_of(served).ask("POST", "/v1/session", json=wrong).status_code == 401
    page.wait_for_selector("text=bad-credentials")
    assert page.input_value("[name=text]") == "Lunch at one"
    assert page.evaluate("document.activeElement.name") == "text"
    page.evaluate("form.requestSubmit(); form.requestSubmit()")
    said(page, "It is announced.")
    page.wait_for_selector("text=Lunch at one")
    with served.store() as store:
        assert [one.text for one in store.announcements()] == ["Lunch at one"]
    assert page.evaluate("document.activeElement.ariaLabel") == "Announce"


def test_it_says_that_the_server_is_lost_and_outlives_a_restart_and_a_session_s_end(
    served: Day, browser: Browser, key: str
) -> None:
    server = server_of(served)
    with (
        browser.new_context() as profile
    ):  # what Chromium says of a server that is gone is no fault of the page
        page = profile.new_page()
        page.goto(f"{server.url}/operator/")
        log_in(page, key)
        page.wait_for_selector("#theme")
        server.kill()
        page.wait_for_selector("#lost:not([hidden])")
        assert "s old" in page.inner_text("#age")
        served.serve("--port", str(server.port))
        page.wait_for_selector("#lost", state="hidden")
        assert page.locator("#theme").is_visible()
        profile.clear_cookies()
        page.wait_for_url("**/operator/login**")
        log_in(page, key)
        page.wait_for_selector("#theme")


def test_an_unchanged_fragment_costs_a_304_and_nobody_else_sees_it(served: Day, key: str) -> None:
    server = server_of(served)
    first = server.ask("GET", "/operator/live", key)
    assert "script-src" not in first.headers["Content-Security-Policy"]
    tag = {"If-None-Match": first.headers["ETag"]}
    assert server.ask("GET", "/operator/live", key, tag).status_code == 304
    assert server.ask("GET", "/operator/live").status_code == 401
    assert PASSWORD not in first.text
