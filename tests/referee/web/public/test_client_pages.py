"""What a contestant's system downloads from a referee runs against it, and the pages that lead there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TIMEOUT_S, Day, contest_day
from tests.referee.handouts.test_client_files import OLD_PYTHONS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
DETECTOR = (
    "def detect(jpeg, categories):\n    yield categories[0].id, 0.5, 1, 2, 3, 4\n"
)
TEAMS = ("zipapp", "onefile", "oldjetson", "pip")
SIZES = (360, 768, 1440, 1920)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("downloads") / "contest"
    with contest_day(folder, tiny_set, auto_arm=True, teams=TEAMS) as made:
        made.serve()
        yield made


def url(hall: Day, path: str = "") -> str:
    assert hall.server is not None
    return hall.server.url + path


def fetched(hall: Day, name: str, folder: Path) -> Path:
    """The file, downloaded, if its SHA-256 is the one that the referee states."""
    content = requests.get(url(hall, f"/client/{name}"), timeout=TIMEOUT_S).content
    sums = requests.get(url(hall, "/client/SHA256SUMS"), timeout=TIMEOUT_S).text
    stated = dict(line.split("  ")[::-1] for line in sums.splitlines())
    assert hashlib.sha256(content).hexdigest() == stated[name]
    path = folder / name
    path.write_bytes(content)
    return path


def images_of(hall: Day, team: str) -> int:
    (run,) = (one for one in hall.runs(RunState.CLOSED) if one.team == team)
    with hall.store() as store:
        return len({row[0] for row in store.posts.detections(run.id)})


def test_the_downloaded_zipapp_answers_a_whole_run_with_nothing_installed(
    hall: Day,
    tmp_path: Path,
) -> None:
    program = fetched(hall, "lpirc-client.pyz", tmp_path)
    (tmp_path / "mine.py").write_text(DETECTOR)
    command = [sys.executable, "-S", str(program), "run", url(hall)]
    done = subprocess.run(
        [*command, "--team", "zipapp", "--detector", "mine:detect"],
        env={"LPIRC_PASSWORD": PASSWORD, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert images_of(hall, "zipapp") == 6


def run_of_one_file(hall: Day, python: str | Path, team: str, folder: Path) -> None:
    program = fetched(hall, "client.py", folder)
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    done = subprocess.run(
        [python, "-I", str(program), url(hall), team, str(secret)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert images_of(hall, team) == 6


def test_the_downloaded_file_answers_a_whole_run(hall: Day, tmp_path: Path) -> None:
    run_of_one_file(hall, sys.executable, "onefile", tmp_path)


def test_the_downloaded_file_answers_a_whole_run_on_python_3_6(
    hall: Day,
    tmp_path: Path,
) -> None:
    old = next((one for one in OLD_PYTHONS if os.access(one, os.X_OK)), None)
    if old is None:
        pytest.skip("Python 3.6 is not installed here")
    run_of_one_file(hall, old, "oldjetson", tmp_path)


def test_pip_installs_the_client_from_the_referee_alone_and_it_answers_a_whole_run(
    hall: Day,
    tmp_path: Path,
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    found = ["--no-index", "--find-links", url(hall, "/client/")]
    installed = subprocess.run(
        [python, "-I", "-m", "pip", "install", *found, "lpirc-client"],
        env={"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stdout + installed.stderr
    (tmp_path / "mine.py").write_text(DETECTOR)
    command = [str(python.with_name("lpirc-client")), "run", url(hall)]
    done = subprocess.run(
        [*command, "--team", "pip", "--detector", "mine:detect"],
        env={"LPIRC_PASSWORD": PASSWORD, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert images_of(hall, "pip") == 6


def test_the_board_leads_contestants_systems_to_version_1(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall, "/")) as page:
        page.get_by_role("link", name="For contestants' systems").click()
        page.wait_for_url("**/client/")
        text = page.inner_text("main")
        assert f"curl -O {url(hall)}/client/client.py" in text
        assert f"--find-links {url(hall)}/client/ --trusted-host 127.0.0.1" in text
        links = page.locator("main a").evaluate_all("all => all.map(a => a.pathname)")
        assert {"/docs/", "/docs/contestants", "/v1/openapi.json"} <= {*links}
        assert requests.get(url(hall, "/help"), timeout=TIMEOUT_S).ok


def test_behind_tls_the_page_says_where_the_certificate_goes(hall: Day) -> None:
    behind_tls = {"X-Forwarded-Proto": "https"}
    plain, secret = (
        requests.get(url(hall, "/client/"), headers=headers, timeout=TIMEOUT_S).text
        for headers in ({}, behind_tls)
    )
    assert ("--ca-cert" in plain, "--trusted-host" in plain) == (False, True)
    assert ("--ca-cert" in secret, "--trusted-host" in secret) == (True, False)


def test_a_phone_shows_each_download_whole_in_a_few_lines(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall, "/client/"), size=(360, 780)) as page:
        rows = page.locator(".downloads tbody tr, .downloads > tr")
        assert rows.count() > 5
        for box in (row.bounding_box() for row in rows.all()):
            assert box is not None
            assert box["x"] + box["width"] <= 360
            assert box["height"] < 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/client/", "/docs/", "/docs/http"])
def test_the_pages_are_accessible_at_every_width(
    hall: Day,
    browser: Browser,
    path: str,
    scheme: str,
) -> None:
    with visit(browser, url(hall, path), color_scheme=scheme) as page:
        for width in SIZES:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert_accessible(page)
