"""Set-up in a browser, over a real server: from an empty folder to an armed run, through pages only."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from referee.config import read_config
from referee.contest import open_contest
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import Program, program, refers, until
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
PASSWORD = "four short words"
SIZES = ((360, 740), (768, 1024), (1440, 900), (1920, 1080))
BETWEEN_WORKERS = ("ERR_CONNECTION", "ERR_EMPTY")
"""A page that waits for the next worker asks until one answers."""


class SetUp(Program):
    """`referee setup` or `referee serve` in a folder without a contest."""

    def __init__(
        self,
        folder: Path,
        command: str = "setup",
    ) -> None:
        self.folder = folder
        self.port = own_port()
        where = ["--port", str(self.port), "--parent", str(os.getpid())]
        log = folder.parent / "setup.log"
        super().__init__(
            [program("referee"), command, str(folder), *where],
            log,
        )
        self.ready = self.first_line()
        self.url = f"http://127.0.0.1:{self.port}"
        self.code = re.findall(
            r"code=([A-Z0-9]{4}-[A-Z0-9]{4})",
            self.ready,
        )[0]

    def session(self) -> requests.Session:
        """A browser without scripts."""
        session = requests.Session()
        session.trust_env = False
        return session


@contextmanager
def setting_up(
    folder: Path,
    command: str = "setup",
) -> Iterator[SetUp]:
    made = SetUp(
        folder,
        command,
    )
    try:
        yield made
    finally:
        made.end()
        made.close()
        log = made.log.read_text()
        assert "Traceback" not in log, log
        assert "Unexpected exit" not in log, log


def said(page: Page) -> str:
    return page.locator(".notice").first.inner_text()


def go(
    page: Page,
    step: str,
) -> None:
    page.get_by_role(
        "link",
        name=step,
        exact=True,
    ).click()
    page.wait_for_load_state()


def press(
    page: Page,
    name: str,
) -> None:
    page.get_by_role(
        "button",
        name=name,
        exact=True,
    ).click()
    page.wait_for_load_state()


def whole(page: Page) -> None:
    """Nothing to complain of at any size, and nothing wider than the screen."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert_accessible(page)
    page.set_viewport_size({"width": 1440, "height": 900})


def begun(page: Page) -> None:
    """Give the code, and make the contest."""
    press(
        page,
        "Begin",
    )
    page.get_by_label("Name of the contest").fill("LPIRC in the hall")
    page.get_by_label("Your name").fill("ruth")
    page.get_by_label("Your password").fill(PASSWORD)
    press(
        page,
        "Make the contest",
    )
    page.wait_for_url("**/operator/settings/rules")


@pytest.mark.parametrize(
    "scheme",
    ["light", "dark"],
)
def test_from_an_empty_folder_to_an_armed_run_through_pages_only(
    tmp_path: Path,
    browser: Browser,
    scheme: Any,
) -> None:
    folder = tmp_path / "day"
    folder.mkdir()
    with setting_up(
        folder,
        "serve",
    ) as server:
        address = server.ready.split(" at ")[1].split()[0]
        with visit(
            browser,
            address,
            color_scheme=scheme,
            refused=(400, *BETWEEN_WORKERS),
        ) as page:
            whole(page)
            begun(page)
            whole(page)
            page.get_by_label("Window, seconds").fill("300")
            press(
                page,
                "Write",
            )
            assert said(page).startswith("Written into contest.toml")

            go(
                page,
                "Test set",
            )
            assert "wrong" in page.locator(".findings").inner_text()
            page.get_by_label("Images").fill("6")
            press(
                page,
                "Make and choose",
            )
            assert said(page) == "The test set is whole, and chosen."
            whole(page)

            go(
                page,
                "Stations",
            )
            press(
                page,
                "Probe station-1",
            )
            assert "WT310" in page.locator(".probed").inner_text()
            page.get_by_label("Seconds of the ranging run").fill("1")
            press(
                page,
                "Ranging run of station-1",
            )
            whole(page)
            press(
                page,
                "Fix 150 V and 0.5 A",
            )
            assert said(page).startswith("Written into contest.toml")

            go(
                page,
                "Teams",
            )
            lines = page.get_by_label("or its lines")
            lines.fill("team,affiliation\nant,Ants\n,nobody\nANT,\n")
            press(
                page,
                "Register all",
            )
            assert "line 3: the team's name is blank" in said(page)
            assert "line 4: 'ANT' differs from 'ant' only in capitals" in said(page)
            assert page.get_by_text("Registered 0").is_visible()
            whole(page)
            lines.fill("team,affiliation\nant,Ants\nbee,\n")
            press(
                page,
                "Register all",
            )
            assert page.locator(".strip").count() == 2
            password = page.locator(".strip code").nth(2).inner_text()
            whole(page)

            go(
                page,
                "Operators",
            )
            page.get_by_label("Name").fill("eve")
            press(
                page,
                "Register",
            )
            assert "eve logs in with the password" in said(page)
            whole(page)

            go(
                page,
                "Freeze and backups",
            )
            page.get_by_label("The board freezes at").fill("2037-06-20T15:30")
            press(
                page,
                "Write",
            )
            whole(page)

            go(
                page,
                "Check and start",
            )
            whole(page)
            press(
                page,
                "Start the contest",
            )
            page.wait_for_url("**/operator/")
            page.wait_for_selector("#session >> text=ruth")
            page.locator("#arm-ant").click()
            page.get_by_role("dialog").get_by_role(
                "button",
                name="Arm ant",
            ).click()
            page.wait_for_selector("text=armed, waits for the log-in")
        answer = server.session().post(
            f"{server.url}/v1/session",
            json={"team": "ant", "password": password},
        )
        assert answer.status_code == 201, answer.text
    config = read_config(folder)
    assert config.window_s == 300
    assert config.stations[0].voltage_range_v == 150
    assert config.stations[0].current_range_a == 0.5
    assert not (folder / ".setup").exists()
    with open_contest(folder) as contest:
        _, events = contest.store.log.newest_after(
            0,
            500,
        )
    acts = [
        (one["detail"].get("operator"), one["detail"].get("action")) for one in events
    ]
    assert ("ruth", "settings") in acts
    assert ("ruth", "team-import") in acts
    assert ("ruth", "operator-add") in acts
    assert ("ruth", "log-in") in acts


def test_only_the_browser_that_used_the_code_sets_up(tmp_path: Path) -> None:
    """A rival in the hall opens the same address: it is told, and can read and change nothing."""
    with setting_up(tmp_path / "day") as server:
        ours = server.session()
        rival = server.session()
        setup = f"{server.url}/setup/"
        assert ours.post(
            setup,
            data={"code": server.code},
        ).url.endswith("/contest")
        refused = rival.post(
            setup,
            data={"code": server.code},
        )
        assert refused.status_code == 409
        assert "Another browser has used this code" in refused.text
        for path in ("/setup/contest", "/operator/settings/rules", "/operator/"):
            answer = rival.get(server.url + path)
            assert "Name of the contest" not in answer.text
        made = {"name": "x", "operator": "eve", "password": PASSWORD}
        rival.post(
            f"{setup}contest",
            data=made,
        )
        assert not (tmp_path / "day" / "contest.toml").exists()
        assert rival.get(server.url).status_code == 503
        health = rival.get(f"{server.url}/v1/health")
        assert health.json()["code"] == "not-ready"


def test_a_guessed_code_is_limited_and_the_right_one_waits_too(tmp_path: Path) -> None:
    with setting_up(tmp_path / "day") as server:
        rival = server.session()
        setup = f"{server.url}/setup/"
        seen = [
            rival.post(
                setup,
                data={"code": f"AAAA-AA{one:02}"},
            ).status_code
            for one in range(11)
        ]
        assert seen == [401] * 10 + [429]
        refused = rival.post(
            setup,
            data={"code": server.code},
        )
        assert refused.status_code == 429
        assert "Too many wrong codes from here; try again in" in refused.text


def test_a_set_up_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "day"
    with setting_up(folder) as server:
        session = server.session()
        page = session.post(
            f"{server.url}/setup/",
            data={"code": server.code},
        )
        csrf = re.findall(
            r'name="csrf" value="(\w+)"',
            page.text,
        )[0]
        given = {
            "csrf": csrf,
            "name": "The day",
            "operator": "ruth",
            "password": PASSWORD,
            "preset": "lpirc",
        }
        session.post(
            f"{server.url}/setup/contest",
            data=given,
        )
    assert read_config(folder).metric == "ilsvrc-det"
    with setting_up(
        folder,
        "serve",
    ) as server:
        session = server.session()
        page = session.post(
            f"{server.url}/setup/",
            data={"code": server.code},
        )
        assert page.url.endswith("/operator/settings/rules")
        assert "The day" in page.text
        (folder / "contest.toml").write_text("window_s = [half")
        broken = session.get(f"{server.url}/operator/settings/apply").text
        assert "contest.toml cannot be read" in broken
        for untrue in ("Nothing keeps", "Nothing is wrong", "Start the contest"):
            assert untrue not in broken


def test_a_making_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """The power failed after the database was made, before contest.toml was."""
    folder = tmp_path / "day"
    folder.mkdir()
    (folder / ".setup").write_text("ruth")
    (folder / "contest.db").write_bytes(b"half")
    (folder / "secret").write_text("0" * 64)
    with setting_up(folder, "serve") as server:
        session = server.session()
        page = session.post(f"{server.url}/setup/", data={"code": server.code})
        given = {
            "csrf": re.findall(r'name="csrf" value="(\w+)"', page.text)[0],
            "name": "The day",
            "operator": "ruth",
            "password": PASSWORD,
            "preset": "contest",
        }
        with ThreadPoolExecutor(2) as tabs:
            sent = [
                tabs.submit(
                    session.post,
                    f"{server.url}/setup/contest",
                    data=given,
                )
                for _ in range(2)
            ]
        for one in sent:
            assert one.result().url.endswith("/operator/settings/rules")
    assert read_config(folder).name == "The day"


def test_an_end_without_a_contest_leaves_nothing(tmp_path: Path) -> None:
    with setting_up(tmp_path / "day"):
        assert (tmp_path / "day").is_dir()
    assert not (tmp_path / "day").exists()


def test_what_cannot_be_set_up_is_one_sentence(tmp_path: Path) -> None:
    with setting_up(tmp_path / "day") as server:
        busy = refers(
            "setup",
            str(tmp_path / "other"),
            "--port",
            str(server.port),
        )
        assert busy.returncode == 1
        assert f"Port {server.port} of 127.0.0.1 is in use" in busy.stderr
        again = refers(
            "setup",
            str(tmp_path / "day"),
            "--port",
            "0",
        )
        assert "is being served already by process" in again.stderr
    (tmp_path / "file").write_text("")
    bad = refers(
        "setup",
        str(tmp_path / "file" / "day"),
        "--port",
        "0",
    )
    assert bad.returncode == 1
    assert "cannot be written (Not a directory)" in bad.stderr
    assert bad.stderr.count("\n") == 1


def test_a_folder_that_has_other_files_is_not_set_up_by_serve(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    refused = refers(
        "serve",
        str(tmp_path),
        "--port",
        "0",
    )
    assert refused.returncode == 1
    assert "is not a contest folder" in refused.stderr
    until(lambda: not (tmp_path / ".lock").exists())


def test_a_body_that_falls_silent_holds_up_nobody(tmp_path: Path) -> None:
    """A rival in the hall begins forms and never ends them; the set-up goes on beside."""
    with setting_up(tmp_path / "day") as server, ExitStack() as held:
        head = (
            b"POST /setup/ HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 100\r\n\r\ncode="
        )
        silent = []
        for _ in range(40):
            one = socket.create_connection(("127.0.0.1", server.port), TIMEOUT_S)
            held.enter_context(one)
            one.sendall(head)
            silent.append(one)
        session = server.session()
        begun = session.post(f"{server.url}/setup/", data={"code": server.code})
        assert begun.url.endswith("/setup/contest")
        silent[0].settimeout(TIMEOUT_S)
        assert b" 408 " in silent[0].recv(4096)
