"""What may not be looked at, for root too: loops of links, and folders closed to the user that a test becomes."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
LOOP = "Too many levels of symbolic links"


def loop_at(path: Path) -> Path:
    """A link to itself: the system fails to look at it, whoever asks; `Path.exists` says that nothing is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.name)
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    for place, folders, _ in os.walk(root):
        for name in folders:
            Path(place, name).chmod(0o755)
    shutil.rmtree(root)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Be nobody if we are root, whom no permission stops."""
    former = os.geteuid()
    for codec in ("ascii", "utf-8-sig"):  # one that nobody may not import stays unknown to the process
        codecs.lookup(codec)
    if former == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(former)


@pytest.fixture
def as_on_python_3_14(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `Path` say "not there" of what may not be looked at, as it does since Python 3.14."""
    for name, asked in (("exists", os.path.exists), ("is_file", os.path.isfile), ("is_dir", os.path.isdir)):
        monkeypatch.setattr(Path, name, asked)
