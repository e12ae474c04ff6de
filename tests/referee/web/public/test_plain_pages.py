"""Pages without JavaScript, by keyboard, and in another time zone than the server's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

import referee
from referee.clock import Clock
from referee.contest import open_contest
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TIMEOUT_S, Day, contest_day

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
FOLDER = Path(referee.__file__).parent
PLACES = [path for path in FOLDER.rglob("templates") if path.is_dir()]
SIZES = (360, 768, 1440, 1920)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("plain") / "contest"
    with contest_day(folder, tiny_set) as made:
        with open_contest(folder) as contest:
            contest.store.announcements.add("jo", "Lunch at noon.", Clock().utc())
        made.serve()
        yield made


def url(hall: Day, path: str = "/") -> str:
    assert hall.server is not None
    return hall.server.url + path


def test_a_time_is_in_the_reader_s_zone_and_says_what_it_is_in_utc(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall), timezone_id="Asia/Kolkata", locale="en-GB") as page:
        time = page.locator(".announcements time[title]")
        time.wait_for()
        hours, minutes = map(int, time.inner_text().split(":"))
        stated = re.fullmatch(r"(\d\d):(\d\d) UTC", time.get_attribute("title") or "")
        assert stated
        utc = int(stated[1]) * 60 + int(stated[2])
        assert (hours * 60 + minutes - utc) % (24 * 60) == 5 * 60 + 30


def test_without_script_the_board_says_so_renews_itself_and_writes_utc(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall), java_script_enabled=False) as page:
        shown = page.locator(".announcements time").inner_text()
        assert re.fullmatch(r"\d\d:\d\d UTC", shown)
    # Chromium shows <noscript> to no one whose scripts a debugger has switched off, so it is read from the page.
    markup = requests.get(
        url(hall), headers={"Accept": "text/html"}, timeout=TIMEOUT_S
    ).text
    head, _, body = markup.partition("<body")
    assert '<noscript><meta http-equiv="refresh" content="15"></noscript>' in head
    assert '<noscript><p class="notice warn">Without JavaScript' in body


def test_the_first_tab_leads_past_the_links_to_the_content(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall)) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == (
            "Skip to the content"
        )
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_every_template_of_a_page_has_the_content_that_the_skip_link_leads_to() -> None:
    pages = [
        path
        for path in FOLDER.rglob("*.html")
        if 'extends "base.html"' in path.read_text()
        and "{% block body %}" in path.read_text()
    ]
    assert len(pages) >= 5
    for path in pages:
        text = path.read_text()
        included = re.findall(r'{% include "([^"]+)" %}', text)
        if "{{ live }}" in text:
            included.append(f"operator/{path.stem}_live.html")
        parts = [
            (place / name).read_text()
            for name in included
            for place in PLACES
            if (place / name).is_file()
        ]
        assert 'id="main"' in "".join([text, *parts]), f'{path}: <main id="main">'


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_error_page_is_accessible_at_every_width(
    hall: Day,
    browser: Browser,
    scheme: str,
) -> None:
    where = url(hall, "/nowhere")
    with visit(browser, where, refused=[404], color_scheme=scheme) as page:
        for width in SIZES:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert_accessible(page)
