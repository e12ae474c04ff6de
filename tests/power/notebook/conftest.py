"""Meters for recordings that last as long as a with statement."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import LiveRecording, OpenMeter, open_meter
from lpirc_power.visa.link import Link
from tests.power.panel_settings import without_automatic_ranges

SETTINGS = (
    ":INPUT:VOLTAGE:RANGE?",
    ":INPUT:VOLTAGE:AUTO?",
    ":INPUT:CURRENT:RANGE?",
    ":INPUT:CURRENT:AUTO?",
    ":RATE?",
    ":INTEGRATE:STATE?",
)


@pytest.fixture(autouse=True)
def in_an_empty_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Let Ctrl-C raise, as in a notebook; a shell starts what it runs in the background with Ctrl-C ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture
def opened() -> Callable[..., OpenMeter]:
    """Open the meter at an address with ranges that hold 36 W at 120 V."""

    def at(address: str) -> OpenMeter:
        return open_meter(
            address,
            voltage_range_v=150,
            current_range_a=0.5,
            update_interval_s=0.1,
        )

    return at


@pytest.fixture
def meter(
    simulate: Any,
    opened: Callable[..., OpenMeter],
) -> OpenMeter:
    """A meter that shows 36 W."""
    return opened(simulate("--load", "constant:36W").address)


@pytest.fixture
def settings() -> Callable[[OpenMeter], list[str]]:
    """Ask a meter for its settings over a link of its own."""

    def ask(meter: OpenMeter) -> list[str]:
        with contextlib.closing(Link(meter.address)) as link:
            found = [link.query(one) for one in SETTINGS]
        return without_automatic_ranges(found)

    return ask


@pytest.fixture
def until_measured(until: Any) -> Callable[[LiveRecording, int], None]:
    """Wait until a recording has so many readings in its file."""

    def wait(recording: LiveRecording, rows: int) -> None:
        until(lambda: recording.path.read_text().count("\n") > rows)

    return wait
