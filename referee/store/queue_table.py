"""The queue of the teams that run next."""

from __future__ import annotations

from collections.abc import Callable

from referee.store.acts import Act, put_on_record
from referee.store.database import Database


class QueueTable:
    """Teams in the order in which they run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def teams(self) -> list[str]:
        """Return the teams that run next, in order.

        A disabled team is left out, but keeps its position for when it is enabled again.
        """
        sql = "SELECT team FROM queue JOIN teams ON name = team WHERE NOT disabled ORDER BY position"
        return [row["team"] for row in self._database.rows(sql)]

    def change(
        self, change: Callable[[list[str]], list[str]], act: Act | None = None
    ) -> list[str]:
        """Replace the queue by the result of `change`, and return it.

        `change` runs in the transaction, so concurrent calls do not overwrite each other.
        """
        with self._database.transaction() as connection:
            before = [
                team
                for (team,) in connection.execute(
                    "SELECT team FROM queue ORDER BY position"
                )
            ]
            after = change(before)
            connection.execute("DELETE FROM queue")
            connection.executemany(
                "INSERT INTO queue (position, team) VALUES (?, ?)",
                enumerate(after, start=1),
            )
            put_on_record(connection, act, before=before, queue=after)
        return after
