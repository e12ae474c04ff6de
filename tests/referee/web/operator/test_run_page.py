"""The page of a run: what the jury sees of it, open or over, and what can be done and taken home from there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from referee.contest import open_contest
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, contest_day, problem, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
TIMEOUT_MS = 30_000
MARKUP = "<script>alert(1)</script> " + "x" * 200


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("page") / "contest"
    with contest_day(folder, tiny_set, teams=(TEAM, "bee")) as made:
        made.serve()
        made.post(made.fetched(made.login()["token"]))
        yield made


@pytest.fixture(scope="module")
def key(served: Day) -> str:
    with open_contest(served.folder) as contest:
        return contest.operator_key


def ask(
    day: Day, key: str | None, method: str, path: str, **more: object
) -> requests.Response:
    assert day.server is not None
    return day.server.ask(method, f"/operator/runs/{path}", key, **more)


def opened(day: Day, key: str, page: Page) -> None:
    page.set_default_timeout(TIMEOUT_MS)
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", key)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/operator/runs/1"), "the log-in leads back to the page"


def test_the_page_of_an_open_run_follows_it_to_its_judgement_and_keeps_notes(
    served: Day,
    browser: Browser,
    key: str,
) -> None:
    assert served.server is not None
    with visit(browser, f"{served.server.url}/operator/runs/1") as page:
        opened(served, key, page)
        page.wait_for_selector("#timeline canvas")
        page.click("#note-1")
        page.get_by_role("dialog").get_by_label("Note").fill(MARKUP)
        page.click("#ask-do")
        page.wait_for_selector("#decided ~ *, .log >> text=by key as ruth")
        page.click("#close-1")
        page.click("#ask-do")
        page.wait_for_selector("#judge-1")
        page.click("#judge-1")
        page.click("#ask-do")
        page.wait_for_selector(".log >> text=energy-measured")
        assert MARKUP in page.inner_text("#live"), "shown as it was written"
        for width in (360, 768, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                assert_accessible(page)
        page.goto(f"{served.server.url}/operator/")
        page.wait_for_selector("#run-1 >> text=1 note")
        page.click("#page-1")
        page.wait_for_selector("h1 >> text=Run 1")


def test_what_is_downloaded_from_the_page_is_what_the_commands_write(
    served: Day,
    key: str,
) -> None:
    ask(served, key, "POST", "1/close")
    until(lambda: served.run().closed_utc)
    names = {
        "1/bundle": "manifest.json",
        "1/export": "detections.csv",
        "1/export?format=coco": "events.csv",
    }
    for path in names:
        answer = ask(served, key, "GET", path)
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.testzip() is None
            found = archive.namelist()
        assert found, path
    problem(ask(served, key, "GET", "1/export?format=exe"), 400, "bad-request")


def test_neither_page_nor_note_nor_download_is_for_anyone_but_operators(
    served: Day,
) -> None:
    for path in ("1", "1/bundle", "1/export"):
        answer = ask(served, None, "GET", path, allow_redirects=False)
        assert answer.status_code == 303, "to the log-in"
        assert answer.headers["Location"].startswith("/operator/login")
    problem(ask(served, None, "GET", "1/live"), 401, "bad-token")
    problem(ask(served, None, "POST", "1/note", json={"text": "a"}), 401, "bad-token")


def test_a_note_too_long_blank_or_on_no_run_is_refused(served: Day, key: str) -> None:
    for path, text, status, code in (
        ("1/note", "x" * 2001, 400, "bad-request"),
        ("1/note", "  ", 400, "bad-json"),
        ("99/note", "x", 404, "run-unknown"),
    ):
        problem(ask(served, key, "POST", path, json={"text": text}), status, code)
    assert ask(served, key, "GET", "99").status_code == 404
