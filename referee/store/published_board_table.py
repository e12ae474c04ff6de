"""The public results and the document of the hall's screens, in one row.

While the board is frozen, new results do not replace the public ones; the hall's document is still updated.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.records import BoardState, Published

_COLUMNS = ", ".join(field.name for field in fields(Published))
_PUBLISH = (
    "INSERT INTO published (id, utc, document, state, unveiled) VALUES (1, :utc, :document, 'live', 0)"
    " ON CONFLICT (id) DO UPDATE SET utc = :utc, document = :document WHERE state = 'live'"
)
_PUBLISH_HALL = "UPDATE published SET hall = :hall, hall_utc = :utc"
_FREEZE = (
    "INSERT INTO published (id, utc, document, state, unveiled, frozen_utc)"
    " VALUES (1, :utc, :empty, 'frozen', 0, :utc)"
    " ON CONFLICT (id) DO UPDATE SET state = 'frozen', unveiled = 0, frozen_utc = :utc"
    " WHERE state = 'live'"
)
_UNVEIL = (  # the first call stores the ranking to unveil; after the last step the board is live again
    "UPDATE published SET state = 'unveiling', final = :final WHERE state = 'frozen' AND unveiled = :seen",
    "UPDATE published SET unveiled = unveiled + :places WHERE state = 'unveiling' AND unveiled = :seen",
    "UPDATE published SET state = 'live', unveiled = 0, utc = :utc, document = final, final = NULL,"
    " unveiled_utc = :utc WHERE state = 'unveiling' AND unveiled >= json_array_length(final, '$.ranking')"
    # Prizes are a step of their own, so that the winner is seen before them.
    " + (coalesce(json_array_length(final, '$.prizes'), 0) > 0)",
)
_MARK = (
    "SELECT (SELECT coalesce(max(id), 0) FROM scores) AS scores, (SELECT count(*) FROM intervals) AS intervals,"
    " (SELECT coalesce(max(id), 0) FROM reviews) AS reviews"
)


class PublishedTable:
    """The published results, replaced only while the board is live, and the hall view."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self) -> Published | None:
        """Return the published row, or None if nothing was published yet."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM published")  # noqa: S608 - names from code
        return (
            Published(**(dict(rows[0]) | {"state": BoardState(rows[0]["state"])}))
            if rows
            else None
        )

    def publish(self, document: str | None, hall: str, now: datetime) -> None:
        """Replace the hall view, and the results too unless the board is frozen.

        If `document` is None, the results are not replaced.
        """
        with self._database.transaction() as connection:
            if document is not None:
                connection.execute(
                    _PUBLISH, {"utc": now.isoformat(), "document": document}
                )
            connection.execute(_PUBLISH_HALL, {"utc": now.isoformat(), "hall": hall})

    def freeze(self, now: datetime, empty: str, act: Act | None = None) -> None:
        """Freeze a live board. If nothing was published yet, `empty` becomes the public document."""
        with self._database.transaction() as connection:
            connection.execute(_FREEZE, {"utc": now.isoformat(), "empty": empty})
            put_on_record(connection, act)

    def unveil(
        self, now: datetime, final: str, seen: int, places: int, act: Act | None = None
    ) -> bool:
        """Show `places` more places of the final ranking, if `seen` places are shown now.

        The first call stores `final`, the document whose ranking is unveiled. One step after its last place come its
        prizes, if it has any, and then the board is live again. Returns False, and changes nothing, if another number
        of places is shown.
        """
        values = {
            "utc": now.isoformat(),
            "final": final,
            "places": places,
            "seen": seen,
        }
        with self._database.transaction() as connection:
            is_done = [
                connection.execute(statement, values).rowcount for statement in _UNVEIL
            ][1] == 1
            if is_done:
                put_on_record(connection, act)
        return is_done
