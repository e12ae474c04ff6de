"""What is told about failures of the system."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lpirc_testsets.system_failures import REMEDIES, told


def failure(path: Path) -> OSError:
    with pytest.raises(OSError, match=str(path)) as found:
        path.open("wb")
    return found.value


def test_a_failure_is_told_with_its_file_and_what_to_do(tmp_path: Path) -> None:
    missing = tmp_path / "none" / "a.zip"
    sentence = (
        f"{missing}: No such file or directory; check the path; its folder must exist"
    )
    assert told(failure(missing)) == sentence
    assert told(failure(tmp_path)).endswith("and this is a folder")
    (tmp_path / "file").touch()
    assert "not a folder; check the path" in told(failure(tmp_path / "file" / "a"))


def test_a_closed_folder_is_named_and_not_a_file_that_is_not_there(
    tmp_path: Path,
) -> None:
    missing = str(tmp_path / "none" / "a.zip")
    refused = PermissionError(errno.EACCES, "Permission denied", missing)
    assert f"its folder {tmp_path} is closed to this user; run this" in told(refused)
    refused = PermissionError(errno.EACCES, "Permission denied", str(tmp_path))
    assert told(refused).startswith(f"{tmp_path}: Permission denied; run this as")


def test_a_full_disk_without_a_file_is_told() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    reason = f"No space left on device; {REMEDIES[errno.ENOSPC]}"
    assert told(full) == f"the output cannot be written: {reason}"


def test_a_failure_without_a_number_keeps_its_words() -> None:
    assert told(OSError("it broke")) == "it broke"
