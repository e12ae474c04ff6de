"""A backup file is put back only if it is whole, of a known form, and stays within its folder and its size."""

from __future__ import annotations

import hashlib
import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.contest import create_contest
from tests.contest_day import called
from tests.referee.factories import config_text

FLIPS = 40


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Path:
    folder = tmp_path_factory.mktemp("backed-up") / "day"
    create_contest(folder, config_text(small_set))
    file = folder.parent / "whole.zip"
    assert called("backup", str(folder), "-o", str(file), "--with-keys").returncode == 0
    return file


def refused(file: Path) -> str:
    """The one sentence of a refused restore, which leaves nothing behind."""
    folder = file.parent / "restored"
    told = called("restore", str(file), str(folder))
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (1, "", 1), told
    assert not folder.exists()
    assert not list(file.parent.glob(".*"))
    return told.stderr


def rewritten(
    whole: Path,
    file: Path,
    change: Callable[[dict[str, bytes], dict[str, Any]], None],
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """The backup with other members, by name, or another manifest."""
    with zipfile.ZipFile(whole) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(members.pop("backup.json"))
    change(members, manifest)
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in (
            members | {"backup.json": json.dumps(manifest).encode()}
        ).items():
            made.writestr(name, content)
    return file


def test_a_file_that_is_cut_short_is_refused(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    for kept in (0, 1, 100, len(content) // 2, len(content) - 30_000, len(content) - 1):
        cut = tmp_path / "cut.zip"
        cut.write_bytes(content[:kept])
        assert "cut.zip is not a backup, or is cut short" in refused(cut)


def test_changed_bytes_are_found_or_change_nothing(whole: Path, tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - a fixed seed
    content = whole.read_bytes()
    names = zipfile.ZipFile(whole).namelist()
    for number in range(FLIPS):
        flipped = bytearray(content)
        # Half of them in the zip's directory and the manifest, which are a small part of the file.
        start = 0 if number % 2 else content.rindex(b'{"format"')
        flipped[chance.randrange(start, len(content))] ^= 1 << chance.randrange(8)
        file = tmp_path / "flipped.zip"
        folder = tmp_path / f"restored-{number}"
        file.write_bytes(flipped)
        told = called("restore", str(file), str(folder))
        if told.returncode:  # a date or an attribute may be another one
            # Of its mark of the end nothing may be left, or of its manifest's name.
            assert re.search(
                "not a whole one: |is cut short|is a zip, but not a backup",
                told.stderr,
            )
            assert not folder.exists()
            continue
        with zipfile.ZipFile(whole) as opened:
            for name in names:
                if name not in ("backup.json", "contest.db", "contest.toml"):
                    assert (folder / name).read_bytes() == opened.read(name)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "name",
    ["../escaped", "/escaped", "a/../../escaped", "testset//x", "a/./b"],
)
def test_a_path_that_climbs_out_is_refused(
    whole: Path,
    tmp_path: Path,
    name: str,
) -> None:
    def climb(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
        members[name] = b"x"
        manifest["members"][name] = [1, "0" * 64]

    assert f"its member {name!r} leads out of the folder" in refused(
        rewritten(whole, tmp_path / "climbs.zip", climb)
    )


def test_a_newer_form_is_told(whole: Path, tmp_path: Path) -> None:
    def renew(_: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest["version"] = 2

    told = refused(rewritten(whole, tmp_path / "newer.zip", renew))
    assert (
        "it is lpirc-backup 2, newer than lpirc-backup 1, which this program knows"
        in told
    )


def test_a_bomb_is_refused_before_anything_is_unpacked(
    whole: Path,
    tmp_path: Path,
) -> None:
    def swell(members: dict[str, bytes], _: dict[str, Any]) -> None:
        members["testset/images/a.jpg"] = bytes(20_000_000)

    bomb = rewritten(whole, tmp_path / "bomb.zip", swell, zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1_000_000
    assert "compressed or encrypted" in refused(bomb)


def test_a_member_that_was_changed_added_or_left_out_is_found(
    whole: Path,
    tmp_path: Path,
) -> None:
    def change(members: dict[str, bytes], _: dict[str, Any]) -> None:
        members["contest.toml"] = members["contest.toml"].replace(b"600", b"601")

    def add(members: dict[str, bytes], _: dict[str, Any]) -> None:
        members["contest.db-wal"] = b"x"

    def leave_out(members: dict[str, bytes], _: dict[str, Any]) -> None:
        del members["secret"]

    def lengthen(members: dict[str, bytes], _: dict[str, Any]) -> None:
        members["contest.toml"] += b"\n"

    file = tmp_path / "changed.zip"
    assert "contest.toml has another SHA-256" in refused(rewritten(whole, file, change))
    for other in (add, leave_out, lengthen):
        assert "its members do not match its backup.json" in refused(
            rewritten(whole, file, other)
        )


@pytest.mark.parametrize(
    "damage",
    [
        {"members": []},
        {"members": {"contest.toml": 5}},
        {"testsets": {"a": 5}},
        {"testsets": ["a"]},
        {"contest": None},
        {"format": "other"},
        {"version": "1"},
    ],
)
def test_a_manifest_that_is_none_is_refused(
    whole: Path,
    tmp_path: Path,
    damage: dict[str, Any],
) -> None:
    file = rewritten(
        whole,
        tmp_path / "odd.zip",
        lambda _, manifest: manifest.update(damage),
    )
    assert "odd.zip is not a backup, or not a whole one" in refused(file)


@pytest.mark.parametrize("text", [b"name = ", b"\xff", b"windows = 5"])
def test_settings_that_cannot_be_read_are_told(
    whole: Path,
    tmp_path: Path,
    text: bytes,
) -> None:
    def replace(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
        members["contest.toml"] = text
        manifest["members"]["contest.toml"] = [
            len(text),
            hashlib.sha256(text).hexdigest(),
        ]

    assert "contest.toml" in refused(rewritten(whole, tmp_path / "odd.zip", replace))


def test_a_directory_of_the_zip_that_points_elsewhere_is_found(
    whole: Path,
    tmp_path: Path,
) -> None:
    content = bytearray(whole.read_bytes())
    at = content.rindex(b"PK\5\6") + 16
    content[at : at + 4] = (2**32 - 2).to_bytes(4, "little")
    file = tmp_path / "elsewhere.zip"
    file.write_bytes(content)
    assert "is not a backup, or not a whole one" in refused(file)


def test_another_zip_or_file_is_no_backup(tmp_path: Path) -> None:
    file = tmp_path / "other.zip"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("photo.jpg", b"x")
    assert refused(file) == f"referee: {file} is a zip, but not a backup.\n"
    file.write_text("no zip at all")
    words = "is not a backup: it does not begin as a zip does; a backup is made by: referee backup FOLDER -o FILE"
    assert refused(file) == f"referee: {file} {words}\n"
    bundle = Path(__file__).parents[1] / "evidence" / "format-1.zip"
    assert refused(bundle) == f"referee: {bundle} is a bundle of a run, not a backup.\n"
    assert "No such file" in refused(tmp_path / "none.zip")


@pytest.mark.parametrize("kept", [None, 30_000], ids=["whole", "cut short"])
@pytest.mark.parametrize("command", [["season"], ["bundle", "verify"]])
def test_a_backup_in_place_of_a_bundle_is_called_one(
    whole: Path, tmp_path: Path, command: list[str], kept: int | None
) -> None:
    file = tmp_path / "my day.zip"
    file.write_bytes(whole.read_bytes()[:kept])
    told = called(*command, str(file))
    assert told.returncode == 1
    words = (
        "is the backup of a contest, not a bundle of a run; make a contest of it with"
    )
    assert f"{file} {words}: referee restore '{file}' FOLDER" in told.stderr
