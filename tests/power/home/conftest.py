"""A clock moved by hand, and sysfs trees of real files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lpirc_power.clocks import Clocks


class HandClock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def passes(
        self,
        seconds: float,
    ) -> None:
        self.now_s += seconds

    def clocks(self) -> Clocks:
        began = datetime(2026, 1, 1, tzinfo=UTC)
        return Clocks(
            lambda: self.now_s,
            lambda: began + timedelta(seconds=self.now_s),
            self.passes,
        )


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Path]:
    """Write files of a sysfs, given as path and content; returns its root."""
    root = tmp_path / "sys"

    def write(files: dict[str, object]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        return root

    write({"kernel/nothing": ""})
    return write
