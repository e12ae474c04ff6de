"""What the store has answered is on disk: the power is cut before every write and sync of a contest.

What the model of the disk assumes is said in `tests/powercut/disk.py`; SQLite's own `-shm` holds anything after a cut.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pytest

from lpirc_testsets.synthetic import synthesize
from referee.clock import Clock
from referee.config import CONFIG_NAME
from referee.contest import Contest, create_contest, open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.public_documents import empty_board, public_hall
from referee.store import DATABASE_NAME, Event, NewPost, Store
from referee.store.integrity import _COUNT  # a mutant is of the inside
from referee.store.records import Post
from referee.web.live_process import make_copies
from tests.powercut import recording
from tests.powercut.contest import CONFIG, Recording, record_contest
from tests.powercut.disk import Sync, Write
from tests.powercut.examination import examine, held, lay
from tests.powercut.recording import JOURNAL, Connection
from tests.referee.factories import START, config_text
from tests.referee.store.test_schema import old_file

WAYS = 0.6
PARTS = 2
STATES = 2000
UPGRADES = 15


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory if there is one: what is in question is not this machine's disk."""
    memory = Path("/dev/shm")  # noqa: S108
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def recorded(place: Path, **how: Any) -> Recording:
    (place / "contest").mkdir()
    return record_contest(place / "contest", **how)


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_was_answered_is_lost_wherever_the_power_is_cut(
    place: Path,
    part: int,
) -> None:
    recording = recorded(place)
    examined = examine(
        recording,
        place / "left",
        seed=part,
        ways=WAYS,
        part=part,
        of=PARTS,
    )
    assert examined.lost == 0
    assert examined.faults == []
    assert examined.states >= STATES / PARTS


def test_each_commit_holds_what_was_answered_together_whole_and_once(
    place: Path,
) -> None:
    recording = recorded(place)
    assert recording.faults() == []
    told = [fact for _, facts in recording.answers for fact in facts]
    assert len(told) == len(set(told)) > 100
    assert not [fact for fact in told if not list(recording.commits.values())[-1][fact]]


def test_the_recorded_contest_moves_its_log_into_the_database_and_begins_it_anew(
    place: Path,
) -> None:
    steps = recorded(place).journal.steps
    headers = [
        step
        for step in steps
        if isinstance(step, Write) and not step.offset and len(step.data) == 32
    ]
    pages = [
        step for step in steps if isinstance(step, Write) and len(step.data) == 4096
    ]
    assert len(headers) > 5
    assert sum(isinstance(step, Sync) for step in steps) > 100
    assert len(pages) > 300


@pytest.mark.parametrize("has_journal", [False, True])
def test_an_upgrade_that_is_cut_is_made_by_the_next_start(
    place: Path,
    *,
    has_journal: bool,
) -> None:
    (place / "contest").mkdir()
    if has_journal:  # which begins with a copy of the whole database
        (place / "contest" / CONFIG_NAME).write_text(CONFIG)
    database = old_file(place / "contest" / DATABASE_NAME, 7)
    with (
        recording.recorded(place / "contest") as journal,
        closing(Store.open(database)),
    ):
        pass
    whole = held(database)
    rng = random.Random(1)  # noqa: S311 - not for secrets
    left = place / "left"
    for _, disk in journal.disks():
        for kept in (
            disk.cuts(rng, 1) if rng.random() < UPGRADES / len(journal.steps) else ()
        ):
            lay(disk.left(kept), left)
            with closing(Store.open(left / DATABASE_NAME)) as store:
                store.integrity.require_sound()
            assert held(left / DATABASE_NAME) == whole


def not_durable(*given: Any, **named: Any) -> Store:
    """Open a store whose commits wait neither for the disk nor for a journal."""
    store = Store.open(*given, **named)
    store.database.connection.execute("PRAGMA synchronous=NORMAL")
    return store


class AnswersFirst(Connection):
    """Each commit is answered before it: whatever uses the database next does it."""

    answered: ClassVar[list[Connection]] = []

    def execute(self, sql: str, values: Any = ()) -> Any:
        while self.answered:
            Connection.commit(self.answered.pop())
        return super().execute(sql, values)

    def commit(self) -> None:
        if self.in_transaction:
            self.answered.append(self)

    def close(self) -> None:
        self.execute("SELECT 1")
        super().close()


def counts_first(*given: Any, **named: Any) -> Store:
    """Open a store that notes the count beside the database before the commit."""
    store = Store.open(*given, **named)
    waiting = store.served._waiting  # noqa: SLF001 - a part of each commit
    write = waiting.write

    def count_and_write(connection: Any) -> int:
        taken = write(connection)
        count = connection.execute(_COUNT).fetchone()[0]
        path = store.integrity.count_file()
        with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
            file.write(b"%020d\n" % count)
        return taken

    waiting.write = count_and_write  # type: ignore[method-assign]
    return store


def closes_in_two(*given: Any, **named: Any) -> Store:
    """Open a store in which the event of a run's close follows in a transaction of its own."""
    store = Store.open(*given, **named)
    change_all = store.runs.change_all

    def change_first(
        changes: Any,
        expected: Any,
        event: Event | None = None,
    ) -> Any:
        changed = change_all(changes, expected)
        if event is not None:
            when = datetime.fromisoformat(event.utc)
            store.log.append_all(event.run, [(when, event.kind, dict(event.detail))])
        return changed

    store.runs.change_all = change_first  # type: ignore[method-assign]
    return store


def two_transactions(*given: Any, **named: Any) -> Store:
    """Open a store in which the rows of a large body follow in a transaction of their own."""
    store = Store.open(*given, **named)
    append_post = store.posts.append_post

    def append_first(run: int, post: NewPost) -> Post:
        if not isinstance(post.taken, np.ndarray) or len(post.taken) < 1000:
            return append_post(run, post)
        stored = append_post(run, post._replace(taken=post.taken[:1000]))
        with store.database.transaction() as connection:
            connection.execute(
                "UPDATE posts SET rows = ? WHERE id = (SELECT max(id) FROM posts)",
                (post.taken.tobytes(),),
            )
        return stored

    store.posts.append_post = append_first  # type: ignore[method-assign]
    return store


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"store": not_durable}, "lost"),
        ({"forgets": JOURNAL}, "lost"),
        ({"connection": AnswersFirst}, "lost"),
        ({"store": counts_first}, "lacks the last"),
        ({"forgets": "-wal"}, "lost"),
        ({"forgets": "contest.db"}, ""),
    ],
    ids=[
        "synchronous=NORMAL without a journal",
        "journal not synced",
        "answer before commit",
        "count before commit",
        "log not synced",
        "database not synced",
    ],
)
def test_a_store_that_would_lose_something_is_caught(
    place: Path,
    how: dict[str, Any],
    what: str,
) -> None:
    # Which would hide what the others lose.
    how["journaled"] = how.get("forgets") == JOURNAL
    examined = examine(
        recorded(place, **how),
        place / "left",
        seed=1,
        ways=4,
        of=3,
        enough=1,
    )
    assert what in examined.faults[0]


@pytest.mark.parametrize("store", [two_transactions, closes_in_two])
def test_what_is_stored_in_two_transactions_is_caught(
    place: Path,
    store: Callable[..., Store],
) -> None:
    assert recorded(place, store=store).faults()


class OnceAtStart(Clock):
    """A clock that stands still, for what waits once."""

    waits = 0

    def utc(self) -> datetime:
        return START

    def wait(self, event: threading.Event, until_s: float) -> bool:
        self.waits += 1
        return self.waits > 1


ACTS: dict[str, Callable[[Contest], None]] = {
    "board-freeze": lambda contest: Publisher(contest, OnceAtStart()).tick(),
    "backup": lambda contest: make_copies(contest, OnceAtStart(), threading.Event()),
}


@pytest.mark.parametrize("kind", ACTS)
def test_an_event_of_the_process_that_publishes_is_on_disk_when_it_can_be_seen(
    place: Path,
    kind: str,
) -> None:
    settings = config_text(synthesize(place / "set", images=1), freeze_at=START)
    settings = settings.replace(
        "[[stations]]",
        '[backup]\nfolder = "nowhere"\n[[stations]]',
        1,
    )
    create_contest(place / "day", settings)
    with open_contest(place / "day") as contest:
        # Which does not change.
        contest.store.published.publish(
            empty_board(contest),
            public_hall(contest, START),
            START,
        )
    with (
        recording.recorded(place / "day") as journal,
        open_contest(place / "day") as contest,
    ):
        contest.store.forgo_durability()
        ACTS[kind](contest)
        seen = len(journal.steps)
        assert contest.store.log.newest_after(0, 9)[1][0]["kind"] == kind
        disk = next(disk for number, disk in journal.disks() if number == seen)
        left = disk.left([])
    lay(left, place / "left")
    with closing(Store.open(place / "left" / DATABASE_NAME)) as store:
        assert store.log.newest_after(0, 9)[1][0]["kind"] == kind
