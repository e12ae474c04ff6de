"""The log of served images, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from referee.store.database import Database
from referee.store.rows_csv import csv_of_run
from referee.store.waiting_rows import WaitingRows


class ServedTable:
    """The served images of all runs; append-only.

    New rows wait in memory for the next commit of this connection, whatever it writes. So images served before a POST
    are on disk with it, and serving an image never waits for the disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting = WaitingRows("served (run, image, elapsed_s, bytes)")
        database.write_along(self._waiting)

    def append(
        self, run: int, images: Sequence[tuple[int, int]], elapsed_s: float
    ) -> None:
        """Log images as served, given as (number that the team uses, bytes).

        They are on disk with the next commit.
        """
        self._waiting.add(
            [(run, image, elapsed_s, size_bytes) for image, size_bytes in images]
        )

    def flush(self) -> None:
        """Commit the served images that wait in memory.

        Raises RefereeError `storage-failed`; the images then still wait.
        """
        if self._waiting.rows:
            self._database.group.write(lambda _: None)

    def images(self, run: int) -> list[int]:
        """Return the distinct images of a run in the log, by the number that the team uses."""
        rows = self._database.rows(
            "SELECT DISTINCT image FROM served WHERE run = ? ORDER BY image", run
        )
        return [row["image"] for row in rows]

    def in_order(self, run: int) -> list[tuple[int, float]]:
        """Return (image number that the team uses, elapsed_s) of each served image of a run, in order."""
        sql = "SELECT image, elapsed_s FROM served WHERE run = ? ORDER BY rowid"
        return [
            (row["image"], row["elapsed_s"]) for row in self._database.rows(sql, run)
        ]

    def after(self, run: int, row: int) -> tuple[list[int], int]:
        """Return the images of a run logged after row `row` of the log (0: all), and the number of the last row."""
        sql = (
            "SELECT rowid, image FROM served WHERE run = ? AND rowid > ? ORDER BY rowid"
        )
        rows = self._database.rows(sql, run, row)
        return [one["image"] for one in rows], rows[-1]["rowid"] if rows else row

    def csv(self, run: int) -> bytes:
        """Return every served image of a run as CSV, in order."""
        return b"".join(self.csv_parts(run))

    def csv_parts(self, run: int) -> Iterator[bytes]:
        """Yield the result of `csv` in parts."""
        return csv_of_run(self._database, "served", run, {"run"})

    @property
    def waiting(self) -> int:
        """Return the number of served images that wait for the next commit."""
        return len(self._waiting.rows)
