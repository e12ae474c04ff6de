"""The detections of a run, as they came: one row a body, its detections as one blob."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.store.database import Database
from referee.store.group_commit import PREPARING
from referee.store.records import Post
from referee.store.room import Room

ROW = np.dtype("<f8")
ROW_BYTES = 7 * ROW.itemsize
_COLUMNS = "run, received_utc, elapsed_s, sha256, idempotency_key, row_count, rows, received_total"
_INSERT = f"INSERT INTO posts ({_COLUMNS}) VALUES "  # noqa: S608 - constant column names
_LAST_TOTAL = "coalesce((SELECT received_total FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1), 0)"
_INSERT_ONE = (
    f"{_INSERT} (?, ?, ?, ?, ?, ?, ?, ? + {_LAST_TOTAL})"
    " ON CONFLICT (run, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
)
_ROWS = "SELECT id, rows FROM posts WHERE run = ? AND id > ? ORDER BY id"
_FIND = "SELECT row_count, sha256, received_total FROM posts WHERE run = ? AND idempotency_key = ?"


@dataclass
class _NewPost:
    """A body to be stored: the first columns of its row, and what is made of it before it is written."""

    run: int
    received_utc: str
    elapsed_s: float
    sha256: str
    idempotency_key: str | None
    count: int = 0
    packed: bytes = b""

    def pack(self, rows: NDArray[np.float64]) -> None:
        """Keep the rows as they are stored."""
        self.count, self.packed = len(rows), rows.astype(ROW, copy=False).tobytes()

    def values(self, total: int) -> tuple[object, ...]:
        """The row, with the run's `total` after it."""
        told = (self.run, self.received_utc, self.elapsed_s, self.sha256, self.idempotency_key)
        return (*told, self.count, self.packed, total)

    def __call__(self, connection: sqlite3.Connection) -> Post | None:
        """Insert it; gives the receipt of the earlier body with its key, None when there is none."""
        if connection.execute(_INSERT_ONE, (*self.values(self.count), self.run)).rowcount:
            return None
        return _post(connection.execute(_FIND, (self.run, self.idempotency_key)).fetchone())


class PostTables(Database):
    """Append-only; who asks for the total of a run is its only writer, so that it is counted once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._totals: dict[int, int] = {}
        self._room = Room(lambda: shutil.disk_usage(path.parent).free)

    def append_post(
        self,
        run: int,
        rows: NDArray[np.float64] | Callable[[], NDArray[np.float64]],
        *,
        sha256: str,
        idempotency_key: str | None,
        elapsed_s: float,
        now: datetime,
        unread_bytes: int = 0,
    ) -> Post:
        """Commit one accepted body: `rows` of shape (n, 7), as received. Returns its receipt once it is on disk.

        Rows that have yet to be made, of `unread_bytes` and by a function that does not take long, are made by the
        thread that commits; what that raises is raised here. Raises RefereeError `no-room`.

        A key that the run has used before changes nothing: the receipt is the first one, its `sha256` that of the
        first body.
        """
        self.received_total(run)
        post = _NewPost(run, now.isoformat(), elapsed_s, sha256, idempotency_key)
        if callable(rows):
            return self._append(post, rows, unread_bytes)
        post.pack(rows)  # what takes memory is done before, where it can fail for this body alone
        return self._append(post)

    def _append(
        self, post: _NewPost, rows: Callable[[], NDArray[np.float64]] | None = None, unread_bytes: int = 0
    ) -> Post:
        def make() -> None:
            if rows is not None:
                post.pack(rows())
            self._require_room(post.run, len(post.packed))

        def tell(earlier: Post | None) -> Post:
            if earlier is not None:
                return earlier
            self._totals[post.run] += post.count
            return Post(post.count, post.sha256, self._totals[post.run])

        size_bytes = len(post.packed) + PREPARING * unread_bytes
        as_one = _insert_several if post.idempotency_key is None else None
        return self._group.write(post, tell, size_bytes, make, post.run, as_one)

    def _require_room(self, run: int, more_bytes: int) -> None:
        self._room.require(run, self._totals[run] * ROW_BYTES, more_bytes)

    def received_total(self, run: int) -> int:
        """How many detections of a run are on disk, as this process has counted them: the run's only writer knows."""
        if run not in self._totals:
            self._totals.setdefault(run, self.count_detections(run))
        return self._totals[run]

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

    def detections_after(self, run: int, post: int) -> tuple[NDArray[np.float64], int]:
        """The detections of the posts that came after that one (0: all), as `detections`, and the last post's id."""
        rows = self._rows(_ROWS, run, post)
        packed = b"".join(row["rows"] for row in rows)
        last = int(rows[-1]["id"]) if rows else post
        return np.frombuffer(packed, dtype=ROW).astype(np.float64).reshape(-1, 7), last


def _insert_several(connection: sqlite3.Connection, posts: Sequence[_NewPost]) -> Sequence[None]:
    """Insert posts without a key, in this order."""
    totals: dict[int, int] = {}
    values: list[object] = []
    for post in posts:
        if post.run not in totals:
            totals[post.run] = connection.execute(f"SELECT {_LAST_TOTAL}", (post.run,)).fetchone()[0]
        totals[post.run] += post.count
        values += post.values(totals[post.run])
    connection.execute(_INSERT + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(posts)), values)
    return [None] * len(posts)


def _post(row: sqlite3.Row) -> Post:
    return Post(row["row_count"], row["sha256"], row["received_total"])
