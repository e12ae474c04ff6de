"""The console in a browser, over a real server: what it shows, what its buttons do, and what it lives through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.clock import Clock
from referee.contest import open_contest
from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day, Server, contest_day

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
MARKUP = "<script>alert(1)</script>"
LONG = "a name of a hundred characters" * 3 + "0123456789"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("console") / "contest"
    with contest_day(
        folder,
        tiny_set,
        auto_arm=False,
        teams=(TEAM, "bee", MARKUP, LONG),
    ) as made:
        made.serve()
        yield made


@pytest.fixture(scope="module")
def key(served: Day) -> str:
    with open_contest(served.folder) as contest:
        return contest.operator_key


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def log_in(page: Page, password: str) -> None:
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", password)
    # Until it is loaded: a click before its scripts run does nothing.
    with page.expect_navigation():
        page.keyboard.press("Enter")


def said(page: Page, text: str) -> None:
    """Wait until the console says so."""
    page.wait_for_function(
        "text => document.getElementById('said').textContent.includes(text)",
        arg=text,
    )


def act(page: Page, name: str, **fields: str) -> None:
    """Press a button and confirm, by keyboard only."""
    page.get_by_role("button", name=name, exact=True).first.focus()
    page.keyboard.press("Enter")
    for label, text in fields.items():
        page.get_by_role("dialog").get_by_label(label).fill(text)
    page.keyboard.press("Enter")


def test_a_run_s_life_by_keyboard_on_a_screen_that_any_name_and_size_leaves_whole(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    with visit(
        browser,
        f"{server_of(served).url}/operator/",
        color_scheme="light",
    ) as page:
        assert "/operator/login" in page.url
        assert_accessible(page)
        log_in(page, key)
        page.wait_for_selector("#session >> text=key as ruth")
        assert page.url.endswith("/operator/")
        assert page.get_by_role("rowheader", name=MARKUP).is_visible()
        # 720: 1440 at a zoom of 200 %.
        for width, height in (
            (1440, 900),
            (1920, 1080),
            (720, 450),
            (390, 844),
        ):
            page.set_viewport_size({"width": width, "height": height})
            wide, high = page.evaluate(
                "[document.body.scrollWidth, document.body.scrollHeight]"
            )
            assert wide <= width
            assert width < 1440 or high <= height
        page.focus(f"#arm-{TEAM}")
        page.keyboard.press("Enter")
        assert f"A run of {TEAM} is armed" in page.inner_text("#ask-says")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") == f"arm-{TEAM}"
        act(page, f"Arm {TEAM}")
        said(page, "The run is armed.")
        number = served.runs(RunState.ARMED)[-1].id
        served.login()
        page.wait_for_selector(f".clock[data-key='{number}']")
        page.wait_for_selector(".chart canvas")
        act(page, f"Void run {number}", Reason="the board fell")
        page.wait_for_selector(f"#run-{number} >> text=the board fell")
        act(page, f"Unvoid run {number}")
        said(page, "is no longer void")
        with served.store() as store:
            acts = [
                one for one in store.log.of_run(number) if one["kind"] == "operator"
            ]
        expected = [("key", "ruth", action) for action in ("arm", "void", "unvoid")]
        assert [
            (one["operator"], one["user"], one["action"]) for one in acts
        ] == expected


def test_nothing_typed_is_lost_or_sent_twice_and_what_the_server_refuses_is_said(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    server = server_of(served)
    with visit(
        browser,
        f"{server.url}/operator/",
        refused=[404, 401],
        color_scheme="dark",
    ) as page:
        log_in(page, key)
        page.click("#add-bee")
        page.click("#ask-do")
        page.wait_for_selector("#remove-bee")
        click = "document.getElementById('remove-bee').click()"
        events = "getComputedStyle(document.getElementById('ask-do')).pointerEvents"
        assert page.evaluate(f"{click}, {events}") == "none", (
            "a double click confirms nothing"
        )
        status_code = server.ask(
            "POST",
            "/operator/queue/remove",
            key,
            json={"team": "bee"},
        ).status_code
        assert status_code == 200
        page.click("#ask-do")
        page.wait_for_selector("#ask-failure >> text=bee is not in the queue")
        page.evaluate(
            "document.querySelector('meta[name=csrf]').content = 'of an earlier session'"
        )
        page.click("#ask-do")
        page.wait_for_selector("#ask-failure >> text=load the page again")
        assert_accessible(page)
        page.reload()

        page.focus("#main")
        armed = server.ask("POST", "/operator/runs", key, json={"team": "bee"}).json()[
            "id"
        ]
        server.ask(
            "POST",
            f"/operator/runs/{armed}/void",
            key,
            json={"reason": "a draught"},
        )
        # Also what lies within the focused element is renewed.
        page.wait_for_selector("small >> text=a draught")
        page.get_by_role("button", name="Announce", exact=True).click()
        page.keyboard.type("Lunch at one")
        wrong = {"team": TEAM, "password": "wrong"}
        assert server.ask("POST", "/v1/session", json=wrong).status_code == 401
        page.wait_for_selector("text=bad-credentials")
        assert page.input_value("[name=text]") == "Lunch at one"
        assert page.evaluate("document.activeElement.name") == "text"
        page.evaluate("form.requestSubmit(); form.requestSubmit()")
        said(page, "It is announced.")
        page.wait_for_selector("text=Lunch at one")
        with served.store() as store:
            assert [
                one["text"] for one in store.announcements.standing(Clock().utc())
            ] == ["Lunch at one"]
        assert page.evaluate("document.activeElement.ariaLabel") == "Announce"
        page.click("#theme")
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert_accessible(page)


def test_it_says_that_the_server_is_lost_and_outlives_a_restart_and_a_session_s_end(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    server = server_of(served)
    # What Chromium says of a server that is gone is no fault of the page.
    with browser.new_context() as profile:
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
        page.get_by_role("link", name="Log in again").click()
        page.wait_for_url("**/operator/login**")
        log_in(page, key)
        page.wait_for_selector("#theme")


def test_an_unchanged_fragment_costs_a_304_and_nobody_else_sees_it(
    served: Day,
    key: str,
) -> None:
    server = server_of(served)
    first = server.ask("GET", "/operator/live", key)
    assert "script-src" not in first.headers["Content-Security-Policy"]
    tag = {"If-None-Match": first.headers["ETag"]}
    assert server.ask("GET", "/operator/live", key, tag).status_code == 304
    assert server.ask("GET", "/operator/live").status_code == 401
    assert PASSWORD not in first.text
