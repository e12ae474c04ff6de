"""No committed transaction is lost when a journal writer is ended or delayed, or when the database is replaced."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from referee.errors import JournalDamaged, StorageFailed
from referee.journal.log_file import LogFile, log_path
from referee.journal.records import PUT, Position, encode, read_header, read_records
from referee.store import DATABASE_NAME
from referee.store.following import rebuild
from tests.referee.store.test_journaling import (
    CONFIG,
    START,
    content,
    opened,
    played,
    post,
)

PAUSE_S = 1.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contest with three bodies."""
    made = tmp_path / "contest"
    made.mkdir()
    (made / "contest.toml").write_text(CONFIG)
    played(made)
    return made


def log_of(folder: Path) -> Path:
    return log_path(folder / "journal", 1)


def position(folder: Path) -> Position:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection:
        return Position(
            *connection.execute("SELECT seq, link, epoch, size FROM journal").fetchone()
        )


def rebuilt(folder: Path, made: Path) -> dict[str, list[Any]]:
    rebuild(made, folder / "journal")
    return content(made)


def test_who_takes_a_record_back_waits_for_one_that_is_written_in_its_place(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(opened(folder)) as failing, closing(opened(folder)) as writing:
        ours = failing.database._journaling  # noqa: SLF001 - a moment between two of its steps
        theirs = writing.database._journaling  # noqa: SLF001
        assert ours is not None
        assert theirs is not None
        append = theirs.append
        take_back = ours.take_back
        is_appended = threading.Event()
        is_taken_back = threading.Event()
        thread = threading.Thread(target=post, args=(writing, 1, 50))

        def append_slowly() -> None:
            append()
            is_appended.set()
            is_taken_back.wait(PAUSE_S)  # which must not happen before the commit

        def take_back_late() -> None:
            thread.start()
            assert is_appended.wait(30)
            take_back()
            is_taken_back.set()

        def fail_at_the_commit() -> None:
            raise StorageFailed("The disk is full.")

        monkeypatch.setattr(theirs, "append", append_slowly)
        monkeypatch.setattr(ours, "take_back", take_back_late)
        its_append = ours.append
        monkeypatch.setattr(
            ours,
            "append",
            lambda: (its_append(), fail_at_the_commit()),
        )
        with pytest.raises(StorageFailed):
            post(failing, 1, 40)
        thread.join()
    assert position(folder).size == log_of(folder).stat().st_size
    assert rebuilt(folder, tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_an_older_database_never_writes_over_what_was_committed(folder: Path) -> None:
    earlier = position(folder)
    with closing(opened(folder)) as store:
        for number in (50, 51):
            post(store, 1, number)
        before = log_of(folder).read_bytes()
        with closing(
            sqlite3.connect(folder / DATABASE_NAME)
        ) as other:  # as a copy over the file would
            other.execute(
                "UPDATE journal SET seq = ?, link = ?, epoch = ?, size = ?",
                [*vars(earlier).values()],
            )
            other.commit()
        with pytest.raises(StorageFailed, match="an older copy replaced the database"):
            post(store, 1, 52)
        with (
            closing(LogFile(log_of(folder))) as file,
            pytest.raises(StorageFailed, match="older copy"),
        ):
            # By a process that has not committed since then.
            file.append(
                earlier,
                [],
                lambda: None,
            )
        assert log_of(folder).read_bytes() == before


def without_journal(folder: Path) -> Path:
    """Return a copy of the database, at another path, as an earlier version left it."""
    copy = folder / "earlier.db"
    shutil.copy(folder / DATABASE_NAME, copy)
    shutil.rmtree(folder / "journal")
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM journal")
        connection.commit()
    return copy


@pytest.mark.parametrize("posts", [0, 1])
def test_a_database_from_before_its_journal_gets_what_followed_and_else_the_copy_is_made_again(
    folder: Path,
    tmp_path: Path,
    posts: int,
) -> None:
    copy = without_journal(folder)
    shutil.copy(copy, folder / DATABASE_NAME)
    with closing(opened(folder)) as store:
        for number in range(posts):
            post(store, 1, 50 + number)
    shutil.copy(copy, folder / DATABASE_NAME)
    opened(folder).close()
    found = content(folder / DATABASE_NAME)
    assert len(found["posts"]) == 3 + posts
    assert rebuilt(folder, tmp_path / "made.db") == found


@pytest.mark.parametrize("kept", [0.3, 1.0])
def test_a_last_record_whose_middle_a_power_cut_took_is_none(
    folder: Path,
    kept: float,
) -> None:
    older = shutil.copy(folder / DATABASE_NAME, folder / "older.db")
    start = position(folder).size
    with closing(opened(folder)) as store:
        post(store, 1, 50)
    whole = log_of(folder).read_bytes()
    middle = (start + len(whole)) // 2
    end = start + int(kept * (len(whole) - start))
    torn = bytearray(whole[:end])
    torn[middle - 8 : middle + 8] = bytes(16)[: max(end - middle + 8, 0)]
    log_of(folder).write_bytes(bytes(torn))
    shutil.copy(older, folder / DATABASE_NAME)
    with closing(opened(folder)) as store:
        assert store.posts.count_detections(1) == 3
        post(store, 1, 51)
    path = log_of(folder)
    assert [one.end for one in read_records(path, read_header(path)[1])][
        -1
    ] == position(folder)


@pytest.mark.parametrize("kept", [0.8, 1.0])
def test_what_a_team_puts_into_a_body_is_no_record_behind_one_that_was_cut(
    folder: Path,
    kept: float,
) -> None:
    """Otherwise a team whose body contains a whole record could keep a host from starting again or taking over."""
    start = position(folder)
    forged, _ = encode(Position(1000), [("posts", PUT, [1, "forged"])])
    rows = np.zeros((100, 7))
    about: dict[str, Any] = {
        "sha256": f"{60:064x}",
        "idempotency_key": "key 60",
        "elapsed_s": 60.0,
    }
    body = bytes(280) + forged + bytes(2520 - len(forged))
    older = shutil.copy(folder / DATABASE_NAME, folder / "older.db")
    with closing(opened(folder)) as store:
        store.posts.append(
            1,
            rows,
            now=START,
            content_type="application/octet-stream",
            body=body,
            **about,
        )
    whole = log_of(folder).read_bytes()
    torn = bytearray(whole[: start.size + int(kept * (len(whole) - start.size))])
    torn[start.size + 60] ^= 1
    log_of(folder).write_bytes(bytes(torn))
    assert forged in torn
    shutil.copy(older, folder / DATABASE_NAME)
    with closing(opened(folder)) as store:
        assert store.posts.count_detections(1) == 3
        post(store, 1, 61)


def test_a_record_whose_length_was_harmed_is_still_known_by_what_follows_it(
    folder: Path,
) -> None:
    start = position(folder)
    with closing(opened(folder)) as store:
        for number in (60, 61, 62):
            post(store, 1, number)
    harmed = bytearray(log_of(folder).read_bytes())
    harmed[start.size + 8 + 2] ^= 0x80  # of the blobs
    log_of(folder).write_bytes(bytes(harmed))
    with pytest.raises(JournalDamaged):
        list(read_records(log_of(folder), start))
