"""Reviews: an operator's reasons for accepting a run that failed a check."""

from __future__ import annotations

import json

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.records import Review
from referee.store.schema import insert

_REVIEWS = "SELECT run, utc, operator, note, codes FROM reviews WHERE coalesce(?, run) = run ORDER BY id"


class ReviewTable:
    """Reviews of runs; append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: int, review: Review, act: Act | None = None) -> None:
        """Store that an operator accepted a run that was in review."""
        values = vars(review) | {
            "id": None,
            "run": run,
            "codes": json.dumps(review.codes),
        }
        with self._database.transaction() as connection:
            connection.execute(insert("reviews"), values)
            put_on_record(connection, act, codes=review.codes)

    def of_run(self, run: int) -> list[Review]:
        """Return the reviews of a run, oldest first."""
        return [review for _, review in self._found(run)]

    def latest(self) -> dict[int, Review]:
        """Return the newest review of each reviewed run, by run number."""
        return dict(self._found(None))

    def _found(self, run: int | None) -> list[tuple[int, Review]]:
        rows = self._database.rows(_REVIEWS, run)
        return [
            (
                r["run"],
                Review(
                    r["operator"], r["note"], r["utc"], tuple(json.loads(r["codes"]))
                ),
            )
            for r in rows
        ]
