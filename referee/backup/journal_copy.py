"""Restoration of a contest folder's database from its journal alone."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from referee.config import CONFIG_NAME
from referee.config.missing_contest import missing_contest
from referee.contest import contest_id
from referee.errors import RefereeError
from referee.journal.epochs import require_own
from referee.presence import is_there
from referee.served import is_served
from referee.store import DATABASE_NAME, Store
from referee.store.following import rebuild
from referee.store.journaling import place_of


@dataclass(frozen=True)
class Made:
    """A database made from a journal, its number of transactions, and the path `kept` of the replaced one, or None."""

    database: Path
    journal: Path
    transactions: int
    kept: Path | None


def restore_database(folder: Path, now: datetime) -> Made:
    """Make the database of a contest folder from its journal; the former database is kept beside it.

    Raises RefereeError `contest-missing`, `contest-busy`, `journal-missing`, `journal-damaged`, `contest-mixed`, and
    for a journal shared by several hosts any error of `require_own`; OSError.
    """
    place = place_of(folder)
    if place is None:
        raise missing_contest(folder, CONFIG_NAME)
    if is_served(folder):
        raise RefereeError(
            "contest-busy", f"{folder} is being served; stop the server first."
        )
    if not is_there(place.journal):
        words = f"There is no journal at {place.journal}; mount its disk, or use a backup: referee restore FILE FOLDER"
        raise RefereeError("journal-missing", words)
    database = folder / DATABASE_NAME
    partial = folder / f".{DATABASE_NAME}.made"
    partial.unlink(missing_ok=True)
    try:
        partial.touch(mode=0o600)
        transactions = rebuild(partial, place.journal)
        _require_ours(folder, partial)
        if place.is_shared:
            require_own(place.journal, folder)
        kept = _set_aside(database, now)
        partial.replace(database)
    finally:
        partial.unlink(missing_ok=True)
    with closing(Store.open(database)) as store:
        store.integrity.require_sound()
        store.integrity.note_count()
        store.log.append(
            now, None, "restored", journal=str(place.journal), transactions=transactions
        )
    return Made(database, place.journal, transactions, kept)


def _require_ours(folder: Path, database: Path) -> None:
    """Raise RefereeError `contest-mixed` unless the journal's contest is the one with the secrets in this folder."""
    with closing(Store.open(database)) as store:
        own = contest_id(folder)
        its = store.identity.contest_id(own)
    if own != its:
        raise RefereeError(
            "contest-mixed",
            f"The journal belongs to contest {its}, but the secrets in {folder} belong to {own}; nothing was "
            "changed.",
        )


def _set_aside(database: Path, now: datetime) -> Path | None:
    """Rename the former database and its WAL files, adding the present time; return the new path, or None."""
    kept = database.with_name(f"contest-replaced-{now:%Y%m%d-%H%M%S}.db")
    for suffix in ("-wal", "-shm", ""):
        former = database.with_name(database.name + suffix)
        if is_there(former):
            former.rename(kept.with_name(kept.name + suffix))
    return kept if is_there(kept) else None
