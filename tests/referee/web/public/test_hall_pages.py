"""The pages of a hall, in dark and light at each width: axe finds nothing."""

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
SIZES = ((360, 640), (768, 1024), (1440, 900), (1920, 1080))
THEMES = ("dark", "light")
PAGES = (
    "/",
    "/?view=projector&theme={theme}",
    "/display/station-1",
    "/operator/login",
)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("hall") / "contest"
    with hall_of(16, folder, small_set.folder) as made:
        for at, team in enumerate(RUNNING[:2], start=1):
            ask(made, "/runs", team=team, station=f"station-{at}")
        made.login(RUNNING[0])
        ask(made, "/announcements", text="Lunch at noon.")
        yield made


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(hall: Day, browser: Browser, path: str, theme: str) -> None:
    assert hall.server is not None
    url = hall.server.url + path.format(theme=theme)
    state = as_operator(hall) if path.startswith("/display") else None
    with visit(browser, url, storage_state=state, color_scheme=theme) as page:
        page.locator("main").wait_for()
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_selector("html:not(.is-lost)")
            assert_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
