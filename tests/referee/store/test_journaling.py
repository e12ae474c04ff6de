"""The journal of a contest beside its database: whatever happens to one of them, no acknowledged write is lost."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from referee.errors import JournalDamaged, RefereeError, StorageFailed
from referee.journal.epochs import Claim
from referee.journal.log_file import log_path
from referee.journal.records import (
    Header,
    Position,
    encode,
    encode_header,
    read_header,
    read_records,
)
from referee.store import DATABASE_NAME, Store
from referee.store.following import Follower, rebuild
from referee.store.replaying import NOT_JOURNALED
from referee.store.schema import columns_of, tables
from tests.referee.factories import START, TEAM, reading, stored_run

CONFIG = "name = 'Test'\ntestset = 'set'\n[[stations]]\nname = 'one'\nmeter = 'sim:constant:36W'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contest folder with only what its database needs."""
    made = tmp_path / "contest"
    made.mkdir()
    (made / "contest.toml").write_text(CONFIG)
    return made


def opened(folder: Path, *, create: bool = False) -> Store:
    return Store.open(folder / DATABASE_NAME, create=create)


def post(store: Store, run: int, number: int) -> None:
    rows = np.array([[number, 1, 0.5, 0, 0, 5, 5.25]])
    body = rows.astype("<f4").tobytes()
    key = f"key {number}"
    about: dict[str, Any] = {
        "sha256": f"{number:064x}",
        "idempotency_key": key,
        "elapsed_s": 1.0 * number,
    }
    store.posts.append(
        run,
        rows,
        now=START,
        content_type="application/octet-stream",
        body=body,
        **about,
    )


def played(folder: Path, posts: int = 3) -> None:
    """Make a contest with a run, bodies, readings, events, served images, and changed and deleted rows."""
    with closing(opened(folder, create=True)) as store:
        store.identity.accept("0123456789ab")
        run = stored_run(store)
        for number in range(1, posts + 1):
            post(store, run.id, number)
        store.readings.append(
            run.id,
            0.0,
            [reading(float(second)) for second in range(3)],
        )
        store.served.append(run.id, [(1, 100), (2, 200)], 0.5)
        store.log.append(START, run.id, "happened", value=0.1)
        for queue in (["bees", TEAM], [TEAM]):
            store.queue.change(lambda _, queue=queue: queue)
        store.teams.set_disabled(TEAM, disabled=True)


def content(database: Path) -> dict[str, list[Any]]:
    """Return all rows of the tables that are journaled, by table."""
    with closing(sqlite3.connect(database)) as connection:
        return {
            table: sorted(connection.execute(rows_of(table)), key=repr)
            for table in tables()
            if table not in NOT_JOURNALED
        }


def rows_of(table: str) -> str:
    return f"SELECT {', '.join(columns_of(table))} FROM {table}"  # noqa: S608 - names from code


def log(folder: Path) -> Path:
    return log_path(folder / "journal", 1)


def test_a_database_made_from_the_journal_alone_is_the_one_that_was_lost(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)
    assert content(tmp_path / "made.db")["posts"]


def test_the_journal_of_a_contest_of_an_earlier_version_begins_with_all_that_it_has(
    folder: Path,
    tmp_path: Path,
) -> None:
    config = (folder / "contest.toml").rename(tmp_path / "hidden")
    played(folder)
    assert not log(folder).exists()
    config.rename(folder / "contest.toml")
    with closing(opened(folder)) as store:
        post(store, 1, 9)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_an_older_copy_of_the_database_gets_what_it_lacks_from_the_journal(
    folder: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    played(folder)
    older = shutil.copy(folder / DATABASE_NAME, folder / "older.db")
    with closing(opened(folder)) as store:
        for number in range(10, 20):
            post(store, 1, number)
    whole = content(folder / DATABASE_NAME)
    shutil.copy(older, folder / DATABASE_NAME)
    with caplog.at_level(logging.WARNING), closing(opened(folder)) as store:
        assert len(store.posts.arrivals(1)) == 13
    assert content(folder / DATABASE_NAME) == whole
    assert (
        "the database lacked the last 10 transactions: taken from the journal"
        in caplog.text
    )


def test_an_older_copy_over_the_file_in_use_is_noticed_before_anything_is_acknowledged(
    folder: Path,
) -> None:
    played(folder)
    older = shutil.copy(folder / DATABASE_NAME, folder / "older.db")
    with closing(opened(folder)) as store:
        for number in range(100, 400):
            post(store, 1, number)
        store.database.connection.execute("PRAGMA wal_checkpoint")
        shutil.copy(older, folder / DATABASE_NAME)
        with pytest.raises(StorageFailed, match="was overwritten while in use"):
            post(store, 1, 500)


def test_zeros_over_the_beginning_of_the_file_lose_nothing_that_was_acknowledged_before_or_after(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    with closing(opened(folder)) as store:
        post(store, 1, 9)
        store.database.connection.execute("PRAGMA wal_checkpoint")
        with (folder / DATABASE_NAME).open("r+b") as file:
            file.write(bytes(20_000))
        try:
            post(store, 1, 10)
            taken = {"key 9", "key 10"}
        except RefereeError:
            taken = {"key 9"}
    with pytest.raises((RefereeError, sqlite3.Error)), closing(opened(folder)) as store:
        store.integrity.require_sound()
    rebuild(tmp_path / "made.db", folder / "journal")
    assert taken <= {
        row[4] for row in content(tmp_path / "made.db")["posts"] if row[4] is not None
    } | {row[5] for row in content(tmp_path / "made.db")["posts"]}


def changed_then_failed(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE teams SET disabled = 0")
    raise ZeroDivisionError


def test_a_record_that_was_not_committed_is_no_part_of_the_journal(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    size = log(folder).stat().st_size
    with closing(opened(folder)) as store:
        with (
            pytest.raises(ZeroDivisionError),
            store.database.transaction() as connection,
        ):
            changed_then_failed(connection)
        assert log(folder).stat().st_size == size
        with pytest.raises(sqlite3.IntegrityError):
            post(store, 77, 1)  # there is no such run
        post(store, 1, 9)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_a_process_that_died_between_journal_and_commit_leaves_a_record_that_is_applied(
    folder: Path,
) -> None:
    played(folder)
    copy = shutil.copy(folder / DATABASE_NAME, folder / "before.db")
    with closing(opened(folder)) as store:
        post(store, 1, 9)
    shutil.copy(copy, folder / DATABASE_NAME)
    with closing(opened(folder)) as store:
        assert len(store.posts.arrivals(1)) == 4
        assert store.posts.find(1, "key 9") is not None


@pytest.mark.parametrize("left", [0.5, 0.99])
def test_a_journal_that_was_cut_begins_again_from_the_database_and_is_kept(
    folder: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    left: float,
) -> None:
    played(folder)
    with log(folder).open("r+b") as file:
        file.truncate(int(left * log(folder).stat().st_size))
    with closing(opened(folder)) as store:
        post(store, 1, 9)
    assert "was cut or is an older copy" in caplog.text
    assert [*(folder / "journal").glob("000001-aside-*")]
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_a_journal_that_is_gone_begins_again(folder: Path, tmp_path: Path) -> None:
    played(folder)
    shutil.rmtree(folder / "journal")
    with closing(opened(folder)) as store:
        post(store, 1, 9)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def doubled(file: Path) -> None:
    file.write_bytes(file.read_bytes() * 2)


def of_another(file: Path) -> None:
    other = file.parents[2] / "other"
    other.mkdir()
    (other / "contest.toml").write_text(CONFIG)
    played(other, posts=9)
    shutil.copy(log(other), file)


def changed_in_the_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) * 3 // 4] ^= 1  # behind its first record
    file.write_bytes(content)


@pytest.mark.parametrize("harm", [doubled, of_another])
def test_a_journal_that_does_not_lead_to_the_database_is_refused_in_one_sentence(
    folder: Path,
    harm: Callable[[Path], None],
) -> None:
    played(folder)
    before = content(folder / DATABASE_NAME)
    harm(log(folder))
    with pytest.raises(RefereeError) as failure:
        opened(folder)
    assert failure.value.code in ("journal-foreign", "journal-damaged")
    assert content(folder / DATABASE_NAME) == before


def test_a_journal_that_was_changed_makes_no_database(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    changed_in_the_middle(log(folder))
    with pytest.raises(
        JournalDamaged,
        match=r"is damaged after record \d+, at byte \d+: the file was changed",
    ):
        rebuild(tmp_path / "made.db", folder / "journal")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda file: file.unlink(), "was removed, replaced or moved while in use"),
        (
            lambda file: shutil.copy(file.rename(file.with_name("moved")), file),
            "was removed, replaced",
        ),
        (lambda file: os.truncate(file, 100), "was cut while in use, to 100 of"),
    ],
)
def test_a_journal_that_is_harmed_while_in_use_refuses_until_the_next_start(
    folder: Path,
    tmp_path: Path,
    harm: Callable[[Path], object],
    words: str,
) -> None:
    played(folder)
    with closing(opened(folder)) as store:
        harm(log(folder))
        with pytest.raises(StorageFailed, match=words):
            post(store, 1, 9)
        assert len(store.posts.arrivals(1)) == 3
    with closing(opened(folder)) as store:
        post(store, 1, 9)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_two_processes_write_one_journal_in_the_order_of_their_commits(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    with closing(opened(folder)) as one, closing(opened(folder)) as other:
        for number in range(10, 20):
            post(one if number % 2 else other, 1, number)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_who_follows_has_all_but_the_last_record_until_it_takes_over(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    second = tmp_path / "second"
    second.mkdir()
    with (
        closing(Follower(second, folder / "journal")) as follower,
        closing(opened(folder)) as store,
    ):
        follower.read_on()
        post(store, 1, 9)
        assert follower.read_on() == 1
        post(store, 1, 10)
        assert follower.read_on() == 1
        assert len(rows(second)) == len(rows(folder)) - 1
        follower.begin(Claim(2, "0123456789ab", "6.0", "hall-b", str(second), "", ""))
    assert content(second / DATABASE_NAME) == content(folder / DATABASE_NAME)


def rows(folder: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection:
        return connection.execute("SELECT id FROM posts").fetchall()


def test_what_stands_behind_the_place_of_a_takeover_is_no_part_of_the_journal(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    header, end = read_header(log(folder))
    *_, last = read_records(log(folder), end)
    follows = Header(
        "0123456789ab",
        header.form,
        2,
        is_base=False,
        tables=header.tables,
        after=last.end,
    )
    log_path(folder / "journal", 2).write_bytes(encode_header(follows)[0])
    late, _ = encode(last.end, [("queue", "put", (None, 7, "too late"))])
    with log(folder).open("ab") as file:
        file.write(late)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


def test_records_are_read_as_they_were_written_up_to_one_that_was_cut(
    tmp_path: Path,
) -> None:
    path = tmp_path / "000001.log"
    start, link = encode_header(
        Header("0123456789ab", 17, 1, is_base=True, tables={"t": ["a", "b"]})
    )
    place = Position(0, link, 1, len(start))
    parts = [start]
    ends = [place]
    wanted = [
        [
            ("t", "put", [None, 0.1, b"\x00\xff"]),
            ("t", "delete", ["x"]),
        ],
        [("t", "put", [3, None, "\u00fc"])],
    ]
    for changes in wanted:
        data, link = encode(place, changes)
        place = Position(place.seq + 1, link, 1, place.size + len(data))
        parts.append(data)
        ends.append(place)
    whole = b"".join(parts)
    for size in range(ends[0].size, len(whole) + 1):
        path.write_bytes(whole[:size])
        _, begin = read_header(path)
        found = [*read_records(path, begin)]
        complete = sum(end.size <= size for end in ends) - 1
        assert [record.end for record in found] == ends[1 : complete + 1]
        assert [[*record.changes] for record in found] == wanted[:complete]


def test_the_room_behind_the_records_is_no_part_of_them(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    left = tmp_path / "left"
    with closing(opened(folder)) as store:
        post(store, 1, 9)
        shutil.copytree(folder, left)  # as a server leaves it that is killed
    room = bytes(2**16)
    assert log(left).read_bytes().endswith(room)
    assert not log(folder).read_bytes().endswith(room)
    with closing(opened(left)) as store:
        post(store, 1, 10)
        rebuild(tmp_path / "meanwhile.db", left / "journal")
        assert content(tmp_path / "meanwhile.db") == content(left / DATABASE_NAME)
    rebuild(tmp_path / "made.db", left / "journal")
    assert content(tmp_path / "made.db") == content(left / DATABASE_NAME)


def test_what_a_power_cut_left_of_a_record_is_no_room(
    folder: Path,
    tmp_path: Path,
) -> None:
    played(folder)
    with log(folder).open("ab") as file:
        # The first one did not reach the disk.
        file.write(bytes(4096) + b"its second page")
    with closing(opened(folder)) as store:
        assert b"its second page" not in log(folder).read_bytes()
        post(store, 1, 9)
    rebuild(tmp_path / "made.db", folder / "journal")
    assert content(tmp_path / "made.db") == content(folder / DATABASE_NAME)


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("-inf"), 2**63 - 1, -(2**63), 1e-320, "\u00fc\x00"],
)
def test_a_record_holds_every_value_of_the_database(
    tmp_path: Path,
    value: object,
) -> None:
    path = tmp_path / "000001.log"
    start, link = encode_header(
        Header("0123456789ab", 17, 1, is_base=True, tables={"t": ["a", "b"]})
    )
    place = Position(0, link, 1, len(start))
    path.write_bytes(start + encode(place, [("t", "put", (1, value, b"blob"))])[0])
    (record,) = read_records(path, place)
    assert [*record.changes] == [("t", "put", [1, value, b"blob"])]


def test_what_only_reads_is_opened_without_triggers_and_its_first_transaction_is_in_the_journal(
    folder: Path,
) -> None:
    played(folder)
    triggers = "SELECT count(*) AS many FROM temp.sqlite_master WHERE type = 'trigger'"
    with closing(opened(folder)) as store:
        assert store.runs.find()
        assert store.database.connection.execute(triggers).fetchone()["many"] == 0
        store.log.append(START, None, "after reading")
    rebuild(folder.parent / "made.db", folder / "journal")
    made = content(folder.parent / "made.db")
    there = content(folder / DATABASE_NAME)
    assert made == there
    assert "after reading" in str(made["events"])
