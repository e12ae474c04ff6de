"""Documents that a referee serves are printed as those of the site: a list for the table fits one sheet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from referee.web.app import create_app
from tests.docs.test_site_in_use import PAGE_OF_PDF, PRINTED
from tests.referee.factories import House
from tests.referee.web.served_app import served_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("name", PRINTED)
def test_a_document_for_the_table_is_printed_on_one_sheet(
    browser: Browser, build: Callable[..., House], name: str
) -> None:
    made = build()
    app = create_app(made.contest, made.control, made.clock)
    with served_app(app) as url:
        page = browser.new_page()
        page.goto(f"{url}/docs/{name}")
        printed = page.pdf(format="A4")
        page.close()
    assert len(PAGE_OF_PDF.findall(printed)) == 1
