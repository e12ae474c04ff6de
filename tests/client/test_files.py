"""A result replaces its file atomically, through links and with the mode that was there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn

import pytest

from lpirc_client.files import require_writable, write_atomically


def test_a_link_stays_one_also_where_its_file_is_still_to_be_made(
    tmp_path: Path,
) -> None:
    link = tmp_path / "link"
    link.symlink_to("file")
    require_writable(link)
    assert link.is_symlink() is True
    assert link.exists() is False
    write_atomically(link, "one")
    require_writable(link)
    assert link.is_symlink() is True
    assert (tmp_path / "file").read_text() == "one\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize(
    "failure",
    [OSError(28, "No space left on device"), KeyboardInterrupt()],
)
def test_what_cannot_be_written_whole_leaves_the_result_that_was_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
) -> None:
    def fail(_: int) -> NoReturn:
        raise failure

    out = tmp_path / "result.json"
    write_atomically(out, "one")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(failure)):
        write_atomically(out, "two")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("result.json", "one\n")
    ]


def test_a_result_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    out.touch()
    out.chmod(0o640)
    write_atomically(out, "one")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
