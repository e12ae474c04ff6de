"""A published site: whole on any web server, replaced as one, signed, and no more than the board shows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import requests

from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.board_publisher import Publisher
from referee.judging.public_documents import empty_board
from referee.publishing import run_files, site_folder, site_publication
from referee.publishing.public_site import team_page_name
from referee.publishing.site_folder import SiteFolder
from referee.publishing.site_manifest import digests_of
from referee.publishing.site_publication import Publication, publish_site
from referee.publishing.site_verification import verify_site
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TIMEOUT_S, program
from tests.docs.test_site import Links
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import opened_run
from tests.referee.publishing.conftest import LATER, MARKUP, TEAMS, judged

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
Publish = Callable[..., Publication]
SIZES = (360, 768, 1440, 1920)


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Python's own web server on a folder, below a path of its own as on a CDN."""
    handler = partial(Silent, directory=str(folder.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{folder.name}/"
        server.shutdown()


def reached(start: str) -> dict[str, requests.Response]:
    """All that can be reached from a page, by URL."""
    found: dict[str, requests.Response] = {}
    asked = [start]
    while asked:
        url = asked.pop()
        if url in found:
            continue
        found[url] = requests.get(url, timeout=TIMEOUT_S)
        if "text/html" not in found[url].headers["Content-Type"]:
            continue
        page = Links(found[url].text)
        for link in (*page.links, *page.loaded):
            assert not link.startswith("/"), f"{link} of {url} is not relative"
            parts = urlsplit(urljoin(url, link))
            if parts.scheme in ("http", "https"):
                asked.append(parts._replace(fragment="").geturl())
    return found


def test_every_link_of_the_site_works_on_a_plain_web_server_and_every_file_is_linked(
    published: Publish,
) -> None:
    made = published(final=True)
    with web_server(made.folder) as url:
        found = reached(url + "index.html")
    assert {one.status_code for one in found.values()} == {200}
    assert all(one.startswith(url) for one in found)
    names = {unquote(one.removeprefix(url)) for one in found}
    written = {
        path.relative_to(made.folder).as_posix()
        for path in made.folder.rglob("*")
        if path.is_file() and path.suffix != ".gz"
    }
    assert names == written
    assert {team_page_name(team) for team in TEAMS} <= names
    assert len([one for one in names if one.startswith("reports/")]) == len(TEAMS)
    assert len([one for one in names if one.startswith("bundles/")]) == len(TEAMS)
    assert len([one for one in names if one.startswith("certificates/")]) == len(TEAMS)


def test_a_name_in_markup_or_with_a_path_stays_a_name(published: Publish) -> None:
    made = published()
    for page in made.folder.rglob("*.html"):
        assert MARKUP not in page.read_text()
    assert "&lt;script&gt;" in (made.folder / "index.html").read_text()
    assert {one.parent.name for one in made.folder.rglob("*.html")} == {
        "teams",
        made.folder.name,
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_pages_are_accessible_at_every_width(
    published: Publish,
    browser: Browser,
    scheme: str,
) -> None:
    made = published(every_s=60)
    names = ("index.html", team_page_name(TEAMS[0]), team_page_name(TEAMS[3]))
    with web_server(made.folder) as url:
        for name in names:
            with visit(browser, url + name, color_scheme=scheme) as page:
                if name == "index.html":  # the one that states a time
                    page.locator("time[title]").first.wait_for()
                for width in SIZES:
                    page.set_viewport_size({"width": width, "height": 800})
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width
                    assert_accessible(page)


def test_a_page_that_is_open_renews_itself(
    made: House,
    published: Publish,
    browser: Browser,
) -> None:
    site = published(every_s=1)
    with web_server(site.folder) as url, visit(browser, url + "index.html") as page:
        assert page.get_by_text("Lunch at noon.").count() == 0
        made.store.announcements.add("jo", "Lunch at noon.", START)
        published(every_s=1)
        page.get_by_text("Lunch at noon.").wait_for()


def test_the_site_shows_what_the_board_shows(made: House, published: Publish) -> None:
    site = published()
    row = made.store.published.get()
    assert row is not None
    board = json.loads(row.document)
    shown = json.loads((site.folder / "board.json").read_text())
    for name in ("ranking", "unranked", "left_out", "attempts", "rules"):
        assert shown[name] == board[name], name
    prizes = [prize | {"state": "stands"} for prize in board["prizes"]]
    assert shown["prizes"] == prizes
    text = (site.folder / "index.html").read_text()
    for place in board["ranking"]:
        assert f"{place['score']:.4f}" in text


# The freeze


def frozen(made: House) -> None:
    made.store.published.freeze(START, empty_board(made.contest))


def test_contests_that_differ_only_after_the_freeze_publish_the_same_site(
    made: House,
    tmp_path: Path,
) -> None:
    frozen(made)
    made.store.close()
    other = tmp_path / "other"
    shutil.copytree(made.folder, other)
    sums = []
    for number, folder in enumerate((made.folder, other)):
        with open_contest(folder) as contest:
            if number:
                judged(contest, "badgers", 0.01)
                opened_run(contest, "otters", heat="last")
                contest.store.queue.change(lambda _: ["badgers"])
                contest.store.teams.add("late", "no hash", START)
                Publisher(contest, Clock()).tick()
            site = tmp_path / f"site-{number}"
            publish_site(contest, site, LATER)
            sums.append(digests_of(site) | {"": (site / "manifest.json").read_text()})
    assert sums[0] == sums[1]


def test_reports_and_bundles_wait_until_the_board_is_live_and_no_one_may_run(
    made: House,
    published: Publish,
) -> None:
    made.store.queue.change(lambda _: ["otters"])
    with pytest.raises(RefereeError, match="wait in the queue"):
        published(final=True)
    made.store.queue.change(lambda _: [])
    frozen(made)
    with pytest.raises(RefereeError, match="the board is frozen") as refused:
        published(final=True)
    assert refused.value.code == "contest-not-over"
    assert not (made.folder.parent / "site").exists()
    published()
    text = (made.folder.parent / "site" / "index.html").read_text()
    assert "reports/" not in text


# Replaced as one


@pytest.mark.parametrize("is_over", [False, True])
def test_until_its_date_no_report_of_the_site_shows_the_ground_truth(
    made: House,
    published: Publish,
    is_over: bool,
) -> None:
    until = LATER if is_over else LATER + timedelta(seconds=1)
    object.__setattr__(made.contest.config, "ground_truth_secret_until", until)
    site = published(final=True)
    reports = sorted((site.folder / "reports").glob("*.html"))
    assert [one.name for one in reports] == [f"run-{at}.html" for at in range(1, 6)]
    for one in reports:
        assert ("Average precision by category" in one.read_text()) is is_over


def test_a_publication_cut_off_between_two_files_leaves_the_former_site_whole(
    made: House,
    published: Publish,
) -> None:
    first = published()
    before = digests_of(first.folder)
    made.store.announcements.add("jo", "Lunch at noon.", START)
    for victim in ("pages_of", "manifest_of", "write_signed"):
        cut = mock.patch.object(site_publication, victim, side_effect=KeyboardInterrupt)
        with cut, pytest.raises(KeyboardInterrupt):
            published()
        assert digests_of(first.folder) == before
        assert verify_site(first.folder, None).problems == []
    for victim in ("_sync", "sync_folder"):
        cut = mock.patch.object(site_folder, victim, side_effect=OSError(5, "plug"))
        with cut, pytest.raises(OSError, match="plug"):
            published()
        assert verify_site(first.folder, None).problems == []
    again = published()
    assert again.is_new
    assert "Lunch at noon." in (again.folder / "index.html").read_text()
    versions = first.folder.with_name(f".{first.folder.name}.versions")
    published()
    assert len([*versions.iterdir()]) == 1, "nothing is left over"


def test_of_two_who_publish_at_once_one_is_refused_and_the_site_is_whole(
    made: House,
    published: Publish,
    tmp_path: Path,
) -> None:
    with SiteFolder(tmp_path / "site").locked():
        with pytest.raises(RefereeError) as refused:
            published()
        assert refused.value.code == "site-busy"
    command = [program("referee"), "publish", str(made.folder), str(tmp_path / "site")]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [one.communicate(timeout=TIMEOUT_S)[1] for one in both]
    assert 0 in [one.returncode for one in both], said
    assert verify_site(tmp_path / "site", None).problems == []


@pytest.mark.parametrize("kind", ["file", "full folder", "link elsewhere"])
def test_what_is_not_a_site_of_ours_is_never_replaced(
    published: Publish,
    tmp_path: Path,
    kind: str,
) -> None:
    target = tmp_path / "site"
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "thesis.tex").write_text("years of work")
    if kind == "file":
        target.write_text("mine")
    elif kind == "full folder":
        kept.rename(target)
    else:
        target.symlink_to(kept)
    with pytest.raises(RefereeError) as refused:
        published()
    assert refused.value.code == "site-target"
    assert "mine" in target.read_text() if kind == "file" else any(target.iterdir())


def test_an_empty_folder_becomes_the_site(published: Publish, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    assert published().is_new
    assert (tmp_path / "site" / "index.html").is_file()


def test_what_has_not_changed_stays_and_what_was_altered_is_mended(
    published: Publish,
) -> None:
    first = published()
    place = first.folder.resolve()
    assert not published().is_new
    assert first.folder.resolve() == place
    (place / "index.html").write_text("<h1>Otters won</h1>")
    assert published().is_new
    assert verify_site(first.folder, None).problems == []


# Verification


@pytest.mark.parametrize("how", ["altered", "missing", "added", "swapped"])
def test_a_file_that_was_tampered_with_is_found_in_a_copy(
    made: House,
    published: Publish,
    tmp_path: Path,
    how: str,
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published().folder, copy)
    key = made.contest.key.public
    assert verify_site(copy, key).problems == []
    page = copy / team_page_name("badgers")
    other = copy / team_page_name("otters")
    if how == "altered":
        page.write_text(page.read_text().replace("Rank", "rank", 1))
    elif how == "missing":
        page.unlink()
    elif how == "added":
        (copy / "teams" / "new.html").write_text("x")
    else:
        text = page.read_text()
        page.write_text(other.read_text())
        other.write_text(text)
    problems = verify_site(copy, key).problems
    assert len(problems) == (2 if how == "swapped" else 1)
    told = subprocess.run(
        [program("referee"), "verify", str(copy), "--key", key],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert problems[0] in told.stdout


def test_a_site_signed_by_another_key_or_with_another_manifest_is_refused(
    made: House,
    published: Publish,
    tmp_path: Path,
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published().folder, copy)
    with pytest.raises(RefereeError, match="and you gave") as refused:
        verify_site(copy, "0" * 64)
    assert refused.value.code == "site-unsigned"
    manifest = copy / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"state": "live"', '"state": "LIVE"'))
    with pytest.raises(RefereeError, match="no signature"):
        verify_site(copy, None)
    for bad in ("", "[]", "{}", '{"predicateType": 1}', "\udcff"):
        manifest.write_text(bad, errors="replace")
        with pytest.raises(RefereeError, match="not the manifest"):
            verify_site(copy, None)
    manifest.write_text(text)
    (copy / "manifest.dsse.json").write_text("{}")
    with pytest.raises(RefereeError):
        verify_site(copy, made.contest.key.public)


# The command


def test_the_command_states_size_and_viewers_and_a_copy_is_verified(
    made: House,
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    command = [program("referee"), "publish", str(made.folder), str(site)]
    done = subprocess.run(
        [*command, "--mbit", "50"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "At 50 Mbit/s a web server serves" in done.stdout
    again = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, check=False
    )
    document = json.loads(again.stdout)
    size = sum(one.stat().st_size for one in site.rglob("*") if one.is_file())
    assert document["size"] == size
    renewed = document["viewing"]["renewed_bytes"]
    assert document["viewers"] == int(100e6 / 8 * 60 / renewed)
    told = subprocess.run(
        [program("referee"), "verify", str(site)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "compare the key" in told.stdout


def test_final_and_every_exclude_each_other(made: House, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(program("referee"), "publish", str(made.folder), str(tmp_path / "site")),
            *("--final", "--every", "60"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert not (tmp_path / "site").exists()


def test_each_so_many_seconds_a_new_site_takes_the_place_of_the_former(
    made: House,
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    command = [program("referee"), "publish", str(made.folder), str(site)]
    with subprocess.Popen(
        [*command, "--every", "10"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert " published: " in process.stdout.readline()
        made.store.announcements.add("jo", "Lunch at noon.", START)
        later = (line for line in process.stdout if " published: " in line)
        assert next(later)
        assert "Lunch at noon." in (site / "index.html").read_text()
        process.terminate()


def test_without_a_browser_certificates_are_pages_and_it_is_said(
    published: Publish,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: Path) -> Path:
        raise RefereeError("no-browser", "--pdf needs Chromium; install it.")

    monkeypatch.setattr("referee.report.print_pdf", missing)
    made = published(final=True)
    pages = [*(made.folder / "certificates").glob("*.html")]
    assert len(pages) == len(TEAMS)
    assert all(page.with_name(f"{page.name}.gz").is_file() for page in pages)
    assert any("Certificates are pages" in one for one in made.left_out)
    assert sys.modules["referee.publishing.run_files"] is run_files
