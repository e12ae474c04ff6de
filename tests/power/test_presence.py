from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.presence import is_folder, is_there, names, status
from tests.forbidden import LOOP, loop_at


def test_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / "nowhere", file / "below", tmp_path / "no\0name"):
        assert not is_there(path)
        assert not is_folder(path)
    assert names(tmp_path / "nowhere") == names(file) == []
    assert names(tmp_path) == ["file"]
    assert is_there(file)
    assert is_folder(tmp_path)
    assert not is_folder(file)


def test_what_cannot_be_looked_at_is_one(tmp_path: Path) -> None:
    loop = loop_at(tmp_path / "loop")
    for look in (status, is_there, is_folder, names):
        with pytest.raises(OSError, match=LOOP):
            look(loop)
