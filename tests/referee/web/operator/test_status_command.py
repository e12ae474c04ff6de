"""`referee status`, and how soon a command is there that needs little."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from referee.cli import ask_server
from referee.store.records import RunState
from tests import warm_programs
from tests.contest_day import TEAM, Day, called, descendants_of, program, until
from tests.frozen import freeze
from tests.timeouts import TIMEOUT_S

SLOW = {
    "numpy",
    "sqlite_utils",
    "requests",
    "flask",
    "jinja2",
    "rich",
    "importlib.metadata",
}

LOOKS = (
    ("run", "list"),
    ("leaderboard",),
    ("team", "list"),
    ("operator", "list"),
    ("device", "list"),
)


def heavy_modules(*arguments: str) -> set[str]:
    """Which of the slow packages a command imports."""
    look = (
        "import sys\nfrom referee.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        f"finally:\n    print(*({SLOW} & {{*sys.modules}}))"
    )
    made = subprocess.run(
        [sys.executable, "-c", look, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return set(made.stdout.splitlines()[-1].split())


def test_help_and_status_import_nothing_slow(hall: Day) -> None:
    # The list of commands has those of plug-ins, which only the metadata of distributions names.
    assert heavy_modules("--help") - {"importlib.metadata"} == set()
    assert heavy_modules("status", "--contest", str(hall.folder)) == set()


def test_status_shows_what_the_console_does_by_one_call(hall: Day, token: str) -> None:
    hall.post(hall.fetched(token))

    def is_shown() -> bool:
        shown = hall.refers("status").stdout
        return " 36.00 W, " in shown and ", 2 of 6 images answered, " in shown

    until(is_shown)
    document = json.loads(hall.refers("status", "--json").stdout)
    assert document["stations"][0]["run"]["team"] == TEAM
    lines = hall.refers("status").stdout.splitlines()
    assert lines[0].startswith("Test day, ")
    assert lines[1].startswith("station-1: meter integrating, run 1 of ant is open, 9:")
    assert "next: no team is queued" in lines


def test_run_show_of_an_open_run_tells_what_the_status_knows(
    hall: Day,
    token: str,
) -> None:
    hall.post(hall.fetched(token))
    until(lambda: "2 of 6 images" in hall.refers("run", "show", "1").stdout)
    shown = hall.refers("run", "show", "1").stdout
    assert "now  run 1 of ant is open, 9:" in shown
    live = json.loads(hall.refers("run", "show", "1", "--json").stdout)["live"]
    assert live["images_served"] == 6
    assert live["rows"] >= 2


def test_status_of_a_contest_that_is_not_served_is_that_of_the_store(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    shown = made.refers("status")
    assert shown.returncode == 0
    assert "is not being served" in shown.stderr
    assert "station-1: meter idle, free" in shown.stdout.splitlines()


def test_a_copy_of_a_served_folder_is_not_taken_for_the_served_one(
    hall: Day,
    token: str,
    tmp_path: Path,
) -> None:
    copy = shutil.copytree(hall.folder, tmp_path / "copy")
    stderr = called("run", "close", "1", "--contest", str(copy)).stderr
    assert "is not being served" in stderr
    assert hall.run().state is RunState.OPEN


def test_status_and_show_of_a_server_frozen_in_mid_transaction_are_those_of_the_store(
    hall: Day,
    token: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = sqlite3.connect(hall.folder / "contest.db", isolation_level=None, timeout=0)
    monkeypatch.setattr(ask_server, "LOOK_TIMEOUT_S", 0.2)
    assert hall.server is not None
    processes = [hall.server.pid, *descendants_of(hall.server.pid)]
    freeze(*processes)
    try:
        # It stands in a transaction of its own.
        with suppress(sqlite3.OperationalError):
            kept.execute("BEGIN IMMEDIATE")
        shown = hall.refers("status")
        run = hall.refers("run", "show", "1")
        looks = [hall.refers(*look) for look in LOOKS]
        logged = called("log", str(hall.folder))
    finally:
        kept.close()
        for process in processes:
            os.kill(process, signal.SIGCONT)
    assert "has not answered in 0 s" in shown.stderr
    assert [(look.returncode, look.stderr) for look in looks if look.returncode] == []
    assert logged.returncode == 0, logged.stderr
    assert "run 1 of ant is open" in shown.stdout
    assert run.returncode == 0
    assert ("state  open" in run.stdout) is True


def test_watching_shows_it_again_until_ctrl_c(hall: Day) -> None:
    command = ["referee", "status", "--watch", "--contest", str(hall.folder)]
    process = warm_programs.start(command)
    for _ in range(2):
        while not process.stdout.readline().startswith("Test day, "):
            pass
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT_S) == 0
    assert "Aborted" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


def test_a_folder_that_is_no_contest_is_said_so(tmp_path: Path) -> None:
    made = subprocess.run(
        [program("referee"), "status", "--contest", str(tmp_path)], capture_output=True, text=True, check=False,
        env=os.environ,
    )  # fmt: skip
    assert made.returncode == 1
    assert made.stderr.startswith(f"referee: {tmp_path} is not a contest folder")
