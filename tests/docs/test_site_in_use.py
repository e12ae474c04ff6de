"""The site of the documents in its readers' hands, from a disk: they search it, and print pages of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST = {
    "raspberry pi": "boards",
    "autostart": "boards",
    "wiring": "boards",
    "first contest": "first-contest",
    "my mAP is 0": "faq",
    "receipt": "receipts",
    "uncertainty": "energy",
    "idle power": "lab",
    "TFLite": "detectors",
    "nginx": "deploy/index",
    "backup": "operators",
    "import COCO": "testsets",
}
"""What users look for, and the page that must be found first."""
PRINTED = ("contest-week", "handbook")
"""Pages that are printed: each fits one sheet."""
PAGE_OF_PDF = re.compile(rb"/Type\s*/Page\b")
RESULT = ".md-search-result__item a.md-search-result__link"


def results(page: Page) -> list[str]:
    """The names of the pages found, as they are listed."""
    links = page.locator(RESULT).evaluate_all("all => all.map(one => one.href)")
    return [link.partition("?")[0].rpartition(".html")[0] for link in links]


def test_users_find_their_pages_first(browser: Browser, site: Path) -> None:
    home = (site / "index.html").as_uri()
    with visit(browser, home) as page:
        for query, name in FIRST.items():
            page.goto(f"{home}?q={query}")
            first = page.locator(RESULT).first
            expect(first).to_have_attribute("href", re.compile(rf"/{name}\.html\b"))
            assert not [one for one in results(page)[:3] if "/decisions/" in one], query


@pytest.mark.parametrize("name", PRINTED)
def test_a_page_for_the_table_is_printed_on_one_sheet(
    browser: Browser, site: Path, name: str
) -> None:
    with visit(browser, (site / f"{name}.html").as_uri()) as page:
        printed = page.pdf(format="A4")
    assert len(PAGE_OF_PDF.findall(printed)) == 1
