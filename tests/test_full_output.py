"""What each program says when its help or version cannot be written: the disk behind stdout is full."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import warm_programs

PROGRAMS = ("referee", "lpirc-score", "meter", "lpirc-client", "lpirc-harness")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_cannot_be_written_is_one_sentence(program: str, option: str) -> None:
    # Without a buffer, writing would fail at once in any program.
    environment = {**os.environ}
    environment.pop("PYTHONUNBUFFERED", None)
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            warm_programs.cold([program, option]),
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{program}: ")
    assert "No space left on device" in ended.stderr
    assert ended.stderr.count("\n") == 1
