"""Selects the files of a contest folder for its backup, and restores them, also to another path."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from lpirc_score.files.atomic_write import (
    real_path,
    require_writable,
    sync_folder,
    write_atomically,
)
from lpirc_testsets import load_test_set
from lpirc_testsets.folder import GROUND_TRUTH, IMAGES, LABELS, MANIFEST
from referee.auth.signing import SIGNING_KEY_NAME
from referee.backup.backup_file import read_archive, write_archive
from referee.config import CONFIG_NAME, ContestConfig, read_config, toml_table
from referee.config.tracks import MODELS
from referee.contest import contest_id
from referee.errors import RefereeError
from referee.judging.kept_timelines import FOLDER as TIMELINES
from referee.judging.kept_timelines import timeline_files
from referee.presence import entries, is_free, is_there
from referee.served import OPERATOR_KEY_NAME, SECRET_BYTES, SECRET_NAME
from referee.store import DATABASE_NAME, Store


class WrongTarget(RefereeError):
    """A backup would replace something else than an older backup, or could become a file of its contest."""

    def __init__(self, sentence: str) -> None:
        super().__init__("backup-target", sentence)


SECRETS = (SECRET_NAME, OPERATOR_KEY_NAME)
_VALUE = re.compile(
    r"""((?<![\w-])(?:id|testset|holdout)["']?\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
)


def back_up(
    folder: Path, file: Path, now: datetime, *, keys: bool, test_sets: bool
) -> None:
    """Write the contest in `folder` to one file that only its owner can read; models are saved with the test sets.

    Raises WrongTarget, RefereeError (`bad-config` and others), TestSetError and OSError.
    """
    require_writable(file)
    file = real_path(file)
    _require_free(folder, file)
    config = read_config(folder)
    contest = contest_id(folder)
    moved = dict[str, str]()
    names_of_files = [CONFIG_NAME]
    if keys:
        names_of_files += [*SECRETS, SIGNING_KEY_NAME]
    files = [(name, folder / name) for name in names_of_files]
    files += [(f"{TIMELINES}/{one.name}", one) for one in timeline_files(folder)]
    for given in _test_sets(config) if test_sets else ():
        found = load_test_set(folder / given)
        place = os.path.normpath(given)
        if place.startswith((".", "/")):  # it is outside the contest folder
            place = moved[given] = f"testset-{found.digest[:12]}"
        names = (
            MANIFEST,
            GROUND_TRUTH,
            LABELS,
            *(f"{IMAGES}/{one.file}" for one in found.images),
        )
        files += [(f"{place}/{name}", found.folder / name) for name in names]
    if test_sets:
        files += [
            (f"{MODELS}/{one.name}", one)
            for one in entries(folder / MODELS)
            if one.match("[0-9a-f]*")
        ]
    optional = (SIGNING_KEY_NAME, LABELS)
    members = {
        name: path
        for name, path in files
        if path.name not in optional or is_there(path)
    }
    _with_values(
        (folder / CONFIG_NAME).read_text("utf-8-sig"), moved
    )  # fails now, not at the restore
    scratch = TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent)
    with scratch as place, closing(Store.open(folder / DATABASE_NAME)) as store:
        store.integrity.require_complete()
        members[DATABASE_NAME] = Path(place, DATABASE_NAME)
        store.integrity.copy_to(members[DATABASE_NAME])
        made = Path(place, "backup.zip")
        facts = {
            "contest": store.identity.contest_id(contest),
            "utc": now.isoformat(),
            "testsets": moved,
        }
        made.touch(
            0o600
        )  # ignored where the disk has no modes, whereas chmod fails on a USB stick's FAT
        write_archive(made, members, facts)
        with made.open("rb") as whole:
            os.fsync(whole.fileno())
        made.replace(file)
        sync_folder(file.parent)


def _require_free(folder: Path, file: Path) -> None:
    """Raise WrongTarget if a backup at `file` would replace anything other than an older backup.

    Raise it also if `file` lies in the contest folder and does not end in .zip, as it could become a file of the
    contest.
    """
    is_of_contest = file.parent == real_path(folder) and file.suffix != ".zip"
    is_taken = is_there(file)
    with suppress(RefereeError):
        if read_archive(file) if is_taken else not is_of_contest:
            return
    what = "a contest's file" if is_of_contest else "something other than a backup"
    sentence = f"{file} {'is' if is_taken else 'would be'} {what}; name another place, with .zip."
    raise WrongTarget(sentence)


def _test_sets(config: ContestConfig) -> set[str]:
    """Return the test sets named in contest.toml."""
    return {config.testset} | {
        name for one in config.tracks for name in (one.testset, one.holdout) if name
    }


def _with_values(text: str, changes: dict[str, str]) -> str:
    """Return the text of a contest.toml with ids and test set paths replaced. Raises RefereeError `bad-config`."""

    def changed(found: re.Match[str]) -> str:
        with suppress(ValueError, KeyError):
            return f'{found[1]}"{changes[toml_table("_ = " + found[2])["_"]]}"'
        return found[0]

    new = _VALUE.sub(changed, text)
    table = toml_table(new)
    tables = (table, *table.get("tracks", ()))
    if left := changes.keys() & {
        one.get(key) for one in tables for key in ("id", "testset", "holdout")
    }:
        words = f"{CONFIG_NAME}: a copy needs its own value for {', '.join(left)}; write it in quotes after the key."
        raise RefereeError("bad-config", words)
    return new


def restore(
    file: Path, folder: Path, base: Path | None, now: datetime
) -> tuple[str, str, list[str]]:
    """Restore the contest folder from the backup `file`, completely or not at all; missing parts come from `base`.

    Returns the contest's id, its former id (a different one if new keys were made), and the names of missing test sets.
    Raises RefereeError `contest-exists`, `contest-mixed`, `bad-backup`, and any error of the functions called; OSError.
    """
    folder = real_path(folder)
    _require_new(folder)
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir(mode=0o700, parents=True)
    try:
        older = read_archive(base, partial) if base else None
        newest = read_archive(file, partial)
        older = older or newest
        former = newest["contest"]
        changes = older["testsets"] | newest["testsets"]
        if older["contest"] != former:
            raise RefereeError(
                "contest-mixed",
                f"{base} belongs to contest {older['contest']}, but {file} belongs to {former}; give two backups "
                "of the same contest.",
            )
        if not is_there(partial / SECRET_NAME):
            for name in SECRETS:
                write_atomically(
                    partial / name,
                    f"{secrets.token_hex(SECRET_BYTES)}\n".encode(),
                    0o600,
                )
            changes[former] = contest_id(partial)
        contest = contest_id(partial)
        config = partial / CONFIG_NAME
        read_config(partial)  # raises if it is invalid
        write_atomically(
            config, _with_values(config.read_text("utf-8-sig"), changes).encode()
        )
        with closing(Store.open(partial / DATABASE_NAME, journaled=False)) as store:
            store.integrity.require_sound()
            store.identity.leave_journal()
            store.log.append(
                now,
                None,
                "restored",
                backup_utc=newest["utc"],
                former=former,
                contest=contest,
            )
            store.operators.end_all_sessions()
            store.integrity.note_count() if contest == former else store.identity.accept(
                contest
            )
        sets = sorted(_test_sets(read_config(partial)))
        missing = [one for one in sets if not is_there(partial / one / MANIFEST)]
        os.sync()
        partial.replace(folder)
        os.sync()
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return contest, former, missing


def _require_new(folder: Path) -> None:
    """Raise RefereeError `contest-exists` for a folder that has files, or that is inside a contest folder."""
    if not is_free(folder):
        sentence = (
            f"{folder} is a contest folder, or is not empty; restore into a new one."
        )
        raise RefereeError("contest-exists", sentence)
    for outer in folder.parents:
        if is_there(outer / CONFIG_NAME):
            sentence = f"{folder} is inside the contest folder {outer}; restore into a folder next to it."
            raise RefereeError("contest-exists", sentence)
