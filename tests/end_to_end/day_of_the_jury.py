"""What the jury decides: answers, confirms, publishes, freezes, unveils, and the site that stays."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from referee.contest import open_contest
from referee.judging.jury_decisions import Awaited, unpublished
from referee.publishing.site_verification import verify_site
from referee.store.records import RunState
from tests.browser import visit
from tests.contest_day import until
from tests.end_to_end.console_acts import act, until_shown
from tests.end_to_end.day_in_the_morning import TEAMS, press
from tests.end_to_end.persons import Day, fits, whole
from tests.referee.publishing.test_site import web_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RANKED_AT_NOON = 8
MARKS = {Awaited.CONFIRMATION: "to confirm", Awaited.PUBLICATION: "to publish"}
QUESTION = "May we use <b>two</b> fans?"


def ranking(day: Day) -> list[str]:
    """The teams with a rank on the public board, first to last."""
    rows = day.hall.ask("GET", "/board.json").json()["ranking"]
    return [one["team"] for one in rows if one["rank"]]


def a_question(browser: Browser, day: Day) -> None:
    """A team asks on its page, by its password; eve answers everyone."""
    team = TEAMS[0]
    with visit(browser, f"{day.hall.url}/team/") as page:
        page.fill("[name=team]", team)
        page.fill("[name=password]", day.hall.passwords[team])
        press(
            page,
            "Log in",
        )
        fits(page)
        page.get_by_role("textbox", name="Question").fill(QUESTION)
        press(
            page,
            "Ask",
        )
        until_shown(
            day.eve,
            "#attention li",
            f"{team} asks: {QUESTION}",
        )
        fits(day.eve)
        act(
            day.eve,
            "Answer question 1",
            answer="One.",
            to_all="yes",
        )
        until_shown(
            page,
            "#question-1",
            "One.",
        )
        fits(page)
    until_shown(
        day.viewer,
        "#answers + dl",
        "One.",
    )
    fits(day.viewer)


def confirm_and_publish(day: Day) -> None:
    """What is in review stands, by eve; ruth confirms each judgement, eve publishes it."""
    until_all_are_shown(day, day.eve)
    one_by_one(day.eve, "Let", note="It was the same for both.")
    until_all_are_shown(day, day.ruth)
    day.ruth.get_by_text("! in review").first.wait_for(state="detached")
    all_at_once(day.ruth, "Confirm", "to publish")
    one_by_one(day.ruth, "Confirm")
    until_all_are_shown(day, day.eve)
    all_at_once(day.eve, "Publish", "Rejudge")
    one_by_one(day.eve, "Publish")


def until_all_are_shown(day: Day, page: Page) -> None:
    """Wait until the page of one person shows what the other has decided last."""
    with open_contest(day.hall.folder) as contest:
        waiting = unpublished(contest)
    for run, its in waiting.items():
        until_shown(page, f"#run-{run} .mark", MARKS[its])


def all_at_once(page: Page, verb: str, then: str) -> None:
    """Decide on all runs that nothing speaks against by one press, and wait until the list shows `then` for them."""
    together = page.locator("#runs-panel header").get_by_role("button", name=verb)
    if not together.count():
        return  # something speaks against each of them, as on a machine that pauses
    said = act(page, str(together.get_attribute("aria-label")))
    decided = re.findall(r"\d+", said.partition(".")[0])
    assert decided, said
    for run in decided:
        until_shown(page, f"#run-{run}", then)
        page.locator(f"#{verb.lower()}-{run}").wait_for(state="detached")


def one_by_one(page: Page, verb: str, **fields: str) -> None:
    """Press the button of each run that is left."""
    buttons = page.locator(".runs").get_by_role("button", name=verb)
    while buttons.count():
        title = buttons.first.get_attribute("aria-label")
        button = page.get_by_role("button", name=title, exact=True)
        act(page, str(title), **fields)
        button.wait_for(state="detached")


def freeze(day: Day) -> None:
    """From now on nothing newer is seen in the hall."""
    until(lambda: len(ranking(day)) == RANKED_AT_NOON)
    act(
        day.ruth,
        "Freeze the board",
    )
    until_shown(
        day.viewer,
        "h2",
        "Ranking at the freeze",
    )
    day.frozen = ranking(day)
    day.frozen_rows = rows_of(day.viewer)


def rows_of(page: Page) -> list[str]:
    """The rows of a page's ranking, as they are read."""
    return page.locator(".ranking tbody tr").all_inner_texts()


def nothing_newer_is_seen(day: Day) -> None:
    """All 16 are judged, confirmed and published; the hall still sees the ranking of the freeze."""
    assert len(ranking_of_the_database(day)) == len(TEAMS)
    day.viewer.reload()
    day.viewer.locator("h2", has_text="Ranking at the freeze").wait_for()
    assert ranking(day) == day.frozen
    assert rows_of(day.viewer) == day.frozen_rows
    assert "at most -" not in day.viewer.inner_text(".prizes"), "no energy is below 0"
    whole(day.viewer)


def unveil(day: Day) -> None:
    """Ruth unveils by the presenter's page, key by key, from the last place up; the viewer's board follows."""
    act(
        day.ruth,
        "Unveil the board",
    )
    day.ruth.get_by_role("link", name="Ceremony").click()
    final = ranking_of_the_database(day)
    for place in range(len(final) - 1, 0, -1):
        day.ruth.get_by_role(
            "heading", name=f"Next: place {place}", exact=True
        ).wait_for()
        shown = ranking(day)
        assert shown == final[place:], shown
        if place == len(final) // 2:
            fits(day.ruth)
            fits(day.viewer)
        day.ruth.keyboard.press("PageDown")
    day.ruth.get_by_role("heading", name="Next: the prizes").wait_for()
    fits(day.ruth)
    day.ruth.keyboard.press("PageDown")
    day.ruth.get_by_text("The board is live.").wait_for()


def ranking_of_the_database(day: Day) -> list[str]:
    """The teams by the stored judgements alone: mAP over energy, the highest first."""
    with day.hall.store() as store:
        scores = {}
        for run in store.runs.find(RunState.JUDGED):
            judged = store.scores.latest(run.id)
            assert judged is not None
            assert run.energy_wh
            scores[run.team] = judged.map / run.energy_wh
    return sorted(scores, key=lambda team: -scores[team])


def site(day: Day, browser: Browser, root: Path) -> None:
    """Ruth publishes the site and downloads it; any web server shows the ranking of the database."""
    ruth = day.ruth
    ruth.get_by_role("link", name="Console", exact=True).click()
    ruth.get_by_role("button", name="Site", exact=True).click()
    act(
        ruth,
        "Publish the site",
    )
    download = ruth.get_by_role("button", name="Download the site (ZIP)")
    download.wait_for()
    with ruth.expect_download() as downloaded:
        download.click()
    shutil.unpack_archive(downloaded.value.path(), root, "zip")
    assert verify_site(root / "site", None).problems == []
    with web_server(root / "site") as address, visit(browser, address) as page:
        teams = page.locator("#ranking + table th[scope=row] a").all_inner_texts()
        assert teams == ranking_of_the_database(day)
