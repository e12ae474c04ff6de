"""A recorder that is killed (SIGKILL): its COMMAND ends with it, and its socket's folder goes with a later one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.marks.mark_list import MarkList
from lpirc_power.marks.marks_listener import MarksListener
from lpirc_power.marks.socket_folder import YOUNG_S, socket_folder
from lpirc_power.operating_system import mark_of_process

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
TELLING = (
    "import os, pathlib, time; pathlib.Path('told').write_text("
    "f\"{os.getpid()} {os.environ['LPIRC_METER_MARKS']}\\n\"); time.sleep(1000)"
)


def make_old(folder: Path) -> None:
    then_s = time.time() - YOUNG_S - 10
    os.utime(folder, (then_s, then_s))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends COMMAND")
def test_a_killed_recorder_ends_its_command_and_its_socket_is_removed_by_a_later_one(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    command = (sys.executable, "-c", TELLING)
    process = started("record", address, "-o", "run.csv", *FIXED, "--", *command)
    told = tmp_path / "told"
    until(lambda: told.exists() and told.read_text().endswith("\n"))
    pid, marks = told.read_text().split()
    assert mark_of_process(int(pid)) is not None
    process.kill()
    process.wait()
    until(lambda: mark_of_process(int(pid)) is None)
    left = Path(marks).parent
    assert [one.name for one in left.iterdir()] == ["marks"]
    socket_folder().rmdir()
    assert left.exists()  # so young a one may belong to a recording that begins
    make_old(left)
    socket_folder().rmdir()
    assert not left.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no sockets with a path")
def test_what_may_be_another_s_is_left_alone() -> None:
    listener = MarksListener(MarkList(), time.monotonic)
    folder = Path(listener.address).parent
    other = socket_folder()
    (other / "mine").write_text("precious")
    for one in (folder, other):
        make_old(one)
    try:
        socket_folder().rmdir()
        assert folder.exists()
        assert (other / "mine").exists()
    finally:
        listener.close()
        (other / "mine").unlink()
        other.rmdir()
    assert not folder.exists()
