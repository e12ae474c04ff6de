"""Opens what a power cut may leave of a recorded contest, as the next start does, and says what is wrong with it."""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from referee.errors import RefereeError
from referee.store import DATABASE_NAME, Store
from referee.store.hash_links import (
    LOG_START,
    event_digest,
    log_link,
    receipt_link,
    run_start,
)
from referee.store.records import RUN_CLOSED
from tests.powercut.contest import Recording, content
from tests.referee.factories import START


@dataclass
class Examined:
    """How many different states of the disk were opened, and every fault, one sentence each."""

    states: int = 0
    lost: int = 0
    faults: list[str] = field(default_factory=list)


def examine(
    recording: Recording,
    place: Path,
    seed: int,
    ways: float,
    *,
    part: int = 0,
    of: int = 1,
    enough: int | None = None,
) -> Examined:
    """Cut the power before every step (of `of` parts of them, in one), up to 2 + `ways` ways each, on average.

    Ends early once it has found `enough` faults.
    """
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    examined = Examined()
    found: dict[int, str] = {}  # by the next start, by what is on the disk
    known: dict[int, str] = {}
    told = set[str]()
    answers = [*recording.answers]
    for number, disk in recording.journal.disks():
        while answers and answers[0][0] <= number:
            told.update(answers.pop(0)[1])
        if not told or number % of != part:
            continue
        for kept in disk.cuts(rng, int(ways) + (rng.random() < ways % 1)):
            files = disk.left(kept)
            state = hash(frozenset(files.items()))
            if state not in found:
                found[state] = _found(files, place, rng, known)
            _judge(recording, found[state], told, number, examined)
            examined.states = len(found)
            if enough is not None and len(examined.faults) >= enough:
                return examined
    return examined


def _judge(
    recording: Recording,
    found: str,
    told: set[str],
    number: int,
    examined: Examined,
) -> None:
    if found not in recording.commits:
        examined.faults.append(f"step {number}: {found}")
        return
    there = recording.commits[found]
    if lost := sorted(one for one in told if not there[one]):
        examined.lost += len(lost)
        examined.faults.append(f"step {number}: lost {lost}")


def _found(
    files: dict[str, bytes],
    place: Path,
    rng: random.Random,
    known: dict[int, str],
) -> str:
    """The digest of what the database holds, or what is wrong with it; `known` has that of what a close has left."""
    lay(files, place)
    database = place / DATABASE_NAME
    # Never synced, and mapped into memory: anything may be in it.
    if rng.random() < 0.5:
        database.with_name(f"{DATABASE_NAME}-shm").write_bytes(rng.randbytes(32768))
    try:
        with closing(Store.open(database)) as store:
            store.integrity.require_complete()
        # All of it is in the one file.
        assert not database.with_name(f"{DATABASE_NAME}-wal").exists()
        left = hash(database.read_bytes())
        if left not in known:
            with closing(Store.open(database)) as store:
                store.integrity.require_sound()
                _require_chains(store)
                known[left] = content(store.database.rows)
        if rng.random() < 0.02:  # and the contest goes on
            with closing(Store.open(database)) as store:
                store.log.append(START, None, "later")
                store.integrity.note_count()
                assert content(store.database.rows) != known[left]
        return known[left]
    except (RefereeError, sqlite3.Error) as error:
        return f"{type(error).__name__}: {error}"


def _require_chains(store: Store) -> None:
    """Every receipt's link follows from the one before, every event's too; a close binds what the run has."""
    number, _, head = store.log.head()
    link = LOG_START
    for event in store.database.rows(
        "SELECT utc, run, kind, detail, link FROM events ORDER BY id"
    ):
        link = log_link(link, event_digest(*tuple(event)[:4]))
        assert link == event["link"]
    assert (number == 0) or link.hex() == head
    for run in store.runs.find():
        link = run_start(
            "0123456789ab",
            run.id,
            run.nonce,
            run.team,
            run.testset_digest,
            None,
        )
        posts = store.database.rows(
            "SELECT * FROM posts WHERE run = ? ORDER BY id",
            run.id,
        )
        for at, post in enumerate(posts, start=1):
            assert post["number"] == at
            assert post["previous"] == link
            values = (post["received_utc"], post["row_count"], post["received_total"])
            of_meter = (post["readings"], post["meter"])
            link = receipt_link(
                link,
                at,
                hashlib.sha256(post["body"]).hexdigest(),
                *values,
                *of_meter,
            )
        evidence = store.closings.evidence(run.id)
        assert evidence["posts"] == len(posts)
        assert evidence["head"] == link.hex()
        closes = [
            event for event in store.log.of_run(run.id) if event["kind"] == RUN_CLOSED
        ]
        assert [event | evidence for event in closes] == closes
        assert len(closes) == (run.closed_utc is not None)


def held(database: Path) -> str:
    """The digest of what a database holds."""
    with closing(sqlite3.connect(database)) as connection:
        return content(lambda sql: connection.execute(sql).fetchall())


def lay(files: dict[str, bytes], place: Path) -> None:
    """Make the folder hold these files and nothing else."""
    shutil.rmtree(place, ignore_errors=True)
    for parent in {(place / path).parent for path in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for path, held in files.items():
        (place / path).write_bytes(held)
