"""A clock moved by hand, and sysfs trees of real files."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lpirc_power.clocks import Clocks

NOBODY = 65534


class HandClock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def passes(self, seconds: float) -> None:
        self.now_s += seconds

    def clocks(self) -> Clocks:
        began = datetime(2026, 1, 1, tzinfo=UTC)
        return Clocks(lambda: self.now_s, lambda: began + timedelta(seconds=self.now_s), self.passes)


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


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A sysfs that every user may enter, unlike pytest's own folders."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
    shutil.rmtree(root)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Be nobody if we are root, whom no permission stops."""
    former = os.geteuid()
    codecs.lookup("ascii")  # a codec that nobody may not import stays unknown for the rest of the process
    if former == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(former)
