"""`referee init`: a contest folder that can be moved, its test set with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.config import read_config
from referee.contest import open_contest
from tests.contest_day import called


def made(folder: Path, testset: Path, *options: str) -> str:
    told = called("init", str(folder), "--testset", str(testset), *options)
    assert told.returncode == 0, told.stderr
    return read_config(folder).testset


@pytest.fixture
def beside(tmp_path: Path, small_set: TestSet) -> Path:
    return Path(shutil.copytree(small_set.folder, tmp_path / "here" / "my set"))


def test_a_test_set_beside_or_in_the_folder_is_moved_with_it(tmp_path: Path, beside: Path) -> None:
    assert made(beside.parent / "day", beside) == "../my set"
    inside = Path(shutil.copytree(beside, beside.parent / "other" / "sets" / "a"))
    assert made(beside.parent / "other", inside) == "sets/a"
    moved = beside.parent.rename(tmp_path / "there")
    for name in ("day", "other"):
        with open_contest(moved / name) as contest:
            assert contest.test_set.folder.resolve().is_relative_to(moved)


def test_a_test_set_elsewhere_is_named_by_its_path(tmp_path: Path, beside: Path) -> None:
    assert made(tmp_path / "absolute", beside) == str(beside.resolve())
