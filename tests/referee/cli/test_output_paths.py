"""Where commands may write: not into a test set, not over the files of a contest."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lpirc_testsets import synthesize
from referee.cli.main import main
from referee.cli.output_paths import output_path

OWN = ("contest.toml", "contest.db", "secret", "operator-key", "signing-key")


@pytest.mark.parametrize("inside", [".", "images", "new/deep"])
def test_a_place_in_a_test_set_is_refused(tmp_path: Path, inside: str) -> None:
    images = synthesize(tmp_path / "set", images=1, categories=1, size=(64, 64))
    place = images.folder / inside
    with pytest.raises(click.BadParameter, match="is in the test set"):
        output_path.convert(str(place), None, None)


@pytest.mark.parametrize("command", ["practice", "init", "rehearse --out"])
def test_a_test_set_in_place_of_a_contest_is_told_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    synthesize(tmp_path / "my set", images=1, categories=1, size=(64, 64))
    ran = CliRunner().invoke(main, [*command.split(), "my set"])
    assert ran.exit_code == 2
    assert "my set is a test set; write --testset 'my set', and for the" in ran.stderr


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_a_contest_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "contest.toml").touch()
    with pytest.raises(click.BadParameter, match="is a file of the contest"):
        output_path.convert(str(tmp_path / name), None, None)


@pytest.mark.parametrize("inside", ["", "journal", "journal/copy.zip", "models/x"])
def test_the_folder_of_a_contest_and_its_own_folders_are_refused(
    tmp_path: Path, inside: str
) -> None:
    (tmp_path / "contest.toml").touch()
    with pytest.raises(click.BadParameter, match="; name another place"):
        output_path.convert(str(tmp_path / inside), None, None)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["backup", "day", "-o", "set/b.zip"], "set/b.zip is in the test set "),
        (["backup", "day", "-o", "day"], "day is a folder, and a file is needed"),
        (
            ["backup", "day", "-o", "b.tar.gz"],
            "b.tar.gz ends in .gz, but a zip is written; end it in .zip.",
        ),
        (
            ["bundle", "export", "1", "-o", "run.pdf"],
            "run.pdf ends in .pdf, but a zip is written",
        ),
        (["bundle", "export", "1", "-o", "day"], "day is the folder of a contest; "),
        (["run", "export", "1", "--out", "day"], "day is the folder of a contest; "),
        (["testset", "synthesize", "--out", "s.zip"], "and a folder is made; write s."),
        (["init", "set/day", "--yes"], "set/day is in the test set "),
        (["restore", "b.zip", "set/day"], "set/day is in the test set "),
        (
            ["restore", "day", "b.zip"],
            "the backup first, then a new folder: referee restore b.zip day-restored",
        ),
        (
            ["restore", "no-day", "b.zip"],
            "then a new folder: referee restore b.zip no-day",
        ),
        (["publish", "day", "set/site"], "set/site is in the test set "),
        (["rehearse", "--out", "set/r"], "set/r is in the test set "),
        (["testset", "synthesize", "--out", "set/s"], "set/s is in the test set "),
    ],
)
def test_a_wrong_place_is_a_mistake_of_usage_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    synthesize(tmp_path / "set", images=1, categories=1, size=(64, 64))
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "contest.toml").touch()
    (tmp_path / "b.zip").touch()
    before = sorted(tmp_path.rglob("*"))
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["run-1", "reports", "bundle.zip"])
def test_a_place_beside_them_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "contest.toml").touch()
    place = tmp_path / name
    assert output_path.convert(str(place), None, None) == place


@pytest.mark.parametrize(
    ("is_there", "what", "new"),
    [
        (True, "back.zip is a file, and stands", "day-restored"),
        (False, "There is no back.zip; it stands", "day-restored"),
    ],
)
def test_a_folder_before_the_backup_is_told_the_order_and_a_new_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_there: bool,
    what: str,
    new: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("day").mkdir()
    if is_there:
        Path("back.zip").write_bytes(b"x")
    said = CliRunner().invoke(main, ["restore", "day", "back.zip"])
    assert said.exit_code == 2
    assert f"{what} in the place of the folder to make; give" in said.output
    assert said.output.rstrip().endswith(f": referee restore back.zip {new}")
