"""Debian's Chromium for the tests of pages, and what must hold of every page that it visits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless browser for the tests of a module."""
    program = CHROMIUM if os.access(CHROMIUM, os.X_OK) else shutil.which("chromium")
    if program is None:
        reason = "Chromium is not installed: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT_S * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def visit(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = (1440, 900),
    refused: Iterable[int | str] = (),
    **context: Any,
) -> Iterator[Page]:
    """A page of a browser profile of its own, at `url`.

    At the end nothing may have gone wrong in it: no console error, no error in a script, no breach of the content
    security policy, no request to another host. What the test provokes may come: answers of the
    statuses `refused`, or messages with such a text, as "ERR_CONNECTION_REFUSED".
    """
    width, height = size
    profile = browser.new_context(
        viewport={"width": width, "height": height},
        **context,
    )
    try:
        page = profile.new_page()
        page.set_default_timeout(TIMEOUT_S * 1000)
        expected = [
            f"status of {one} " if isinstance(one, int) else one for one in refused
        ]
        wrong = complaints(page, urlsplit(url).netloc, expected)
        page.goto(url)
        yield page
        if not page.is_closed():
            page.evaluate("0")  # what was under way has come
        assert wrong == [], "\n".join(wrong)
    finally:
        profile.close()


def complaints(
    page: Page,
    host: str,
    expected: Iterable[str] = (),
) -> list[str]:
    """What goes wrong in the page from now on, as it happens; `expected` are parts of messages that may come."""
    wrong: list[str] = []

    def on_console(
        message: Any,
    ) -> None:  # a breach of the content security policy is a console error, too
        if message.type == "error" and not any(
            part in f"{message.text} " for part in expected
        ):
            wrong.append(f"console: {message.text} ({message.location.get('url')})")

    def on_request(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            wrong.append(f"foreign request: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("request", on_request)
    return wrong


def assert_accessible(page: Page) -> None:
    """Axe finds nothing to complain of in what the page shows now."""
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(page)
    found = [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:3]]}"
        for one in results.response["violations"]
    ]
    assert found == [], "\n".join(found)
