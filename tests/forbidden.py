"""What may not be looked at, for root too: loops of links, and what permissions close."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

LIBC = ctypes.CDLL(None)
CAPABILITY_HEADER = struct.pack("=Ii", 0x20080522, 0)  # version 3, this thread
CAPABILITY_DATA = struct.Struct("=6I")
PASSES_PERMISSIONS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
LOOP = "Too many levels of symbolic links"


def loop_at(path: Path) -> Path:
    """A link to itself: the system fails to look at it, whoever asks; `Path.exists` says that nothing is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.name)
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that is removed, whatever in it is closed by then."""
    root = Path(tempfile.mkdtemp())
    yield root
    for place, folders, _ in os.walk(root):
        for name in folders:
            Path(place, name).chmod(0o755)
    shutil.rmtree(root)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Let permissions stop this thread, also if we are root: as they stop the owner of a file."""
    if os.geteuid() != 0:
        yield
        return
    former = _capabilities()
    effective, *others = former
    _set_capabilities((effective & ~PASSES_PERMISSIONS, *others))
    yield
    _set_capabilities(former)


def _capabilities() -> tuple[int, ...]:
    """The effective, permitted and inheritable ones of this thread, 32 at a time: capget(2)."""
    data = ctypes.create_string_buffer(CAPABILITY_DATA.size)
    assert LIBC.capget(CAPABILITY_HEADER, data) == 0
    return CAPABILITY_DATA.unpack(data.raw)


def _set_capabilities(wanted: tuple[int, ...]) -> None:
    assert LIBC.capset(CAPABILITY_HEADER, CAPABILITY_DATA.pack(*wanted)) == 0


@pytest.fixture
def as_on_python_3_14(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `Path` say "not there" of what may not be looked at, as it does since Python 3.14."""
    for name, asked in (
        ("exists", os.path.exists),
        ("is_file", os.path.isfile),
        ("is_dir", os.path.isdir),
    ):
        monkeypatch.setattr(Path, name, asked)
