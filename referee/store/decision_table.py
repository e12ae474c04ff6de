"""The jury's decisions on judgements: confirmed, published."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.records import Decision, DecisionKind, RunState
from referee.store.schema import insert
from referee.store.who_acted import Rows, said_at, who_acted

# A run that is judged or reviewed again has to be decided again.
_LATEST = (
    "SELECT run, utc, operator, kind FROM decisions"
    " WHERE score IN (SELECT max(id) FROM scores GROUP BY run)"
    " AND review IS (SELECT max(id) FROM reviews WHERE reviews.run = decisions.run) ORDER BY id"
)
_OF_JUDGEMENT = "SELECT operator, kind, utc FROM decisions WHERE score = ? AND review IS ? ORDER BY id"
_NEWEST_SCORE = "SELECT id, judged_utc FROM scores WHERE run = ? ORDER BY id DESC"
_NEWEST_REVIEW = "SELECT id, utc FROM reviews WHERE run = ? ORDER BY id DESC"


class DecisionTable:
    """Decisions of the jury; append-only. Each belongs to one judgement of a run and the newest review of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        run: int,
        judged_utc: str,
        kind: DecisionKind,
        operator: str,
        now: datetime,
        act: Act | None = None,
        reviewed_utc: str | None = None,
    ) -> None:
        """Store a decision on the judgement made at `judged_utc`, with the review written at `reviewed_utc`, if any.

        Raises RefereeError `judged-again` if the run has a later judgement or review, and `decided-already` if the
        judgement has this decision, `run-state` if the run is void: of two people who act at once, the second is told
        who was first, and when.
        """
        with self._database.transaction() as connection:
            _require_not_void(connection, run)
            score, latest_utc = _newest(connection, _NEWEST_SCORE, run)
            review, review_utc = _newest(connection, _NEWEST_REVIEW, run)
            if (latest_utc, review_utc) != (judged_utc, reviewed_utc):
                raise RefereeError(
                    "judged-again",
                    f"Run {run} was judged or reviewed again meanwhile; look at it first.",
                    run=run,
                )
            for former in connection.execute(_OF_JUDGEMENT, (score, review)):
                if former["kind"] == kind:
                    raise RefereeError(
                        "decided-already",
                        f"Run {run} is {kind} already, by {said_at(former['operator'], former['utc'])}.",
                        run=run,
                    )
            values = {
                "id": None,
                "run": run,
                "score": score,
                "utc": now.isoformat(),
                "operator": operator,
                "kind": kind,
                "review": review,
            }
            connection.execute(insert("decisions"), values)
            put_on_record(connection, act, judged_utc=judged_utc)

    def latest(self) -> dict[int, list[Decision]]:
        """Return the decisions on the latest judgement of each run, by run number, oldest first.

        A decision from before the run's newest review does not count.
        """
        found: dict[int, list[Decision]] = {}
        for row in self._database.rows(_LATEST):
            decision = Decision(row["utc"], row["operator"], DecisionKind(row["kind"]))
            found.setdefault(row["run"], []).append(decision)
        return found


def _require_not_void(connection: sqlite3.Connection, run: int) -> None:
    found = connection.execute("SELECT state FROM runs WHERE id = ?", (run,)).fetchone()
    if found is None or found["state"] != RunState.VOID:
        return

    def rows(sql: str, *values: object) -> list[sqlite3.Row]:
        return connection.execute(sql, values).fetchall()

    raise RefereeError("run-state", void_sentence(rows, run), run=run)


def void_sentence(rows: Rows, run: int) -> str:
    """Return the sentence for a decision on a void run."""
    by = who_acted(rows, run, "void")
    return f"Run {run} is void, by {by}; nothing of it can be decided unless it is taken back."


def _newest(
    connection: sqlite3.Connection, query: str, run: int
) -> tuple[int | None, str | None]:
    row = connection.execute(query, (run,)).fetchone()
    return (None, None) if row is None else (row[0], row[1])
