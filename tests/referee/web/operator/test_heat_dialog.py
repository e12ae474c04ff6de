"""Heats in the console, in a browser: made in one dialog from the queue, started with all lights on or with a tick."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from referee.contest import read_secrets
from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day
from tests.referee.web.two_stations import OTHER_TEAM, two_stations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

__all__ = ["browser"]


def enter(page: Page, day: Day) -> None:
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", read_secrets(day.folder)[1].hex())
    with page.expect_navigation():
        page.keyboard.press("Enter")


def asked(page: Page, name: str) -> Locator:
    page.get_by_role("button", name=name, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    page.wait_for_timeout(500)  # nobody can confirm what is not read yet
    return dialog


@contextmanager
def asking_to_start(made: Day) -> Iterator[None]:
    """Both teams ask again and again, as their systems do: the lights are on only soon after they have asked."""
    server = made.server
    assert server is not None
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.5):
            for team in (TEAM, OTHER_TEAM):
                login = {"team": team, "password": PASSWORD}
                answer = server.ask("POST", "/v1/session", json=login)
                assert answer.status_code == 409, answer.text

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            yield
        finally:
            is_over.set()
            asking.result()


def test_a_heat_is_made_from_the_queue_and_starts_with_its_lights_or_a_tick(
    day: Callable[..., Day],
    browser: Browser,
) -> None:
    made = two_stations(day, auto_arm=False)
    server = made.server
    assert server is not None
    with made.store() as store:
        store.queue.change(lambda _: [OTHER_TEAM, TEAM])
    with visit(browser, f"{server.url}/operator/", refused=[400]) as page:
        enter(page, made)
        dialog = asked(page, "Make a heat")
        assert dialog.get_by_label("Name").input_value() == "1"
        first = dialog.get_by_label("Team at station-1")
        second = dialog.get_by_label("Team at station-2")
        # The first teams of the queue are proposed.
        assert first.input_value() == OTHER_TEAM
        assert second.input_value() == TEAM
        assert_accessible(page)
        first.select_option("none")
        dialog.locator("#ask-do").click()
        page.get_by_text("name at least two").wait_for()
        first.select_option(OTHER_TEAM)
        dialog.get_by_label("Round").fill("1")
        dialog.locator("#ask-do").click()
        page.locator("#said").get_by_text("Heat 1 is made").wait_for()
        heat = page.locator(".heat")
        heat.get_by_text("✓ meter: ready").first.wait_for()
        heat.get_by_text("✗ board: not heard from within 10 s").first.wait_for()
        heat.get_by_text("✗ team: not logged in").first.wait_for()
        assert_accessible(page)
        for width in (1440, 1920, 768, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.body.scrollWidth") <= width
        page.set_viewport_size({"width": 1440, "height": 900})

        # Without the tick the dialog does not let go.
        dialog = asked(page, "Start Heat 1")
        says = page.inner_text("#ask-says")
        assert f"{TEAM} has not logged in within the last 5 s" in says
        assert f"the board of {OTHER_TEAM} has not been heard from" in says
        dialog.locator("#ask-do").click()
        assert made.runs(RunState.OPEN) == []
        assert dialog.is_visible()
        page.keyboard.press("Escape")

        with asking_to_start(made):
            heat.get_by_text("✓ team: waits for the start").nth(1).wait_for()
            heat.get_by_text("✓ board: heard from within 10 s").nth(1).wait_for()
        # The teams stop asking, and the tick starts the heat all the same.
        heat.get_by_text("✗ team: not logged in").nth(1).wait_for()
        dialog = asked(page, "Start Heat 1")
        dialog.get_by_label("Start all the same").check()
        dialog.locator("#ask-do").click()
        page.locator("#said").get_by_text("Heat 1 has started.").wait_for()
    assert {run.team for run in made.runs(RunState.OPEN)} == {TEAM, OTHER_TEAM}
