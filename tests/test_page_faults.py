"""A page's faults are found where they are: at one width, in one scheme, under a finger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser import browser
from tests.page_faults import faults

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
PAGE = """<!doctype html><html lang="en"><head><title>A page</title><style>
  :root {{ color-scheme: light dark; background: light-dark(#fff, #111) }} button {{ min-height: 44px }} {style}
</style></head><body><main><h1>A page</h1><p>Words to read.</p><button>Go</button></main></body></html>"""


def found(browser: Browser, style: str) -> list[str]:
    page = browser.new_page()
    try:
        page.set_content(PAGE.format(style=style))
        return [fault.split(": ")[0] for fault in faults(page)]
    finally:
        page.close()


def test_a_fault_is_found_at_the_width_and_in_the_scheme_that_have_it(
    browser: Browser,
) -> None:
    assert found(browser, "") == []
    dark = "@media (min-width: 1500px) and (prefers-color-scheme: dark) { p { color: #333 } }"
    assert found(browser, dark) == ["at 1920, dark"]
    light = "@media (min-width: 800px) and (max-width: 1500px) and (prefers-color-scheme: light) { p { color: #ddd } }"
    assert found(browser, light) == ["at 1440, light"]
    assert found(browser, "@media (max-width: 700px) { p { width: 400px } }") == [
        "at 360"
    ]
    low = "@media (width: 768px) { button { min-height: 0; height: 40px } }"
    assert found(browser, low) == ["at 768"]
