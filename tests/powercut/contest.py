"""A contest as the store sees it, recorded: what each commit made of the database, and what was answered when."""

from __future__ import annotations

import hashlib
import marshal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy import Check
from lpirc_score.detections.parsed_rows import Refused
from referee.config import CONFIG_NAME
from referee.store import DATABASE_NAME, Event, NewPost, Store
from referee.store.model_records import ModelMeasurement, Submission
from referee.store.records import (
    RUN_CLOSED,
    Post,
    Provisional,
    Review,
    Run,
    RunState,
    Score,
    ScoreInterval,
)
from tests.contest_day import until
from tests.powercut.recording import Connection, Journal, recorded
from tests.referee.factories import START, reading, rows, stored_run
from tests.timeouts import TIMEOUT_S

COMPUTED_AGAIN = ("provisional", "published")
CONFIG = "name = 'Test'\ntestset = 'set'\n[[stations]]\nname = 'one'\nmeter = 'sim:constant:36W'\n"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
STATES = ("armed", "open", "closed", "judged", "void")
LARGE = 1200  # rows: 34 pages with the body as received
POSTS = "SELECT run, idempotency_key, rows, body, number, previous, received_utc, received_total FROM posts"
Query = Callable[[str], Sequence[Any]]


def content(query: Query) -> str:
    """A digest of every row of every table, and of the tables themselves; not of what is computed again anyway."""
    tables = [(None, "SELECT sql FROM sqlite_master")]
    names = [table for (table,) in query(TABLES) if table not in COMPUTED_AGAIN]
    tables += [(table, f"SELECT rowid, * FROM {table}") for table in names]  # noqa: S608
    whole = [(table, [tuple(row) for row in query(sql)]) for table, sql in tables]
    return hashlib.blake2b(marshal.dumps(whole, 2)).hexdigest()


def facts(query: Query) -> Counter[str]:
    """What the database says that somebody may have been told, and how often it says so."""
    found = Counter(
        post_fact(run, key, packed, body, (number, previous.hex(), received_utc, total))
        for run, key, packed, body, number, previous, received_utc, total in query(
            POSTS
        )
    )
    found.update(
        f"reading {run} {at}"
        for run, at in query("SELECT run, elapsed_s FROM readings")
    )
    found.update(
        f"served {run} {image}" for run, image in query("SELECT run, image FROM served")
    )
    found.update(
        f"event {run} {kind} {utc}"
        for run, kind, utc in query("SELECT run, kind, utc FROM events")
    )
    found.update(
        f"score {run} {utc}" for run, utc in query("SELECT run, judged_utc FROM scores")
    )
    found.update(f"check {code}" for (code,) in query("SELECT code FROM checks"))
    for run, state in query("SELECT id, state FROM runs"):
        found.update(f"run {run} {one}" for one in STATES[: STATES.index(state) + 1])
    for table, column in (
        *(
            ("teams", "name"),
            ("operators", "name"),
            ("announcements", "text"),
            ("queue", "team"),
        ),
        *(
            ("submissions", "model_file"),
            ("measurements", "sentence"),
            ("reviews", "note"),
        ),
    ):
        found.update(
            f"{table} {value}"
            for (value,) in query(f"SELECT {column} FROM {table}")  # noqa: S608 - names from code
        )
    return found


def post_fact(
    run: int,
    key: str | None,
    packed: bytes,
    body: bytes,
    receipt: tuple[Any, ...],
) -> str:
    """A body with its receipt: number, previous link, when it came, the run's total."""
    held = hashlib.sha256(packed).hexdigest(), hashlib.sha256(body).hexdigest()
    return f"post {run} {key} {held} {receipt}"


@dataclass
class Recording:
    """The journal of a contest; its database after each commit, by digest; what was answered after which step."""

    journal: Journal
    commits: dict[str, Counter[str]] = field(default_factory=dict)
    answers: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def keep_commit(self, connection: Connection) -> None:
        def query(sql: str) -> Sequence[Any]:
            return connection.execute(sql).fetchall()

        self.commits[content(query)] = facts(query)

    def answered(self, *told: str) -> None:
        """Somebody was told that this is stored: all of it by one commit."""
        self.answers.append((len(self.journal.steps), told))

    def faults(self) -> list[str]:
        """What some commit holds in part, more than once, or without anybody being told of it."""
        told = {fact for _, facts in self.answers for fact in facts}
        found = []
        for number, commit in enumerate(self.commits.values()):
            wrong = {fact for fact, count in commit.items() if count > 1}
            wrong |= {
                fact for fact in commit if fact.startswith("post") and fact not in told
            }
            for _, together in self.answers:
                there = {fact for fact in together if commit[fact]}
                wrong |= there if len(there) < len(together) else set()
            found += [f"commit {number}: {fact}" for fact in sorted(wrong)]
        return found


Make = Callable[..., Store]


def record_contest(
    folder: Path,
    store: Make = Store.open,
    connection: type[Connection] = Connection,
    forgets: str | None = None,
    *,
    journaled: bool = True,
) -> Recording:
    """Record a contest of a few runs in `folder`, with a database of that class, whose disk may forget syncs."""
    if journaled:
        (folder / CONFIG_NAME).write_text(CONFIG)
    kept: list[Recording] = []
    with recorded(
        folder,
        lambda own: kept[0].keep_commit(own),
        connection,
        forgets,
    ) as journal:
        kept.append(Recording(journal))
        _Day(kept[0], folder / DATABASE_NAME, store).play()
    return kept[0]


class _Day:
    """What the server, its publisher and the judge make of a contest, one after the other."""

    def __init__(
        self,
        recording: Recording,
        path: Path,
        store: Make,
    ) -> None:
        self.told = recording.answered
        self.path = path
        self.make = store
        self.minute = 0

    def play(self) -> None:
        self.store = self.make(self.path, create=True)
        self.store.identity.accept("0123456789ab")
        self.store.identity.set_public_key(lambda: "ab" * 32, self.now())
        with closing(self.make(self.path)) as publisher:
            publisher.forgo_durability()
            self.publisher = publisher
            self.first_run()
        self.store.close()
        # The log is gone: it was moved into the database.
        self.store = self.make(self.path)
        self.heat()
        self.models()
        self.operators()
        self.store.integrity.note_count()
        self.store.close()

    def now(self) -> datetime:
        self.minute += 1
        return START + timedelta(minutes=self.minute)

    def post(
        self,
        run: int,
        count: int,
        key: str | None = None,
        refused: Refused | None = None,
    ) -> None:
        self.posts(run, [(count, key)], refused)

    def posts(
        self,
        run: int,
        several: list[tuple[int, str | None]],
        refused: Refused | None = None,
    ) -> None:
        """Bodies that are stored one after the other; together: see `at_once`."""
        sent = [
            rows(count, seed=self.minute + i) for i, (count, _) in enumerate(several)
        ]
        new = [
            new_post(one, key, self.now(), refused)
            for one, (_, key) in zip(sent, several, strict=True)
        ]
        for one in new:
            self.told(_answer(run, one, self.store.posts.append_post(run, one)))

    def read(self, run: int, count: int) -> None:
        made = [reading(60.0 * self.minute + i) for i in range(count)]
        self.minute += 1
        self.store.readings.append(run, 0.0, made)
        self.told(*(f"reading {run} {one.monotonic_s}" for one in made))

    def event(self, run: int | None, kind: str) -> None:
        now = self.now()
        self.store.log.append(now, run, kind, value=1)
        self.told(f"event {run} {kind} {now.isoformat()}")

    def change(
        self,
        expected: RunState,
        runs: Sequence[int],
        **values: object,
    ) -> None:
        self.store.runs.change_all(dict.fromkeys(runs, values), [expected])
        self.told(*(f"run {run} {values['state']}" for run in runs))

    def armed(self, team: str, **values: object) -> Run:
        run = stored_run(self.store, team=team, **values)
        self.told(f"teams {team}")
        self.told(f"run {run.id} armed")
        return run

    def close(self, run: int) -> None:
        utc = self.now().isoformat()
        end = {
            "closed_utc": utc,
            "closed_by": "logout",
            "elapsed_s": 60.0,
            "energy_wh": 0.6,
        }
        self.store.served.flush()
        event = Event(
            utc,
            run,
            RUN_CLOSED,
            {"by": "logout", **self.store.closings.evidence(run)},
        )
        self.store.runs.change_all(
            {run: {"state": "closed", **end}},
            [RunState.OPEN],
            event,
        )
        self.told(f"run {run} closed", f"event {run} closed {utc}")

    def first_run(self) -> None:
        run = self.armed("otters").id
        self.change(
            RunState.ARMED,
            [run],
            state=RunState.OPEN,
            opened_utc=self.now().isoformat(),
        )
        self.store.integrity.watch(START)
        for at in range(12):
            served = [(5 * at + i, 1000) for i in range(5)]
            self.store.served.append(run, served, float(at))
            self.read(run, 3)
            self.post(run, 5 + at, key=f"key-{at}" if at % 2 else None)
            self.told(*(f"served {run} {image}" for image, _ in served))
            self.publish(run)
            if at % 3 == 0:
                self.store.integrity.watch(START)
        self.post(run, LARGE, key="large")
        self.store.integrity.watch(START)
        self.posts(
            run,
            [
                (3, None),
                (LARGE // 5, "second"),
                (1, "third"),
            ],
        )
        self.at_once(run, 5)
        self.post(run, 4, refused=Refused(2, ((1, "form", "a"), (2, "form", "b"))))
        self.close(run)
        self.judge(run)
        self.store.integrity.watch(START)

    def at_once(self, run: int, count: int) -> None:
        """The posts of several threads in one commit: the first one is held up until the others wait."""
        group = self.store.database.group
        leads = threading.Event()
        goes_on = threading.Event()

        def hold(_: object) -> bool:
            leads.set()
            return goes_on.wait(TIMEOUT_S)

        with ThreadPoolExecutor(count + 1) as threads:
            leading = threads.submit(group.write, hold)
            assert leads.wait(TIMEOUT_S)
            sent = []
            for number in range(count):
                sent.append(threads.submit(self._one_of_many, run, number))
                until(lambda: group.waiting == len(sent))
            goes_on.set()
            assert leading.result(TIMEOUT_S)
            self.told(*(one.result(TIMEOUT_S) for one in sent))

    def _one_of_many(self, run: int, number: int) -> str:
        one = new_post(rows(2 + number, seed=1000 + number), f"thread-{number}", START)
        receipt = self.store.posts.append_post(run, one)
        return _answer(run, one, receipt)

    def publish(self, run: int) -> None:
        """By another connection, which does not wait for the disk; nobody is told anything."""
        utc = self.now().isoformat()
        self.publisher.provisional.set(Provisional(run, utc, 0.5, 1.0, 0.5, 10))

    def judge(self, run: int) -> None:
        utc = self.now().isoformat()
        checks = tuple(
            Check(f"check-{run}-{i}", True, "error", "Fine.", {"a": 1.0})
            for i in range(4)
        )
        score = Score(
            run,
            utc,
            0.5,
            0.6,
            0.83,
            36.0,
            5,
            100,
            {1: 0.5, 2: None},
            "s",
            checks,
            None,
            0.4,
        )
        self.store.scores.add(score)
        self.told(f"score {run} {utc}", *(f"check {one.code}" for one in checks))
        self.store.scores.add_interval(
            score,
            ScoreInterval(0.95, 1000, 1, 0.4, 0.6, 0.7, 0.9, 0.001),
            np.ones(1000),
        )
        self.change(RunState.CLOSED, [run], state=RunState.JUDGED)

    def heat(self) -> None:
        both = [self.armed(team, station=team).id for team in ("badgers", "voles")]
        self.change(
            RunState.ARMED,
            both,
            state=RunState.OPEN,
            opened_utc=self.now().isoformat(),
        )
        for at in range(6):
            for run in both:
                self.store.served.append(run, [(at, 2000)], float(at))
                self.read(run, 2)
                self.post(run, 20 * at, key=f"key-{at}")
            self.store.integrity.watch(START)
        for run in both:
            self.close(run)
        self.change(
            RunState.CLOSED,
            both[:1],
            state=RunState.VOID,
            void_reason="The meter fell.",
        )
        self.judge(both[1])

    def models(self) -> None:
        handed_in = Submission(
            0,
            "",
            "ovic",
            "otters",
            "public",
            "b",
            "m.tflite",
            "0" * 64,
            "d" * 64,
            True,
        )
        number = self.store.submissions.accept(handed_in, self.now(), 3).id
        self.told("submissions m.tflite")
        measured = ModelMeasurement(self.now().isoformat(), True, "Measured.")
        self.store.submissions.add_measurement(number, measured, b"{}" * 3000)
        self.told("measurements Measured.")

    def operators(self) -> None:
        self.store.operators.add("ada", "no hash", self.now())
        self.told("operators ada")
        now = self.now()
        with self.store.log.act(now, None, operator="ada", action="announce") as act:
            self.store.announcements.add("ada", "Lunch.", now, act)
        self.told("announcements Lunch.", f"event None operator {now.isoformat()}")
        self.store.queue.change(lambda _: ["voles"])
        self.told("queue voles")
        self.store.reviews.add(1, Review("ada", "It stands.", now.isoformat(), ("a",)))
        self.told("reviews It stands.")


def new_post(
    values: NDArray[np.float64],
    key: str | None,
    now: datetime,
    refused: Refused | None = None,
) -> NewPost:
    body = b"# a comment\n" + values.tobytes()
    taken = (values, refused) if refused else values
    return NewPost(
        taken,
        hashlib.sha256(body).hexdigest(),
        key,
        1.0,
        now,
        "text/plain",
        body,
    )


def _answer(run: int, new: NewPost, receipt: Post) -> str:
    assert receipt.previous is not None
    rows = new.taken[0] if isinstance(new.taken, tuple) else new.taken
    told = (
        receipt.number,
        receipt.previous.hex(),
        receipt.received_utc,
        receipt.received_total,
    )
    return post_fact(run, new.idempotency_key, rows.tobytes(), new.body or b"", told)
