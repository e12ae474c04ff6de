"""The images that were served, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from referee.store.database import Database
from referee.store.rows_csv import csv_of_run
from referee.store.waiting_rows import WaitingRows


class ServedTable:
    """Served images of all runs; append-only.

    They wait in memory for the next commit of this connection, whatever it is of: what was served before a
    POST is on disk with it, and serving an image never waits for the disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting = WaitingRows("served (run, image, elapsed_s, bytes)")
        database.write_along(self._waiting)

    def append(
        self, run: int, images: Sequence[tuple[int, int]], elapsed_s: float
    ) -> None:
        """Log images as served, (number as the team knows it, bytes): on disk with the next commit."""
        self._waiting.add(
            [(run, image, elapsed_s, size_bytes) for image, size_bytes in images]
        )

    def flush(self) -> None:
        """Commit the served images that wait. Raises RefereeError `storage-failed`, and then keeps them."""
        if self._waiting.rows:
            self._database.group.write(lambda _: None)

    def images(self, run: int) -> list[int]:
        """The different images of a run in the log, by the number the team knows them by."""
        rows = self._database.rows(
            "SELECT DISTINCT image FROM served WHERE run = ? ORDER BY image", run
        )
        return [row["image"] for row in rows]

    def in_order(self, run: int) -> list[tuple[int, float]]:
        """Everything that was served in a run, in order: (image as the team knows it, elapsed_s)."""
        sql = "SELECT image, elapsed_s FROM served WHERE run = ? ORDER BY rowid"
        return [
            (row["image"], row["elapsed_s"]) for row in self._database.rows(sql, run)
        ]

    def after(self, run: int, row: int) -> tuple[list[int], int]:
        """The images that were logged after that row of the log (0: all), and the last one's row."""
        sql = (
            "SELECT rowid, image FROM served WHERE run = ? AND rowid > ? ORDER BY rowid"
        )
        rows = self._database.rows(sql, run, row)
        return [one["image"] for one in rows], rows[-1]["rowid"] if rows else row

    def csv(self, run: int) -> bytes:
        """Everything that was served in a run, in the same form."""
        return b"".join(self.csv_parts(run))

    def csv_parts(self, run: int) -> Iterator[bytes]:
        """Yield `csv` in parts."""
        return csv_of_run(self._database, "served", run, {"run"})

    @property
    def waiting(self) -> int:
        """How many served images wait for the next commit."""
        return len(self._waiting.rows)
