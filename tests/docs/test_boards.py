"""A board that starts by itself, as docs/boards.md has it: it waits until its run is armed, and starts it once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lpirc_testsets import synthesize
from referee.store.records import RunState
from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, Day, contest_day, until
from tests.docs.test_tutorials import BIN, MARKED, ROOT

SLEEP = "#!/bin/sh\necho asked >> asked\nexec /bin/sleep 0.05\n"
"""In place of the script's pauses: it tells that the script has asked and goes on waiting."""


@dataclass
class Board:
    """A folder as the page's /opt/board, and what starts the script in it."""

    folder: Path
    url: str

    def start(self, detector: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "PATH": f"{self.folder / 'bin'}:{BIN}:{os.environ['PATH']}",
            "REFEREE": self.url,
            "TEAM": TEAM,
            "DETECTOR": detector,
            "PASSWORD": "password",
            "RECEIPTS": "receipts.jsonl",
        }
        command: Sequence[str] = ["/bin/sh", "start.sh"]
        return subprocess.Popen(command, cwd=self.folder, env=environment)

    def has_asked(self) -> bool:
        return (self.folder / "asked").exists()


def files_of_the_page() -> dict[str, str]:
    page = (ROOT / "docs" / "boards.md").read_text()
    found = {}
    for kind, name, block in MARKED.findall(page):
        assert kind == "file"
        found[name] = "".join(
            line[4:] or line for line in block.splitlines(keepends=True)
        )
    return found


@contextmanager
def board_at(day: Day, folder: Path) -> Iterator[Board]:
    (folder / "bin").mkdir(parents=True)
    sleep = folder / "bin" / "sleep"
    sleep.write_text(SLEEP)
    sleep.chmod(0o755)
    (folder / "start.sh").write_text(files_of_the_page()["start.sh"])
    (folder / "password").write_text(PASSWORD)
    yield Board(folder, day.serve().url)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[tuple[Day, Board]]:
    testset = synthesize(tmp_path / "set", images=4, categories=3, seed=1).folder
    with (
        contest_day(tmp_path / "day", testset, auto_arm=False) as day,
        board_at(day, tmp_path / "board") as one,
    ):
        yield day, one


def arm(day: Day) -> None:
    armed = day.refers("run", "arm", TEAM)
    assert armed.returncode == 0, armed.stderr


def test_a_board_waits_until_its_run_is_armed_and_runs_it(
    board: tuple[Day, Board],
) -> None:
    day, one = board
    process = one.start("sample")
    until(one.has_asked)
    assert process.poll() is None
    arm(day)
    assert process.wait(TIMEOUT_S) == 0
    assert day.run().state is RunState.CLOSED
    assert (one.folder / "receipts.jsonl").stat().st_size


def test_a_run_that_ended_badly_is_not_started_again(
    board: tuple[Day, Board],
) -> None:
    day, one = board
    arm(day)
    # The client tries a detector before the log-in: only one that fails later has posted rows.
    (one.folder / "broken.py").write_text(
        "seen = []\n\n\ndef detect(jpeg, categories):\n    seen.append(1)\n"
        "    if len(seen) > 2:\n        raise RuntimeError('broken')\n    return []\n"
    )
    assert one.start("broken:detect").wait(TIMEOUT_S) == 1
    assert day.run().state is RunState.OPEN
    again = one.start("sample")
    try:
        until(one.has_asked)
        assert again.poll() is None
        assert day.run().state is RunState.OPEN
    finally:
        again.kill()
        again.wait()


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here"
)
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "board.service"
    unit.write_text(files_of_the_page()["board.service"])
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "board.service" not in verified.stderr, verified.stderr
