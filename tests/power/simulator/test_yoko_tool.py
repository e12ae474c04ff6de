"""Intel's yoko-tool, a program for real WT310 and WT330 meters, runs its own tests against the simulated one.

Opt-in: YOKO_TOOL names a checkout of github.com/intel/yoko-tool, YOKO_TOOL_PYTHON a Python with pyserial and pytest.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = os.environ.get("YOKO_TOOL")
PYTHON = os.environ.get("YOKO_TOOL_PYTHON", sys.executable)
ITS_TESTS = 10


@pytest.fixture
def line(simulate: Any) -> str:
    """The serial port of a simulated meter."""
    word, path = (
        simulate("--pty", "--load", "constant:36W").process.stdout.readline().split()
    )
    assert word == "serial"
    return path


def test_a_program_that_knows_serial_ports_only_talks_over_the_pty(line: str) -> None:
    for _ in range(2):  # the line outlives who hangs up
        port = os.open(line, os.O_RDWR | os.O_NOCTTY)
        try:
            os.write(port, b"\n*CLS\n:COMM:HEAD OFF\n*IDN?\n")
            assert select.select([port], [], [], 20)[0]
            assert re.fullmatch(rb"YOKOGAWA,WT310,\S+,F1.03\n", os.read(port, 4096))
            os.write(
                port,
                b":STAT:FILT1 FALL\n:STAT:EESR?\n:COMM:WAIT 1\n:NUM:VAL? 3\n",
            )
            answers = b""
            while answers.count(b"\n") < 2:
                assert select.select([port], [], [], 20)[0]
                answers += os.read(port, 4096)
            assert b"36.000E+00\n" in answers
        finally:
            os.close(port)


def change(
    file: Path,
    pattern: str,
    by: str,
) -> None:
    file.write_text(re.sub(pattern, by, file.read_text()))


@pytest.mark.skipif(CHECKOUT is None, reason="YOKO_TOOL names no checkout of yoko-tool")
def test_its_own_tests_pass(
    line: str,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "yoko-tool"
    shutil.copytree(str(CHECKOUT), folder, symlinks=True)
    # Its first line names an interpreter that few machines have. And since its commit 9526428 it refuses `set math cfv`
    # by itself, before anything is sent to any meter: it compares what it is about to send with what a user may say.
    change(folder / "__main__.py", r"\A#!.*", f"#!{PYTHON}")
    change(
        folder / "yokolibs" / "_yokobase.py",
        r"if tweaked_arg not in choices:",
        "if arg not in choices:",
    )
    (tmp_path / ".yokotool.conf").write_text(
        f"[default]\ndevnode={line}\npmtype=wt310\n[simulated]\ndevnode={line}\n"
    )
    command = [
        PYTHON,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--devspec",
        "simulated",
        "tests",
    ]
    ran = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert (ran.returncode, f"{ITS_TESTS} passed" in ran.stdout) == (0, True), (
        ran.stdout[-5000:] + ran.stderr
    )
