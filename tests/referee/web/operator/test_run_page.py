"""The page of a run: what the jury sees of it, open or over, and what can be done and taken home from there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.judging.run_dossier import MOST_LISTED
from referee.store.records import Refusal, RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import (
    TEAM,
    Day,
    contest_day,
    problem,
    until,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
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
    day: Day,
    key: str | None,
    method: str,
    path: str,
    **more: object,
) -> requests.Response:
    assert day.server is not None
    return day.server.ask(method, f"/operator/runs/{path}", key, **more)


def opened(day: Day, key: str, page: Page) -> None:
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
        page.wait_for_selector("[aria-labelledby=budget] >> text=start and stop")
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
    problem(
        ask(served, key, "GET", "1/export?format=exe"),
        400,
        "bad-request",
    )


def test_a_run_with_many_findings_has_a_small_page_that_is_sent_only_when_it_changes_and_a_way_to_all(
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "contest", tiny_set, teams=(TEAM, "bee")) as day:
        day.serve()
        day.post(day.fetched(day.login()["token"]))
        with open_contest(day.folder) as contest:
            key = contest.operator_key
        ask(day, key, "POST", "1/close")
        until(lambda: day.run().closed_utc)
        with open_contest(day.folder) as contest:
            many_findings(contest)
            found = len(contest.store.log.of_run(1))
        until(lambda: "refusal 351" in ask(day, key, "GET", "1/live").text)
        # The provisional figures of the closed run change the page once more.
        until(lambda: SCORE_TO_COME not in ask(day, key, "GET", "1/live").text)
        short = ask(
            day,
            key,
            "GET",
            "1/live",
            headers={"Accept-Encoding": "identity"},
        )
        assert len(short.content) <= LARGEST_BYTES
        left_out = (
            f"and {352 - MOST_LISTED} more earlier refusals",
            f"and {60 - MOST_LISTED} more earlier notes",
            f"and {found - MOST_LISTED} more earlier events",
        )
        assert all(words in short.text for words in left_out)
        assert 'Refusals <span class="quiet">1056</span>' in short.text
        whole = ask(day, key, "GET", "1?lists=all").text
        for words in ("refusal 0,", "note 0", "event 0"):
            assert words in whole
            assert words not in short.text
        assert 'data-live="/operator/runs/1/live?lists=all"' in whole

        seen = {"If-None-Match": short.headers["ETag"]}
        day.login("bee")  # a run of another team changes the status, not this page
        until(lambda: day.run(2).state == "open")
        assert ask(day, key, "GET", "1/live", headers=seen).status_code == 304
        ask(
            day,
            key,
            "POST",
            "1/note",
            json={"text": "what is new"},
        )
        fresh = ask(day, key, "GET", "1/live", headers=seen)
        assert "what is new" in fresh.text


LARGEST_BYTES = 60_000
SCORE_TO_COME = "<dt>Score</dt><dd>\N{EN DASH}</dd>"


def many_findings(contest: Contest) -> None:
    store = contest.store
    now = Clock().utc()
    utc = now.isoformat()
    store.refusals.keep(
        (
            None,
            Refusal(
                utc,
                utc,
                3,
                "bad-json",
                400,
                TEAM,
                1,
                "10.0.0.1",
                f"refusal {n}, which is {'long ' * 20}",
            ),
        )
        for n in range(352)
    )
    for number in range(500):
        store.log.append(now, 1, "warning", sentence=f"event {number}")
    for number in range(60):
        store.notes.add(1, "jo", f"note {number} {'long ' * 99}", now)


def test_neither_page_nor_note_nor_download_is_for_anyone_but_operators(
    served: Day,
) -> None:
    for path in ("1", "1/bundle", "1/export"):
        answer = ask(served, None, "GET", path, allow_redirects=False)
        assert answer.status_code == 303, "to the log-in"
        assert answer.headers["Location"].startswith("/operator/login")
    problem(ask(served, None, "GET", "1/live"), 401, "bad-token")
    problem(
        ask(served, None, "POST", "1/note", json={"text": "a"}),
        401,
        "bad-token",
    )


def test_a_run_that_the_jury_has_not_published_has_no_bundle_but_for_the_jury(
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "contest", tiny_set) as day:
        config = day.folder / "contest.toml"
        config.write_text(f"publish_by = 1\n{config.read_text()}")
        day.serve()
        day.post(day.fetched(day.login()["token"]))
        with open_contest(day.folder) as contest:
            key = contest.operator_key
        ask(day, key, "POST", "1/close")
        until(lambda: day.run().closed_utc)
        ask(day, key, "POST", "1/judge")
        until(lambda: day.run().state is RunState.JUDGED)
        with open_contest(day.folder) as contest:
            judged = contest.store.scores.latest(1)
        assert judged is not None
        file = str(tmp_path / "run-1.zip")
        for act, missing in (
            ("confirm", "confirmed and published"),
            ("publish", "published"),
        ):
            refused = ask(day, key, "GET", "1/bundle")
            problem(refused, 409, "not-published")
            sentence = f"The judgement of run 1 is not {missing} yet"
            assert refused.json()["detail"].startswith(sentence)
            assert sentence in day.refers("bundle", "export", "1", "-o", file).stderr
            folder = str(tmp_path / act)
            every = day.refers("bundle", "export", "--all", "-o", folder)
            assert "Not published, so without a bundle: run 1" in every.stderr
            assert [*Path(folder).iterdir()] == []
            body = {"judged_utc": judged.judged_utc}
            assert ask(day, key, "POST", f"1/{act}", json=body).ok
        for_jury = day.refers("bundle", "export", "1", "-o", file, "--unpublished")
        assert for_jury.returncode == 0
        assert ask(day, key, "GET", "1/bundle").status_code == 200


def test_a_note_too_long_blank_or_on_no_run_is_refused(served: Day, key: str) -> None:
    for path, text, status, code in (
        ("1/note", "x" * 2001, 400, "bad-request"),
        ("1/note", "  ", 400, "bad-json"),
        ("1/note", "a\0b", 400, "bad-request"),
        ("1/note", "\x1b[2J", 400, "bad-request"),
        ("99/note", "x", 404, "run-unknown"),
    ):
        problem(
            ask(served, key, "POST", path, json={"text": text}),
            status,
            code,
        )
    assert ask(served, key, "GET", "99").status_code == 404
    odd = ask(served, key, "POST", "1/void", json={"reason": "a\x1b[2J"})
    problem(odd, 400, "bad-request")
