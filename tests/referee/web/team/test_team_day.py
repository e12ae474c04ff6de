"""A team's day in a browser: from the log-in with the sheet's password to the report, with a question on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.contest import read_secrets
from referee.store.records import RunState
from tests import warm_programs
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day, Server, contest_day, until
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["browser"]
SIZES = ((360, 740), (768, 1024), (1440, 900), (1920, 1080))
LONG = "a name of a hundred characters" * 6 + "01234567890123456789"
MARKUP = "<script>alert(1)</script>"
QUESTION = f"May we use a fan?\n{MARKUP}"


@pytest.fixture
def served(tmp_path: Path, tiny_set: Path) -> Iterator[Day]:
    with contest_day(
        tmp_path / "contest",
        tiny_set,
        auto_arm=False,
        teams=(TEAM, "bee", LONG),
    ) as made:
        settings = made.folder / "contest.toml"
        text = settings.read_text()
        changed = text.replace("teams_see_score = false", "teams_see_score = true")
        assert changed != text
        settings.write_text(changed)
        made.serve()
        yield made


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def operate(day: Day, path: str, **body: str) -> None:
    key = read_secrets(day.folder)[1].hex()
    given = server_of(day).ask("POST", f"/operator/{path}", key, json=body)
    assert given.ok, given.text


def log_in(page: Page, team: str, password: str = PASSWORD) -> None:
    page.fill("[name=team]", team)
    page.fill("[name=password]", password)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def assert_whole(page: Page) -> None:
    """The page is accessible at every size, in both themes, and nothing leaves it at its side."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.body.scrollWidth") <= width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert_accessible(page)
        low = page.evaluate(
            "[...document.querySelectorAll('button, [role=button], summary, .top a')]"
            ".filter(one => one.offsetHeight && one.offsetHeight < 44).map(one => one.outerHTML)"
        )
        assert low == []


def in_a_run(day: Day, page: Page) -> int:
    """A run of the team from the queue to its result, followed on the page."""
    operate(day, "queue/add", team=TEAM)
    page.wait_for_selector("dd >> text=1 of 1")
    operate(day, "runs", team=TEAM)
    page.wait_for_selector("text=The clock starts when your board logs in.")
    token = day.fetched(day.login()["token"])
    page.wait_for_selector(".present .clock")
    page.wait_for_selector("dt:has-text('Power') + dd:has-text('36.0')")
    assert day.post(token).ok
    assert day.post(token, [[1, 99, 0.5, 0, 0, 5, 5]]).status_code == 422
    page.wait_for_selector("#refusals + ul li:has-text('422') >> text=99")
    page.wait_for_selector("dt:has-text('Detections accepted') + dd:has-text('2')")
    page.wait_for_selector(".chart canvas")
    assert_whole(page)
    until(lambda: server_of(day).ask("GET", "/v1/session", token).ok)
    (run,) = day.runs(RunState.OPEN)
    server_of(day).ask("DELETE", "/v1/session", token)
    page.wait_for_selector(f"#run-{run.id}")
    operate(day, f"runs/{run.id}/judge")
    page.wait_for_selector(f"#run-{run.id} >> text=Report of run {run.id}")
    return run.id


def test_a_team_s_day_needs_nothing_but_its_page(
    served: Day,
    browser: Browser,
) -> None:
    url = server_of(served).url
    with visit(browser, f"{url}/team") as page:
        assert page.url.endswith("/team/login")
        assert_whole(page)
        log_in(page, TEAM, "wrong")
        assert "The team or the password is wrong." in page.inner_text(
            "main [role=alert]"
        )
        log_in(page, TEAM)
        assert page.url.endswith("/team/")
        assert page.inner_text("h1") == TEAM
        assert_whole(page)
        run = in_a_run(served, page)
        assert_whole(page)

        page.click(f"#receipts-{run} summary")
        page.wait_for_selector(f"#receipts-{run} code")
        with page.expect_popup() as opened:
            page.click(f"text=Report of run {run}")
        report = opened.value
        report.wait_for_load_state()
        assert f"run {run}" in report.inner_text("body").lower()
        report.close()

        page.fill("textarea", QUESTION)
        with page.expect_navigation():
            page.click("button:has-text('Ask')")
        page.wait_for_selector("#question-1 >> text=waits for an answer")
        _answer_in_the_console(served, browser)
        page.wait_for_selector("#question-1 >> text=to everyone")
        assert "It is metered, too." in page.inner_text("#question-1")
        assert MARKUP in page.inner_text("#question-1")
        assert_whole(page)

        _command_tells_the_same(served, page, run)

        operate(served, "board/freeze")
        page.wait_for_selector("text=The board is frozen")
        assert page.query_selector(f"text=Report of run {run}") is None
        with page.expect_navigation():
            page.click("text=Log out")
        page.go_back()
        page.wait_for_url("**/team/login*")
    _everyone_reads_the_answer(url, browser)


def test_who_logs_out_is_not_told_that_the_log_in_has_ended(
    served: Day,
    browser: Browser,
) -> None:
    """The page's question is on its way when the log-out is answered."""
    from playwright.sync_api import Error

    waiting: list[Route] = []

    def leave(route: Route) -> None:
        for one in waiting:
            with suppress(Error):  # it was dropped
                one.fulfill(status=401)
        route.continue_()

    with visit(browser, f"{server_of(served).url}/team") as page:
        log_in(page, TEAM)
        page.route("**/team/live*", lambda route: waiting.append(route))
        page.route("**/team/logout", leave)
        with page.expect_request("**/team/live*"):
            pass
        with page.expect_navigation():
            page.click("text=Log out")
        assert waiting


def _answer_in_the_console(day: Day, browser: Browser) -> None:
    with visit(browser, f"{server_of(day).url}/operator/") as page:
        page.fill("[name=name]", "ruth")
        page.fill("[name=password]", read_secrets(day.folder)[1].hex())
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.click("#answer-1")
        dialog = page.get_by_role("dialog")
        assert MARKUP in dialog.inner_text()
        dialog.get_by_label("Answer", exact=True).fill("Yes.\nIt is metered, too.")
        dialog.get_by_label("Everyone may read question").check()
        assert_accessible(page)
        page.click("#ask-do")
        page.wait_for_selector("#question-1 >> text=to everyone")
        assert_accessible(page)


def _command_tells_the_same(day: Day, page: Page, run: int) -> None:
    """`lpirc-client status` has the run with its figures, the refusal and the answer, as the page has them."""
    command = ["lpirc-client", "status", server_of(day).url, "--team", TEAM]
    environment = {"LPIRC_PASSWORD": PASSWORD, "NO_COLOR": "1"}
    told = warm_programs.run(command, TIMEOUT_S, day.folder, environment)
    assert told.returncode == 0, told.stderr
    assert f"run {run} at " in told.stdout
    assert ": judged" in told.stdout
    refusal = page.inner_text("#refusals + ul li .name").partition(" From ")[0]
    assert refusal in told.stdout
    assert "  answer: Yes.\n" in told.stdout


def _everyone_reads_the_answer(url: str, browser: Browser) -> None:
    with visit(browser, f"{url}/") as page:
        answers = page.locator("#answers + dl")
        answers.wait_for()
        assert "May we use a fan?" in answers.inner_text()
        assert TEAM not in answers.inner_text()
        assert_accessible(page)
        page.click(f".attempts a:has-text('{TEAM}')")
        page.wait_for_selector("h1 >> text=ant")
        assert_accessible(page)


def test_the_sheet_has_what_leads_to_the_team_s_page(
    served: Day,
    browser: Browser,
    tmp_path: Path,
) -> None:
    listed = tmp_path / "teams.csv"
    listed.write_text("team,affiliation\nnewt,Pond\n")
    sheet = tmp_path / "sheet.html"
    url = server_of(served).url
    made = served.refers(
        "team", "import", str(listed), "--sheet", str(sheet), "--url", url
    )
    assert made.returncode == 0, made.stderr
    with visit(browser, sheet.as_uri()) as page:
        address = page.locator("dt:text-is('your page') + dd code").inner_text()
        password = page.locator("dt:text-is('password') + dd").inner_text()
    with visit(browser, address) as page:
        log_in(page, "newt", password)
        assert page.inner_text("h1") == "newt"
        operate(served, "queue/add", team="newt")
        page.wait_for_selector("dd >> text=1 of 1")


def test_a_page_of_a_very_long_name_stays_within_its_window(
    served: Day,
    browser: Browser,
) -> None:
    operate(served, "queue/add", team=LONG)
    with visit(browser, f"{server_of(served).url}/team/login") as page:
        log_in(page, LONG)
        page.wait_for_selector("dd >> text=1 of 1")
        assert_whole(page)


def test_a_page_left_open_leads_to_the_log_in_once_its_session_has_ended(
    served: Day,
    browser: Browser,
) -> None:
    with visit(browser, f"{server_of(served).url}/team/login", refused=[401]) as page:
        log_in(page, TEAM)
        with served.store() as store:
            store.teams.set_disabled(TEAM, disabled=True)
        page.get_by_role("link", name="Log in again").click()
        page.wait_for_url("**/team/login")
