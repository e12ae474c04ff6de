"""A contest that is backed up can be opened again at another path, also without its keys and test sets."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import stat
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.config import read_config
from referee.contest import contest_id, create_contest, open_contest
from tests.confinement import UNCONFINED
from tests.contest_day import called
from tests.forbidden import LOOP, loop_at
from tests.referee.factories import config_text, stored_run

SECRETS = ("secret", "operator-key", "signing-key")


@pytest.fixture
def folder(tmp_path: Path, small_set: TestSet) -> Path:
    """A contest whose test set lies elsewhere, with a run, a model and its track, whose set lies within."""
    made = tmp_path / "day"
    track = (
        '[[tracks]]\nname = "phones"\nrule = "ovic-detection"\ntestset = "public"\n'
        + UNCONFINED
    )
    create_contest(
        made,
        config_text(small_set) + track + "# testset of the finals: unknown\n",
    )
    synthesize(
        made / "public",
        images=2,
        categories=2,
        seed=3,
        size=(96, 64),
    )
    (made / "models").mkdir()
    (made / "models" / f"{'5' * 64}.tflite").write_bytes(b"a model")
    (made / "models" / f"{'6' * 64}.onnx").write_bytes(b"another")
    (made / "timelines").mkdir()
    (made / "timelines" / "run-1.json").write_bytes(b"a timeline")
    (made / "timelines" / ".run-1.json-half").write_bytes(b"half of one")
    with open_contest(made) as contest:
        stored_run(contest.store)
    return made


def backed_up(folder: Path, name: str, *options: str) -> Path:
    file = folder.parent / name
    told = called("backup", str(folder), "-o", str(file), *options)
    assert told.returncode == 0, told.stderr
    return file


def restored(file: Path, folder: Path, *options: str) -> str:
    told = called("restore", str(file), str(folder), *options)
    assert told.returncode == 0, told.stderr
    assert called("doctor", str(folder)).stdout.startswith(
        f"Nothing is wrong with {folder}.\n"
    )
    return told.stdout


def codes_of(folder: Path) -> str:
    return called("doctor", str(folder)).stdout


def test_all_of_it_is_there_at_another_path_and_only_its_owners(
    folder: Path,
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    file = backed_up(folder, "all.zip", "--with-keys")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    former = contest_id(folder)
    with open_contest(folder) as contest:
        runs = contest.store.runs.find()
    folder.rename(tmp_path / "gone")
    copy = tmp_path / "else" / "where"
    told = restored(file, copy)
    assert "has no keys" not in told
    assert contest_id(copy) == former
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    for name in (*SECRETS, "contest.db"):
        assert stat.S_IMODE((copy / name).stat().st_mode) == 0o600
    place = f"testset-{small_set.digest[:12]}"
    assert read_config(copy).testset == place
    assert [one.testset for one in read_config(copy).tracks] == ["public"]
    assert (copy / "public" / "manifest.json").is_file()
    assert "# testset of the finals: unknown" in (copy / "contest.toml").read_text()
    assert (copy / "models" / f"{'5' * 64}.tflite").read_bytes() == b"a model"
    assert (copy / "models" / f"{'6' * 64}.onnx").read_bytes() == b"another"
    (kept,) = (copy / "timelines").iterdir()
    assert (kept.name, kept.read_bytes()) == ("run-1.json", b"a timeline")
    with open_contest(copy) as contest:
        assert contest.test_set.digest == small_set.digest
        assert contest.store.runs.find() == runs
        (newest,) = contest.store.log.newest_after(0, 1)[1]
        count = int((copy / "contest.db-count").read_text())
    assert newest["kind"] == "restored"
    assert newest["detail"]["contest"] == former
    assert newest["detail"]["former"] == former
    with closing(sqlite3.connect(copy / "contest.db")) as database:
        tables = ("runs", "posts", "events", "scores", "submissions")
        assert count == sum(
            database.execute(f"SELECT coalesce(max(id), 0) FROM {one}").fetchone()[0]  # noqa: S608
            for one in tables
        )
    assert codes_of(copy).startswith("Nothing is wrong")


def test_without_keys_it_says_what_that_means_and_goes_on_with_new_ones(
    folder: Path,
    tmp_path: Path,
) -> None:
    file = backed_up(folder, "no-keys.zip")
    assert not set(SECRETS) & set(zipfile.ZipFile(file).namelist())
    told = restored(file, tmp_path / "copy")
    former = contest_id(folder)
    own = contest_id(tmp_path / "copy")
    assert former != own
    assert f"new ones were made. The id is now {own}, it was {former};" in told
    assert "tokens of open runs are void" in told
    assert "Bundles of earlier runs still verify" in told
    assert read_config(tmp_path / "copy").id == own
    assert f"{former}" not in (tmp_path / "copy" / "contest.toml").read_text()


def test_a_copy_without_test_set_says_where_it_is_missed_or_takes_it_and_the_keys_from_an_earlier_backup(
    folder: Path,
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    full = backed_up(folder, "full.zip", "--with-keys")
    with open_contest(folder) as contest:
        number = stored_run(contest.store)
    newest = backed_up(folder, "newest.zip", "--no-testset")
    assert set(zipfile.ZipFile(newest).namelist()) == {
        "contest.toml",
        "contest.db",
        "timelines/run-1.json",
        "backup.json",
    }
    told = called("restore", str(newest), str(tmp_path / "alone"))
    assert (
        f"There is no test set at {tmp_path / 'alone' / 'public'}: put it there"
        in told.stdout
    )
    assert str(small_set.folder) not in told.stdout  # it is where contest.toml says
    told_both = restored(newest, tmp_path / "both", "--base", str(full))
    assert "no test set" not in told_both
    assert contest_id(tmp_path / "both") == contest_id(folder)
    with open_contest(tmp_path / "both") as contest:
        assert contest.store.runs.find()[-1] == number
        assert contest.test_set.folder.parent == tmp_path / "both"


def test_a_backup_of_another_contest_is_no_base(
    folder: Path,
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    create_contest(tmp_path / "other", config_text(small_set))
    other = backed_up(tmp_path / "other", "other.zip")
    own = backed_up(folder, "own.zip")
    told = called("restore", str(own), str(tmp_path / "copy"), "--base", str(other))
    assert told.returncode == 1
    assert (
        f"other.zip belongs to contest {contest_id(tmp_path / 'other')}, "
        in told.stderr
    )
    assert not (tmp_path / "copy").exists()


def test_nothing_is_restored_over_a_contest_or_into_a_folder_with_files(
    folder: Path,
    tmp_path: Path,
) -> None:
    file = backed_up(folder, "all.zip")
    before = sorted(folder.rglob("*"))
    told = called("restore", str(file), str(folder))
    assert told.returncode == 1
    assert told.stderr == (
        f"referee: {folder} is a contest folder, or is not empty; "
        "restore into a new one.\n"
    )
    assert sorted(folder.rglob("*")) == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "photo").touch()
    stderr = called("restore", str(file), str(tmp_path / "full")).stderr
    assert "or is not empty" in stderr
    inside = called("restore", str(file), str(folder / "new" / "sub"))
    assert inside.returncode == 1
    new = folder / "new" / "sub"
    assert inside.stderr == (
        f"referee: {new} is inside the contest folder {folder}; restore into a folder next to it.\n"
    )
    assert sorted(folder.rglob("*")) == before
    (tmp_path / "empty").mkdir()
    restored(file, tmp_path / "empty")


def test_a_backup_takes_the_place_of_an_older_backup_only(
    folder: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "photo.zip").write_text("not yours")
    taken = [
        *(
            folder / name
            for name in (
                "contest.db",
                "contest.db-wal",
                "contest.toml",
                "secret",
                ".lock",
                "backup",
            )
        ),
        folder / "public" / "manifest.json",
        tmp_path / "photo.zip",
    ]
    before = {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "contest.db" not in path.name
    }
    for file in taken:
        told = called("backup", str(folder), "-o", str(file))
        assert told.returncode == 2
        assert told.stdout == ""
        assert str(file) in told.stderr
    assert all(path.read_bytes() == content for path, content in before.items())
    assert (tmp_path / "photo.zip").read_text() == "not yours"
    first = backed_up(folder, "day/own.zip")
    first.chmod(0o644)
    again = backed_up(folder, "day/own.zip", "--with-keys")
    assert stat.S_IMODE(again.stat().st_mode) == 0o600
    assert "own.zip" not in " ".join(zipfile.ZipFile(again).namelist())
    assert called("backup", str(folder), "-o", str(folder)).returncode == 2
    stderr = called(
        "backup", str(folder), "-o", str(tmp_path / "none" / "a.zip")
    ).stderr
    assert "No such file" in stderr


def test_a_backup_that_fails_leaves_the_older_one_and_nothing_else(
    folder: Path,
    tmp_path: Path,
) -> None:
    file = backed_up(folder, "own.zip")
    content = file.read_bytes()
    before = sorted(tmp_path.iterdir())
    next((folder / "public" / "images").iterdir()).unlink()
    told = called("backup", str(folder), "-o", str(file))
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert file.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == before


def test_a_disk_that_is_full_is_told_with_the_place_that_was_to_be_made(
    folder: Path,
    tmp_path: Path,
) -> None:
    (folder / "models" / f"{'5' * 64}.tflite").write_bytes(bytes(2_000_000))
    file = backed_up(folder, "own.zip")
    content = file.read_bytes()
    before = sorted(tmp_path.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A write fails as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        told = called("backup", str(folder), "-o", str(file))
        told_of_restore = called("restore", str(file), str(tmp_path / "copy"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.stderr == f"referee: {file}: File too large\n"
    assert told_of_restore.stderr == f"referee: {tmp_path / 'copy'}: File too large\n"
    assert file.read_bytes() == content
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_database_is_not_backed_up(folder: Path, tmp_path: Path) -> None:
    path = folder / "contest.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
        ).fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 200)
    told = called("backup", str(folder), "-o", str(tmp_path / "bad.zip"))
    assert told.returncode == 1
    assert not (tmp_path / "bad.zip").exists()


def test_a_place_of_a_test_set_that_cannot_be_changed_is_told_before_anything_is_written(
    folder: Path,
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    path = folder / "contest.toml"
    text = path.read_text()
    shutil.copytree(small_set.folder, tmp_path / "beside")
    (line,) = [
        one
        for one in text.splitlines()
        if one.startswith("testset") and "public" not in one
    ]
    path.write_text(text.replace(line, "'testset' = '../beside'  # a place"))
    copy = tmp_path / "copy"
    restored(backed_up(folder, "quoted.zip"), copy)
    assert (
        f"'testset' = \"testset-{small_set.digest[:12]}\"  # a place"
        in (copy / "contest.toml").read_text()
    )
    path.write_text(text.replace(line, 'testset = """../beside"""'))
    told = called("backup", str(folder), "-o", str(tmp_path / "odd.zip"))
    assert told.returncode == 1
    assert "a copy needs its own value for ../beside; write it in quotes" in told.stderr
    assert not (tmp_path / "odd.zip").exists()


@pytest.mark.parametrize(
    ("name", "options"),
    [("signing-key", ["--with-keys"]), ("models", [])],
)
def test_what_cannot_be_looked_at_is_not_left_out_of_a_backup(
    folder: Path,
    name: str,
    options: list[str],
) -> None:
    (folder / name).rename(folder / "elsewhere")
    loop = loop_at(folder / name)
    told = called("backup", str(folder), "-o", str(folder.parent / "it.zip"), *options)
    assert told.returncode == 1
    assert told.stderr == f"referee: {loop} cannot be accessed: {LOOP}.\n"
    assert not (folder.parent / "it.zip").exists()
