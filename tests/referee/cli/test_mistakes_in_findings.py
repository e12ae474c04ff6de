"""What `referee doctor` finds where a file stands for a folder, or a time is past: once each, with what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_testsets import TestSet
from referee.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, small_set: TestSet) -> Path:
    """A contest without a folder for backups, beside a file."""
    made = tmp_path / "day"
    words = ["--testset", str(small_set.folder), "--backup-folder", "", "--yes"]
    assert CliRunner().invoke(main, ["init", str(made), *words]).exit_code == 0
    (tmp_path / "file").touch()
    return made


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            '[backup]\nfolder = "../file"',
            "backup-folder: [backup] folder = '../file': {day}/../file is a file; name a folder.\n",
        ),
        (
            '[backup]\nfolder = "~/copies"',
            "There is no folder {day}/~/copies: ~ is not expanded in contest.toml; write the whole",
        ),
        ('[backup]\nfolder = "{set}"', "{set} is a test set, where nothing may be added"),
        (
            '[journal]\npath = "../file"',
            "journal-missing: The journal {day}/../file is a file; name a folder in [journal].\n",
        ),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_told_with_why(
    folder: Path, small_set: TestSet, table: str, told: str
) -> None:
    names = {"day": str(folder), "set": str(small_set.folder)}
    path = folder / "contest.toml"
    given = table.replace("{set}", names["set"])
    path.write_text(f"{path.read_text()}\n{given}\n")
    code, said = examined(folder)
    assert told.format(**names) in said
    assert code == 1


def test_a_missing_test_set_is_told_once_with_its_key(folder: Path) -> None:
    change(folder, "testset = ", 'testset = "../file"  #')
    code, said = examined(folder)
    assert code == 1
    assert said.count("testset-missing: ") == 1
    assert "it is a file; a folder is needed; " in said
    assert "contest.toml has testset = '../file'\n" in said


def test_a_missing_test_set_of_a_track_is_told_with_track_and_key(
    folder: Path, small_set: TestSet
) -> None:
    path = folder / "contest.toml"
    rows = f'name = "phones"\nrule = "ovic-detection"\ntestset = "{small_set.folder}"'
    track = f'[[tracks]]\n{rows}\nholdout = "no"\n'
    path.write_text(f"{path.read_text()}\n{track}")
    code, said = examined(folder)
    assert code == 1
    assert "no such folder; check the path; track 'phones' has holdout = 'no'." in said


def test_a_freeze_in_the_past_is_told_before_the_first_run(folder: Path) -> None:
    change(folder, "name = ", "freeze_at = 2017-06-20T15:30:00+02:00\nname = ")
    code, said = examined(folder)
    assert code == 0
    assert "advice, frozen-already: freeze_at = 2017-06-20T15:30:00+02:00 is past" in said  # fmt: skip


def test_an_accuracy_that_no_run_reaches_is_told(folder: Path) -> None:
    path = folder / "contest.toml"
    path.write_text(re.sub(r"(?m)^least_map = .*\n", "", path.read_text()))
    change(folder, "name = ", "least_map = 1\nname = ")
    said = examined(folder)[1]
    assert "advice, least-map-unreachable: least_map = 1: it is an accuracy of" in said


def change(folder: Path, old: str, new: str) -> None:
    """Write contest.toml with the first occurrence of a text replaced."""
    path = folder / "contest.toml"
    path.write_text(path.read_text().replace(old, new, 1))


def examined(folder: Path) -> tuple[int, str]:
    """Return the exit code and the lines of `referee doctor`."""
    ran = CliRunner().invoke(main, ["doctor", str(folder)])
    return ran.exit_code, ran.stdout
