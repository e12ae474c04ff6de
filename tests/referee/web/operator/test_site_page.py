"""The site from the console: published and downloaded without a terminal, by operators only, as frozen as the board."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from referee.contest import read_secrets
from referee.publishing.site_verification import verify_site
from tests.contest_day import TEAM, Day, contest_day, problem, until


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    """A contest with one judged run."""
    folder = tmp_path_factory.mktemp("site") / "contest"
    with contest_day(folder, tiny_set, teams=(TEAM, "bee"), auto_judge=True) as made:
        server = made.serve()
        token = made.fetched(made.login()["token"])
        made.post(token)
        server.ask("DELETE", "/v1/session", token)
        until(lambda: made.run().state == "judged")
        yield made


def ask(day: Day, method: str, path: str, **body: object) -> requests.Response:
    assert day.server is not None
    key = read_secrets(day.folder)[1].hex()
    more = {"json": body} if method == "POST" else {}
    return day.server.ask(method, f"/operator{path}", key, **more)


def downloaded(day: Day, to: Path) -> Path:
    answer = ask(day, "GET", "/site/site.zip")
    assert answer.headers["Content-Type"] == "application/zip"
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(to)
    return to / "site"


def test_the_site_is_published_and_taken_away_in_one_file_that_verifies(
    served: Day, tmp_path: Path
) -> None:
    problem(ask(served, "GET", "/site/site.zip"), 404, "site-missing")
    assert "No site is published" in ask(served, "GET", "/site/").text
    told = ask(served, "POST", "/site/publish").json()
    assert told["sentence"].startswith("The site is published: ")
    shown = ask(served, "GET", "/site/live").text
    assert "Download the site" in shown
    assert f"<dd>{told['files'] + 2}</dd>" in shown, "manifest and signature as well"
    site = downloaded(served, tmp_path)
    assert verify_site(site, None).problems == []
    board = json.loads((site / "board.json").read_text())
    assert [one["team"] for one in board["ranking"]] == [TEAM]
    with served.store() as store:
        acts = [one["detail"] for one in store.log.newest_after(0, 500)[1]]
    assert "publish-site" in [one.get("action") for one in acts]


def test_what_is_for_the_end_is_refused_before_it_and_the_site_stays(
    served: Day, tmp_path: Path
) -> None:
    ask(served, "POST", "/site/publish")
    before = downloaded(served, tmp_path)
    ask(served, "POST", "/queue/add", team="bee")
    refused = ask(served, "POST", "/site/publish", final="yes")
    sentence = problem(refused, 409, "site-failed")["detail"]
    assert sentence.startswith("Nothing was published: Reports and bundles show")
    assert "teams wait in the queue" in sentence
    ask(served, "POST", "/queue/remove", team="bee")
    again = downloaded(served, tmp_path / "again")
    manifests = [(one / "manifest.json").read_bytes() for one in (before, again)]
    assert manifests[0] == manifests[1]


def test_of_two_who_publish_at_once_both_find_a_whole_site(
    served: Day, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        told = list(
            pool.map(lambda _: ask(served, "POST", "/site/publish"), range(2)),
        )
    assert [one.status_code for one in told] == [200, 200]
    assert verify_site(downloaded(served, tmp_path), None).problems == []


def test_the_site_of_a_frozen_board_has_nothing_newer(
    served: Day, tmp_path: Path
) -> None:
    ask(served, "POST", "/board/freeze")
    assert (
        "The board is frozen, and so is the site." in ask(served, "GET", "/site/").text
    )
    ask(served, "POST", "/runs/1/void", reason="after the freeze")
    ask(served, "POST", "/site/publish")
    board = json.loads((downloaded(served, tmp_path) / "board.json").read_text())
    assert [one["team"] for one in board["ranking"]] == [TEAM]


def test_whoever_is_no_operator_publishes_and_takes_nothing(served: Day) -> None:
    assert served.server is not None
    page = served.server.ask("GET", "/operator/site/", allow_redirects=False)
    assert page.headers["Location"] == "/operator/login?next=/operator/site/"
    problem(served.server.ask("GET", "/operator/site/live"), 401, "bad-token")
    asked = served.server.ask("POST", "/operator/site/publish", json={})
    assert asked.status_code == 401
    taken = served.server.ask("GET", "/operator/site/site.zip", allow_redirects=False)
    assert taken.status_code == 303
