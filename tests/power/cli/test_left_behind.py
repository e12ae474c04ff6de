"""A program that ends while what it started goes on: its energy is not that of the work, and a warning says so."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Any

import pytest

FIXED = ("--voltage-range", "150", "--current-range", "0.5")
STARTS = "import subprocess; subprocess.Popen(['sleep', '600'], stdout=-3, stderr=-3)"
"""It has no output, so the recording ends with the program."""

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux shows the environment of processes",
)


def numbers_of(said: str) -> list[int]:
    """Return the processes that a warning names."""
    return [int(one) for one in re.findall(r"\(process (\d+) sleep\)", said)]


@pytest.mark.parametrize("several", [(), ("b=sim:constant:5W",), ("--repeat", "2")])
def test_what_a_command_leaves_running_is_named(
    meter: Any, several: tuple[str, ...]
) -> None:
    words = [one for one in several if "=" in one]
    options = [one for one in several if "=" not in one]
    ended = meter(
        "record", "a=sim:constant:36W", *words, "-o", "run.csv", *options, *FIXED,
        "--", sys.executable, "-c", STARTS,
    )  # fmt: skip
    left = numbers_of(ended.stderr)
    for one in left:
        os.kill(one, signal.SIGKILL)
    assert left, ended.stderr
    assert len(set(left)) == len(left)
    assert "is not in this energy" in ended.stderr


def test_a_command_that_waits_for_what_it_starts_is_not_warned_of(meter: Any) -> None:
    waits = "import subprocess; subprocess.run(['sleep', '0.3'])"
    ended = meter(
        "record", "sim:constant:36W", "-o", "run.csv", *FIXED,
        "--", sys.executable, "-c", waits,
    )  # fmt: skip
    assert "goes on" not in ended.stderr
