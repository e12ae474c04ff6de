"""The detections of a run, as they came: one row for each body, its detections as one blob."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from referee.detections.rows import Refused, Taken
from referee.errors import RefereeError
from referee.store.database import Database
from referee.store.group_commit import Job, Statement
from referee.store.records import Post

ROW = np.dtype("<f8")
LEAST_FREE_BYTES = 2**26
"""Of the disk; kept for readings, events and the end of the runs."""
MOST_REFUSED_ROWS = 1000
"""Of a run; its posts count all of them."""

_LAST_TOTAL = "coalesce((SELECT received_total FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1), 0)"
_COLUMNS = "run, received_utc, elapsed_s, sha256, idempotency_key, row_count, refused, rows, received_total"
_ONCE = "ON CONFLICT (run, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
_VALUES = f"(?, ?, ?, ?, ?, ?, ?, ?, ? + {_LAST_TOTAL})"
_INSERT = f"INSERT INTO posts ({_COLUMNS}) VALUES {_VALUES} {_ONCE} RETURNING received_total, id"  # noqa: S608 - constants
_COUNT_REFUSED = "(SELECT count(*) FROM refused_rows WHERE run = ?)"
_REFUSE = f"INSERT INTO refused_rows SELECT ?, ?, ?, ?, ? WHERE {_COUNT_REFUSED} < ?"
_FIND = "SELECT row_count, sha256, received_total FROM posts WHERE run = ? AND idempotency_key = ?"
_ROWS = "SELECT id, rows FROM posts WHERE run = ? AND id > ? ORDER BY id"


class NewPost(NamedTuple):
    """An accepted body: its rows (n, 7) as received, and those refused; when it came, and under which key."""

    taken: Taken
    sha256: str
    idempotency_key: str | None
    elapsed_s: float
    now: datetime


class PostTables(Database):
    """Append-only."""

    def append_post(
        self,
        run: int,
        taken: Taken,
        *,
        sha256: str,
        idempotency_key: str | None,
        elapsed_s: float,
        now: datetime,
    ) -> Post:
        """Commit one accepted body and return its receipt once it is on disk. Raises what `append_posts` does."""
        (stored,) = self.append_posts(run, [NewPost(taken, sha256, idempotency_key, elapsed_s, now)])
        receipt: Post = stored.outcome()
        return receipt

    def append_posts(self, run: int, posts: Sequence[NewPost]) -> Sequence[Job[Statement]]:
        """Commit accepted bodies together; the outcome of each is its receipt, once all are on disk.

        A key that the run has used before changes nothing: the receipt is the first one, its `sha256` that of the
        first body. Raises RefereeError `no-room` when the disk is nearly full; `storage-failed` is an outcome.
        """
        statements = [_insertion(run, post) for post in posts]
        size_bytes = sum(size_bytes for size_bytes, _ in statements)
        disk = os.statvfs(self._folder)
        free_bytes = disk.f_bavail * disk.f_frsize
        if free_bytes < LEAST_FREE_BYTES + size_bytes:
            raise RefereeError(
                "no-room",
                f"The referee's disk has only {free_bytes / 1e6:.1f} MB left, so nothing was taken; tell the operator.",
            )
        return self._group.write_all([statement for _, statement in statements])

    def find_post(self, run: int, idempotency_key: str) -> Post | None:
        """The receipt given for this key, with the total as it was then."""
        rows = self._rows(_FIND, run, idempotency_key)
        return _post(rows[0]) if rows else None

    def count_detections(self, run: int) -> int:
        """How many detections of a run are on disk."""
        return int(self._rows(f"SELECT {_LAST_TOTAL} AS n", run)[0]["n"])

    def detections(self, run: int) -> NDArray[np.float64]:
        """All detections of a run in order of arrival, shape (n, 7), image numbers as the team knows them."""
        return self.detections_after(run, 0)[0]

    def post_log(self, run: int) -> list[tuple[float, int]]:
        """The posts of a run in order of arrival: (elapsed_s, rows)."""
        rows = self._rows("SELECT elapsed_s, row_count FROM posts WHERE run = ? ORDER BY id", run)
        return [(row["elapsed_s"], row["row_count"]) for row in rows]

    def detections_after(self, run: int, post: int) -> tuple[NDArray[np.float64], int]:
        """The detections of the posts that came after that one (0: all), as `detections`, and the last post's id."""
        rows = self._rows(_ROWS, run, post)
        packed = b"".join(row["rows"] for row in rows)
        last = int(rows[-1]["id"]) if rows else post
        return np.frombuffer(packed, dtype=ROW).astype(np.float64).reshape(-1, 7), last


def _insertion(run: int, post: NewPost) -> tuple[int, Statement]:
    """The bytes of a body's rows, and what inserts it and returns its receipt."""
    rows, refused = post.taken if isinstance(post.taken, tuple) else (post.taken, Refused())
    packed = rows.astype(ROW, copy=False).tobytes()
    count = len(rows)
    stamp = (run, post.now.isoformat(), post.elapsed_s, post.sha256, post.idempotency_key)
    values = (*stamp, count, refused.total or None, packed, count, run)

    def insert(connection: sqlite3.Connection) -> Post:
        inserted = connection.execute(_INSERT, values).fetchone()
        if inserted is not None:
            for row in refused.first:
                connection.execute(_REFUSE, (run, inserted[1], *row, run, MOST_REFUSED_ROWS))
            return Post(count, post.sha256, inserted[0])
        return _post(connection.execute(_FIND, (run, post.idempotency_key)).fetchone())

    return len(packed), insert


def _post(row: sqlite3.Row) -> Post:
    return Post(row["row_count"], row["sha256"], row["received_total"])
