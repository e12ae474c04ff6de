"""The attention line in a browser: a way out is a dialog away, the title counts, what needs a person sounds once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.clock import Clock
from referee.contest import open_contest
from referee.store.records import ENERGY_LOST, JUDGE_FAILED
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, contest_day, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
WIDTHS = (360, 768, 1440, 1920)
# What a person hears: the tones that were begun.
COUNT_TONES = """
window.tones = 0;
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function(...at) { window.tones += 1; start.apply(this, at); };
"""


@pytest.fixture
def served(tmp_path: Path, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path / "contest"
    with contest_day(folder, tiny_set, auto_arm=False, teams=(TEAM, "bee")) as made:
        made.serve()
        yield made


def log_in(day: Day, page: Page) -> None:
    with open_contest(day.folder) as contest:
        key = contest.operator_key
    page.fill("[name=name]", "ruth")
    page.fill("[name=password]", key)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def closed(day: Day, page: Page) -> int:
    """A run that is closed, by the console's own buttons."""
    page.click(f"#arm-{TEAM}")
    page.click("#ask-do")
    page.wait_for_selector("text=armed, waits for the log-in")
    day.fetched(day.login()["token"])
    page.click("button:text-is('Close')")
    page.click("#ask-do")
    page.wait_for_selector("#judge-1")
    return 1


def test_a_finding_leads_to_the_dialog_that_settles_it_and_the_title_counts(
    served: Day,
    browser: Browser,
) -> None:
    assert served.server is not None
    with visit(browser, f"{served.server.url}/operator/") as page:
        log_in(served, page)
        title = page.title()
        assert not page.is_visible("#attention")
        number = closed(served, page)
        page.wait_for_selector("#attention >> text=Closed and not judged yet: run 1.")
        assert page.title() == f"(1) {title}", page.inner_text("#attention")
        with served.store() as store:
            now = Clock().utc()
            store.log.append(now, number, JUDGE_FAILED, sentence="No test set.")
        page.wait_for_selector("#attention >> text=could not be judged: No test set.")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.body.scrollWidth") <= width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert_accessible(page)
        page.click("#attention button:text-is('Judge…')")
        assert "is scored from its stored records" in page.inner_text("#ask-says")
        page.click("#ask-do")
        page.wait_for_selector("#run-1 >> text=Rejudge")
        page.wait_for_function("title => document.title === title", arg=title)
    log = (served.folder / "server.log").read_text()
    assert log.count("needs attention: Run 1 of ant could not be judged") <= 1


def test_what_newly_needs_a_person_sounds_once_and_only_if_the_operator_has_allowed_it(
    served: Day,
    browser: Browser,
) -> None:
    assert served.server is not None

    def lose(number: int) -> None:
        with served.store() as store:
            now = Clock().utc()
            store.log.append(now, number, ENERGY_LOST, code="meter-reset")

    with visit(browser, f"{served.server.url}/operator/") as page:
        page.add_init_script(COUNT_TONES)
        log_in(served, page)
        number = closed(served, page)
        page.wait_for_selector("#attention >> text=Closed and not judged yet")
        page.click("#sound")
        assert page.get_attribute("#sound", "aria-pressed") == "true"
        at_first = page.evaluate("window.tones")
        assert at_first > 0, "so that the operator knows it"
        lose(number)
        page.wait_for_selector("#attention >> text=The energy of run 1")
        page.wait_for_function(f"window.tones === {2 * at_first}")
        page.evaluate("document.dispatchEvent(new Event('live'))")
        assert page.evaluate("window.tones") == 2 * at_first, "it is known by now"
        page.reload()
        assert page.get_attribute("#sound", "aria-pressed") == "true", "remembered"
        page.click("#sound")
        assert page.get_attribute("#sound", "aria-pressed") == "false"
    until(
        lambda: (
            (served.folder / "server.log")
            .read_text()
            .count("needs attention: The energy of run 1")
            == 1
        )
    )
