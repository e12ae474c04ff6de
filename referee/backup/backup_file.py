"""The backup file: a zip of uncompressed members; the last, the manifest, has size and SHA-256 of all others."""

from __future__ import annotations

import errno
import hashlib
import json
import shlex
import struct
import zipfile
from pathlib import Path
from typing import Any

from lpirc_testsets.folder import sha256_of
from lpirc_testsets.values import json_value
from referee.config import CONFIG_NAME
from referee.errors import RefereeError

MANIFEST = "backup.json"
FORMAT = "lpirc-backup"
VERSION = 1
_ZIP = b"PK"
_NAME_AT = 30  # of a zip's first member, which is a backup's copy of contest.toml
_OF_BUNDLES = "manifest.dsse.json"
_UNREADABLE = zipfile.BadZipFile, EOFError, RuntimeError, struct.error, ValueError
_MISSHAPEN = LookupError, TypeError, AttributeError


def write_archive(path: Path, members: dict[str, Path], facts: dict[str, Any]) -> None:
    """Write the files in `members`, by their names in the archive, and a manifest with `facts`. Raises OSError."""
    found = {}
    with zipfile.ZipFile(path, "w", strict_timestamps=False) as made:
        for name, source in members.items():
            made.write(source, name)
            with made.open(name) as member:  # the source may change
                digest = hashlib.file_digest(member, "sha256")  # type: ignore[arg-type]  # it has readinto
            found[name] = [made.getinfo(name).file_size, digest.hexdigest()]
        made.writestr(
            MANIFEST,
            json.dumps(
                {"format": FORMAT, "version": VERSION, **facts, "members": found}
            ),
        )


def read_archive(path: Path, folder: Path | None = None) -> dict[str, Any]:
    """Check a backup file, extract its members into `folder` if given, and return its manifest.

    Raises RefereeError `bad-backup`.
    """
    _require_zip(path)
    try:
        with zipfile.ZipFile(path) as opened:
            facts = _manifest(opened, path.stat().st_size)
            for name, (_, sha256) in facts["members"].items() if folder else ():
                place = Path(opened.extract(name, folder))
                place.chmod(0o600)
                if sha256_of(place) != sha256:
                    raise ValueError(
                        f"{name} has another SHA-256 than its manifest says"
                    )
            return facts
    except (*_UNREADABLE, *_MISSHAPEN, OSError) as error:
        if (
            isinstance(error, OSError) and error.errno != errno.EINVAL
        ):  # EINVAL comes from a wrong offset
            raise
        problem = (
            f"not a whole one: {error}" if zipfile.is_zipfile(path) else "is cut short"
        )
        raise RefereeError(
            "bad-backup", f"{path} is not a backup, or {problem}."
        ) from error


def refuse_backup(path: Path) -> None:
    """Raise RefereeError `backup-given` for a backup, whole or not, where a bundle is needed; OSError."""
    with path.open("rb") as opened:
        begins = opened.read(_NAME_AT + len(CONFIG_NAME))
    if begins.startswith(_ZIP) and begins[_NAME_AT:] == CONFIG_NAME.encode():
        command = f"referee restore {shlex.quote(str(path))} FOLDER"
        sentence = f"{path} is the backup of a contest, not a bundle of a run; make a contest of it with: {command}"
        raise RefereeError("backup-given", sentence)


def _require_zip(path: Path) -> None:
    """Raise RefereeError `bad-backup` for a file that does not even begin as a backup."""
    with path.open("rb") as opened:
        begins = opened.read(len(_ZIP))
    if not _ZIP.startswith(begins):  # a shorter one is cut short
        words = "is not a backup: it does not begin as a zip does"
        make = "a backup is made by: referee backup FOLDER -o FILE"
        raise RefereeError("bad-backup", f"{path} {words}; {make}")


def _manifest(opened: zipfile.ZipFile, size: int) -> dict[str, Any]:
    found = opened.infolist()
    if MANIFEST not in (names := opened.namelist()):
        what = (
            "is a bundle of a run, not a backup"
            if _OF_BUNDLES in names
            else "is a zip, but not a backup"
        )
        raise RefereeError("bad-backup", f"{opened.filename} {what}.")
    if any(one.compress_type or one.flag_bits & 1 for one in found):
        raise ValueError("it has a member that is compressed or encrypted")
    facts: dict[str, Any] = json_value(opened.read(MANIFEST).decode())  # type: ignore[assignment]
    if facts["format"] != FORMAT or facts["version"] > VERSION:
        form = f"{facts['format']} {facts['version']}"
        raise ValueError(
            f"it is {form}, newer than {FORMAT} {VERSION}, which this program knows"
        )
    sizes = {name: size for name, (size, _) in facts["members"].items()}
    if odd := [name for name in sizes if {"", ".", ".."} & set(name.split("/"))]:
        raise ValueError(f"its member {odd[0]!r} leads out of the folder")
    stored = {one.filename: one.file_size for one in found if one.filename != MANIFEST}
    if sizes != stored or len(found) != len(sizes) + 1 or sum(sizes.values()) > size:
        raise ValueError(
            f"its members do not match its {MANIFEST}, or are larger than the file"
        )
    places = facts["testsets"]
    "".join(
        [facts["contest"], facts["utc"], *places, *places.values()]
    )  # raises TypeError unless all are texts
    return facts
