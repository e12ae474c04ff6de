from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from lpirc_score.files.atomic_write import require_writable, write_atomically


def test_a_file_is_replaced_and_a_link_to_it_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_atomically(tmp_path / "link", b"one")
    write_atomically(tmp_path / "link", b"two")
    assert (tmp_path / "file").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_the_longest_name_that_a_file_may_have_can_be_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["n" * 255]


def test_what_cannot_be_written_whole_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as failure:
        write_atomically(tmp_path / "folder", b"one")
    assert failure.value.filename == str(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_place_is_tried_without_a_trace_and_told_by_its_name(tmp_path: Path) -> None:
    require_writable(tmp_path / "new")
    os.mkfifo(tmp_path / "pipe")
    for place, told in (
        ("pipe", "regular file"),
        (".", "regular file"),
        ("none/x", "No such file"),
    ):
        with pytest.raises(OSError, match=told) as failure:
            require_writable(tmp_path / place)
        assert failure.value.filename == str((tmp_path / place).resolve())
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "plot"
    path.touch(mode=0o600)
    path.chmod(0o640)
    write_atomically(path, b"one")
    assert path.read_bytes() == b"one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_place_that_cannot_be_is_told_by_the_name_that_was_given(
    tmp_path: Path,
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for act in (require_writable, lambda path: write_atomically(path, b"one")):
        for name, number in (
            ("loop", errno.ELOOP),
            ("file/x", errno.ENOTDIR),
            ("loop/x", errno.ELOOP),
        ):
            with pytest.raises(
                OSError,
                match=re.escape(os.strerror(number)),
            ) as failure:
                act(tmp_path / name)
            assert failure.value.filename == str(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]


def test_a_private_file_is_private_whatever_was_there(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o644)
    write_atomically(path, b"one", mode=0o600)
    assert path.read_bytes() == b"one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
