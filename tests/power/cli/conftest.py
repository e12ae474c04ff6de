"""The command `meter` as its own process, and a second client that looks at the meter behind its back."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.visa.link import Link
from tests import warm_programs
from tests.power.panel_settings import without_automatic_ranges

METER = [sys.executable, "-m", "lpirc_power"]
SETTINGS = (
    ":INPUT:VOLTAGE:RANGE?", ":INPUT:VOLTAGE:AUTO?", ":INPUT:CURRENT:RANGE?", ":INPUT:CURRENT:AUTO?", ":RATE?",
    ":INPUT:MODE?", ":INPUT:CFACTOR?", ":INPUT:FILTER:LINE?", ":INTEGRATE:TIMER?", ":NUMERIC:NORMAL:NUMBER?",
)  # fmt: skip
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def meter(tmp_path: Path) -> Run:
    """Run `meter` in an empty folder to its end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return warm_programs.run(["meter", *arguments], 60, tmp_path)

    return run


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start `meter` in an empty folder; it is gone at the end."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> Any:
            process = stack.enter_context(
                warm_programs.start(["meter", *arguments], cwd=tmp_path)
            )
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def asked() -> Callable[..., list[str]]:
    """Ask a meter over a link of its own."""

    def ask(address: str, *queries: str) -> list[str]:
        with contextlib.closing(Link(address)) as link:
            return [link.query(query) for query in queries]

    return ask


@pytest.fixture
def knobs(asked: Callable[..., list[str]]) -> Callable[[str], list[str]]:
    """Every setting of the measurement, as another client sees it."""

    def look(address: str) -> list[str]:
        with contextlib.closing(Link(address)) as link:
            link.write(":COMMUNICATE:HEADER OFF")
            answers = [link.query(query) for query in SETTINGS]
            link.write(":COMMUNICATE:HEADER ON")
            return without_automatic_ranges(answers)

    return look


def went_well(ended: subprocess.CompletedProcess[str]) -> bool:
    """Whether a recording came to its energy; that of so short a one may need review on a busy machine."""
    review = "meter: The energy needs review: "
    return ended.returncode == 0 or (
        ended.returncode == 1 and ended.stderr.startswith(review)
    )


def start_stop_j(facts: dict[str, Any]) -> float:
    """What starting and stopping took at 36 W, and one update, as the recording itself has measured it."""
    return float(facts["energy_j"] * facts["accuracy"]["start_stop_percent"] / 100)


def one_line(text: str) -> bool:
    """Whether a failure was told in one line, without a trace."""
    return (
        text.startswith("meter: ") and text.count("\n") == 1 and "Traceback" not in text
    )
