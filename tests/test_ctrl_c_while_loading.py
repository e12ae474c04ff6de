"""Ctrl-C while a command is still being loaded: one line, and exit code 130."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.contest_day import TIMEOUT_S, program

# Where the tests run in the background of a shell, they have inherited that Ctrl-C is ignored.
INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("referee", "click"),
        ("lpirc-score", "click"),
        ("meter", "click"),
        ("lpirc-client", "requests"),
    ],
)
def test_ctrl_c_while_a_command_is_loaded_is_one_line(
    name: str, loaded: str, tmp_path: Path
) -> None:
    # A module that the command needs sends the signal while it is imported.
    (tmp_path / f"{loaded}.py").write_text(INTERRUPTED)
    ended = subprocess.run(
        [program(name), "--help"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 130
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"{name}: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
