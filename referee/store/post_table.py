"""The detections of a run as received: one row of the table for each body, with its detections as one blob."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.bodies import ROW_BYTES, is_packed, unpack
from lpirc_score.detections.parsed_rows import NONE_REFUSED, Taken
from lpirc_score.tasks.taken_answers import TakenAnswers
from referee.errors import RefereeError, StorageFailed
from referee.store.answer_table import AnswerTable, insert_answers
from referee.store.database import Database
from referee.store.hash_links import LOG_START, run_start
from referee.store.meter_chain import MeterChains
from referee.store.new_post import NewPost
from referee.store.records import Post
from referee.store.run_rules import read_rules

ROW = np.dtype("<f8")
LEAST_FREE_BYTES = 2**26
"""Free disk space below which bodies are refused, so that readings, events and the ends of runs still fit."""
MOST_REFUSED_ROWS = 1000
"""Number of refused rows stored for each run; the counts of its posts include all refused rows."""
_LAST_TOTAL = "coalesce((SELECT received_total FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1), 0)"
_RECEIPT = (
    "row_count, sha256, received_total, number, previous, received_utc, readings, meter"
)
_RECEIPT_COLUMNS = _RECEIPT.count(",") + 1
_LAST = f"SELECT {_RECEIPT} FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1"  # noqa: S608 - a constant
_RECEIPTS = f"SELECT {_RECEIPT} FROM posts WHERE run = ? ORDER BY id DESC LIMIT ?"  # noqa: S608 - a constant
_RECEIPTS_AFTER = (
    f"SELECT {_RECEIPT} FROM posts WHERE run = ? ORDER BY id LIMIT ? OFFSET ?"  # noqa: S608 - a constant
)
# These columns lie before `rows` in the file, so reading them does not read any body.
_NEWEST = (
    "SELECT id, received_utc, sha256 FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1"
)
_FIRST_LINK = "SELECT previous FROM posts WHERE run = ? AND previous IS NOT NULL ORDER BY id LIMIT 1"
FIRST_ID = "SELECT coalesce(first_id, id) FROM contest"
_IDENTITY = (
    f"SELECT ({FIRST_ID}), id, nonce, team, testset_digest, rules,"  # noqa: S608 - a constant
    " (SELECT count(*) FROM posts WHERE run = runs.id) AS posts FROM runs WHERE id = ?"
)
_COLUMNS = (
    "run, received_utc, elapsed_s, sha256, idempotency_key, row_count, refused, rows, content_type, body,"
    " received_total, number, previous, readings, meter"
)
_ONCE = (
    "ON CONFLICT (run, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
)
_INSERT = f"INSERT INTO posts ({_COLUMNS}) VALUES (?{', ?' * 14}) {_ONCE}"  # noqa: S608 - constants
_COUNT_REFUSED = "(SELECT count(*) FROM refused_rows WHERE run = ?)"
_REFUSE = f"INSERT INTO refused_rows SELECT ?, ?, ?, ?, ? WHERE {_COUNT_REFUSED} < ?"
_FIND = f"SELECT {_RECEIPT} FROM posts WHERE run = ? AND idempotency_key = ?"  # noqa: S608 - a constant
_BODIES = (
    f"SELECT {_RECEIPT}, id, elapsed_s, content_type, refused, body,"  # noqa: S608 - a constant
    " CASE WHEN body IS NULL THEN rows END AS rows FROM posts WHERE run = ? ORDER BY id"
)
# For a packed body `rows` is empty: the rows are read from the body.
_KEPT = "id, row_count, rows, CASE WHEN row_count > 0 AND length(rows) = 0 THEN body END AS body"
_ROWS = f"SELECT {_KEPT} FROM posts WHERE run = ? AND id > ? ORDER BY id"  # noqa: S608 - constants
_TASK = "SELECT json_extract(rules, '$.task') AS task FROM runs WHERE id = ?"
_LAST_POST = "SELECT coalesce(max(id), ?) AS id FROM posts WHERE run = ?"
_ROWS_OF_POST = f"SELECT {_KEPT} FROM posts WHERE id = ?"  # noqa: S608 - a constant


class _Head(NamedTuple):
    """The state after a run's newest body, which the next body continues.

    `newest` is that body (id, time, SHA-256), `link` its link in the chain, `number` the number of bodies, `total` the
    number of all rows. `is_bound` is True if the chain covers the run's rules; it then covers the readings, too.
    """

    newest: tuple[int, str, str] | None
    link: bytes
    number: int
    total: int
    is_bound: bool


_REFUSED_OF_RUN = "SELECT coalesce(sum(refused), 0) AS n FROM posts WHERE run = ? AND refused IS NOT NULL"
_REFUSED = (
    "SELECT post, received_utc, elapsed_s, line, reason, text FROM refused_rows JOIN posts ON posts.id = post"
    " WHERE refused_rows.run = ? ORDER BY refused_rows.rowid"
)


class PostTable:
    """The bodies of detections and other answers of all runs; append-only."""

    def __init__(
        self, database: Database, meters: MeterChains, answers: AnswerTable
    ) -> None:
        self._database = database
        self._meters = meters
        self._answers = answers
        self._heads: dict[int, _Head] = {}
        self._folder = str(database.folder)

    def append(
        self,
        run: int,
        taken: Taken | TakenAnswers,
        *,
        sha256: str,
        idempotency_key: str | None,
        elapsed_s: float,
        now: datetime,
        content_type: str | None = None,
        body: bytes | None = None,
    ) -> Post:
        """Commit one accepted body and return its receipt once it is on disk. Raises the errors of `append_post`."""
        post = NewPost(
            taken, sha256, idempotency_key, elapsed_s, now, content_type, body
        )
        return self.append_post(run, post)

    def append_post(self, run: int, post: NewPost) -> Post:
        """Commit an accepted body and return its receipt once it is on disk; bodies that wait share one commit.

        If the run has used the idempotency key before, nothing is stored, and the first body's receipt is returned.
        Raises RefereeError `no-room` when the disk is nearly full, `storage-failed`.
        """
        size_bytes, insert = _insertion(self._heads, self._meters, run, post)
        self.require_room(size_bytes)
        return self._database.group.write(insert)

    def require_room(self, size_bytes: int) -> None:
        """Raise RefereeError `no-room` if the disk is nearly full, or would be with `size_bytes` more.

        Also raises `storage-failed` if the folder is gone.
        """
        free_bytes = self.free_bytes()
        if free_bytes < LEAST_FREE_BYTES + size_bytes:
            sentence = (
                f"The referee's disk has only {free_bytes / 1e6:.1f} MB left: nothing is stored, and no window "
                "opens"
            )
            raise RefereeError("no-room", f"{sentence}; tell the operator.")

    def free_bytes(self) -> int:
        """Return the free space of the contest's disk. Raises StorageFailed if the folder is gone."""
        try:
            disk = os.statvfs(self._folder)
        except OSError as error:
            sentence = f"{self._folder} cannot be reached ({error.strerror}), so nothing was stored; tell the operator."
            raise StorageFailed(sentence) from error
        return disk.f_bavail * disk.f_frsize

    def find(self, run: int, idempotency_key: str) -> Post | None:
        """Return the receipt given for this idempotency key, with the run's total at that time; None for a new key."""
        rows = self._database.rows(_FIND, run, idempotency_key)
        return _post(rows[0]) if rows else None

    def receipt_head(self, run: int) -> tuple[int, bytes]:
        """Return the number of a run's bodies, and the newest link of their chain."""
        newest = self._database.rows(_LAST, run)
        if newest and newest[0]["number"] is not None:
            post = _post(newest[0])
            return post.number or 0, post.link

        identity = self._database.rows(_IDENTITY, run)[0]
        start = _start(identity)
        return identity["posts"], start

    def stored_bodies(self, run: int) -> tuple[int, bytes]:
        """Return the number of a run's bodies and the newest link of their chain.

        The link is `b""` if the first body does not continue the run's first link. The links in between are not
        computed again, because that would read every body.
        """
        identity = self._database.rows(_IDENTITY, run)[0]
        bodies = identity["posts"]
        first = self._database.rows(_FIRST_LINK, run)
        if first and first[0]["previous"] != _start(identity):
            return bodies, b""
        _, head = self.receipt_head(run)
        return bodies, head

    def task_of(self, run: int) -> str | None:
        """Return the task that a run answers; None for boxes."""
        rows = self._database.rows(_TASK, run)
        task: str | None = rows[0]["task"] if rows else None
        return task

    def images_after(self, run: int, post: int) -> tuple[NDArray[np.int64], int]:
        """Return the image of each detection or answer in the posts after post `post` (0: all), and the last post's id.

        They are in order of arrival, with the numbers that the team uses.
        """
        if self.task_of(run) is None:
            rows, last = self.detections_after(run, post)
            return rows[:, 0].astype(np.int64), last
        last = int(self._database.rows(_LAST_POST, post, run)[0]["id"])
        return self._answers.after(run, post), last

    def images(self, run: int) -> NDArray[np.int64]:
        """Return the image of each detection or answer of a run, as `images_after` does."""
        return self.images_after(run, 0)[0]

    def count_detections(self, run: int) -> int:
        """Return the number of a run's detections or other answers on disk."""
        return int(self._database.rows(f"SELECT {_LAST_TOTAL} AS n", run)[0]["n"])

    def detections(self, run: int) -> NDArray[np.float64]:
        """Return a run's detections in order of arrival, shape (n, 7), with the image numbers that the team uses.

        Raises RefereeError `other-task` for a run that answers another task than boxes.
        """
        return self.detections_after(run, 0)[0]

    def detections_by_post(self, run: int) -> Iterator[NDArray[np.float64]]:
        """Yield the detections of a run body by body, each in the form of `detections`. Raises as it does."""
        self._require_boxes(run)
        for post in self._database.rows(
            "SELECT id FROM posts WHERE run = ? ORDER BY id", run
        ):
            (row,) = self._database.rows(_ROWS_OF_POST, post["id"])
            yield _detections(row)

    def arrivals(self, run: int) -> list[tuple[float, int]]:
        """Return (elapsed_s, number of rows) of each post of a run, in order of arrival."""
        rows = self._database.rows(
            "SELECT elapsed_s, row_count FROM posts WHERE run = ? ORDER BY id", run
        )
        return [(row["elapsed_s"], row["row_count"]) for row in rows]

    def body_digests(self, run: int) -> list[tuple[str, int, int]]:
        """Return (SHA-256 of the body, rows accepted, rows refused) of each post of a run, in order of arrival."""
        sql = "SELECT sha256, row_count, coalesce(refused, 0) FROM posts WHERE run = ? ORDER BY id"
        return [tuple(row) for row in self._database.rows(sql, run)]

    def bodies(self, run: int) -> list[tuple[dict[str, Any], Post]]:
        """Return a run's posts in order of arrival, each as a dict and its receipt.

        The dict has id, elapsed_s, content_type, refused, and body, or rows if the body was not stored.
        """
        rows = self._database.rows(_BODIES, run)
        return [(dict(row), _post(tuple(row)[:_RECEIPT_COLUMNS])) for row in rows]

    def receipts(self, run: int, most: int = -1) -> list[Post]:
        """Return the receipts of a run's newest `most` posts (-1: of all), the newest first; no body is read."""
        return [_post(row) for row in self._database.rows(_RECEIPTS, run, most)]

    def receipts_after(self, run: int, count: int, most: int) -> list[Post]:
        """Return at most `most` receipts of a run after its first `count`, the oldest first; no body is read."""
        return [
            _post(row) for row in self._database.rows(_RECEIPTS_AFTER, run, most, count)
        ]

    def detections_after(self, run: int, post: int) -> tuple[NDArray[np.float64], int]:
        """Return the detections of the posts after post `post` (0: all posts), and the id of the last post.

        Raises as `detections` does.
        """
        self._require_boxes(run)
        rows = self._database.rows(_ROWS, run, post)
        last = int(rows[-1]["id"]) if rows else post
        found = [_detections(row) for row in rows]
        return (np.concatenate(found) if found else np.empty((0, 7))), last

    def _require_boxes(self, run: int) -> None:
        task = self.task_of(run)
        if task is not None:
            sentence = f"Run {run} answers the task {task}: it has no detections."
            raise RefereeError("other-task", sentence, run=run)

    def count_refused(self, run: int) -> int:
        """Return the number of a run's rows that were refused while the rest of their body was accepted."""
        return int(self._database.rows(_REFUSED_OF_RUN, run)[0]["n"])

    def refused_rows(self, run: int) -> list[dict[str, Any]]:
        """Return the stored refused rows of a run, in order of arrival.

        Each has post, received_utc, elapsed_s, line, reason and text.
        """
        return [dict(row) for row in self._database.rows(_REFUSED, run)]


def _insertion(
    heads: dict[int, _Head], meters: MeterChains, run: int, post: NewPost
) -> tuple[int, Callable[[sqlite3.Connection], Post]]:
    """Return the size in bytes to be stored, and the statement that inserts a body and returns its receipt.

    `heads` caches the heads of the chains, because reading one means reading and hashing a whole body.
    """
    refused = NONE_REFUSED
    answered: Sequence[int] = ()
    taken = post.taken
    if isinstance(taken, TakenAnswers):
        answered = taken.images
        packed = b""
    else:
        if isinstance(taken, tuple):
            taken, refused = taken
        packed = _kept_rows(taken, post)
    count = len(taken)
    received_utc = post.now.isoformat()
    stamp = (run, received_utc, post.elapsed_s, post.sha256, post.idempotency_key)
    content = (count, refused.total or None, packed, post.content_type, post.body)

    def insert(connection: sqlite3.Connection) -> Post:
        _, previous, number, total, is_bound = _head(heads, connection, run)
        meter = meters.head(connection, run) if is_bound else (None, None)
        chained = (total + count, number + 1, previous, *meter)
        inserted = connection.execute(_INSERT, (*stamp, *content, *chained))
        if not inserted.rowcount or inserted.lastrowid is None:
            key = (run, post.idempotency_key)
            first = connection.execute(_FIND, key).fetchone()
            return _post(first)
        if answered:
            insert_answers(connection, run, inserted.lastrowid, answered)
        for row in refused.first:
            connection.execute(
                _REFUSE, (run, inserted.lastrowid, *row, run, MOST_REFUSED_ROWS)
            )
        receipt = Post(
            count,
            post.sha256,
            total + count,
            number + 1,
            previous,
            received_utc,
            *meter,
        )
        newest = (inserted.lastrowid, received_utc, post.sha256)
        heads[run] = _Head(newest, receipt.link, number + 1, total + count, is_bound)
        return receipt

    return len(packed) + len(post.body or b""), insert


def _kept_rows(rows: NDArray[np.float64], post: NewPost) -> bytes:
    """Return the rows as bytes to store; empty if the stored body is packed and holds the same bytes."""
    packed = rows.astype(ROW, copy=False).tobytes()
    body = post.body
    if (
        body is None
        or not is_packed(post.content_type)
        or len(body) != len(rows) * ROW_BYTES
    ):
        return packed
    return b"" if unpack(body).tobytes() == packed else packed


def _detections(row: sqlite3.Row) -> NDArray[np.float64]:
    """Return the detections (n, 7) of a stored post."""
    if row["body"] is not None:
        return unpack(row["body"])
    return np.frombuffer(row["rows"], dtype=ROW).astype(np.float64).reshape(-1, 7)


def _head(heads: dict[int, _Head], connection: sqlite3.Connection, run: int) -> _Head:
    """Return the head of a run's chain: the cached one if the run's newest body is still the same, else one read anew.

    The cached head is stale after a rollback, or after a write of another process.
    """
    row = connection.execute(_NEWEST, (run,)).fetchone()
    remembered = heads.get(run)
    newest = None if row is None else tuple(row)
    if remembered is not None and remembered.newest == newest:
        return remembered

    last = connection.execute(_LAST, (run,)).fetchone()
    total = last["received_total"] if last else 0
    if last is not None and last["previous"] is not None:
        link = _post(last).link
        is_bound = last["meter"] is not None
        return _Head(newest, link, last["number"], total, is_bound)

    found = connection.execute(_IDENTITY, (run,)).fetchone()
    if found is None:  # the post that follows breaks a rule of the tables
        return _Head(None, LOG_START, 0, 0, is_bound=False)
    # If an earlier version received the run's first bodies, its chain begins after them.
    is_bound = found["rules"] is not None
    return _Head(newest, _start(found), found["posts"], total, is_bound)


def _start(identity: sqlite3.Row) -> bytes:
    contest, run, nonce, team, testset_digest, rules_text, _posts = identity
    rules = read_rules(rules_text)
    rules_sha256 = None if rules is None else rules.sha256
    return run_start(contest, run, nonce, team, testset_digest, rules_sha256)


def _post(row: Iterable[Any]) -> Post:
    return Post(*row)
