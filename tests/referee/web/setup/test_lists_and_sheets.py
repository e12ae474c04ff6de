"""Teams from a list on a page: all or none, and a sheet of its own for each team's password."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import requests

from tests.browser import browser
from tests.contest_day import TEAM, Day
from tests.referee.web.setup.settings_pages import Pages, fields
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
MARKUP = "<script>alert(1)</script>"
LONG = "a-name-without-a-blank-" * 6
TEAMS = [MARKUP, LONG, "Müller", "北京大学视觉队"]
MANY = 200


@pytest.fixture
def served(day: Callable[..., Day]) -> Day:
    return day(auto_arm=False)


@pytest.fixture
def pages(served: Day) -> Iterator[Pages]:
    made = Pages(served)
    yield made
    made.session.close()


def sent_file(pages: Pages, content: bytes) -> requests.Response:
    form = pages.form("teams", "teams/import")
    return pages.session.post(
        f"{pages.url}/teams/import",
        data=form,
        files={"file": ("teams.csv", content, "text/csv")},
        timeout=TIMEOUT_S * 4,
    )


def registered(day: Day) -> list[str]:
    with day.store() as store:
        return sorted(store.teams.all())


def test_a_file_with_a_bad_line_adds_nothing_and_stays_to_be_corrected(
    served: Day, pages: Pages
) -> None:
    text = f"team;affiliation\r\nbee;Bees\r\n;nobody\r\n{MARKUP};\r\n"
    refused = sent_file(pages, text.encode("utf-8-sig"))
    assert refused.status_code == 400
    assert "line 3: the team&#39;s name is blank (&#39;nobody&#39;)" in refused.text
    assert MARKUP not in refused.text
    assert registered(served) == [TEAM]
    kept = re.findall(r"<textarea[^>]*>(.*?)</textarea>", refused.text, re.DOTALL)[0]
    assert ";nobody" in kept
    form = fields(refused.text, "teams/import")
    form["list"] = text.replace(";nobody", "fox;nobody")
    assert pages.post("teams/import", form).status_code == 200
    assert registered(served) == sorted([TEAM, "bee", "fox", MARKUP])


def test_a_list_of_windows_is_shown_first_and_taken_when_it_is_sent_again(
    served: Day, pages: Pages
) -> None:
    refused = sent_file(pages, "team\nMüller\n".encode("cp1252"))
    assert "line 2 is not UTF-8" in refused.text
    kept = re.findall(r"<textarea[^>]*>(.*?)</textarea>", refused.text, re.DOTALL)[0]
    form = fields(refused.text, "teams/import") | {"list": kept}
    assert pages.post("teams/import", form).status_code == 200
    assert registered(served) == sorted([TEAM, "Müller"])


def test_each_team_has_a_sheet_of_its_own_that_is_not_kept(
    pages: Pages, browser: Browser
) -> None:
    sheet = sent_file(pages, ("team\n" + "\n".join(TEAMS)).encode())
    assert sheet.headers["Cache-Control"] == "no-store"
    address = pages.url.removesuffix("/operator/settings")
    html = sheet.text.replace("<head>", f'<head><base href="{address}/">')
    page = browser.new_page()
    page.set_content(html, wait_until="load")
    printed = page.pdf(format="A4")
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == len(TEAMS)


def test_200_teams_are_registered_at_once_each_with_a_password_of_its_own(
    served: Day, pages: Pages
) -> None:
    names = [f"team-{number}" for number in range(MANY)]
    sheet = sent_file(pages, ("team\n" + "\n".join(names)).encode())
    assert sheet.status_code == 200
    passwords = re.findall(r"<dd><code>(\w{4}(?:-\w{4}){3})</code>", sheet.text)
    assert len(set(passwords)) == MANY
    assert len(registered(served)) == MANY + 1
