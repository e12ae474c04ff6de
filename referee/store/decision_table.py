"""The jury's decisions on judgements: confirmed, published."""

from __future__ import annotations

from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.records import Decision, DecisionKind
from referee.store.schema import insert

# Of the latest judgement alone: a run that is judged again has to be decided again.
_LATEST = (
    "SELECT run, utc, operator, kind FROM decisions"
    " WHERE score IN (SELECT max(id) FROM scores GROUP BY run) ORDER BY id"
)
_OF_RUN = (
    "SELECT utc, operator, kind FROM decisions"
    " WHERE score = (SELECT max(id) FROM scores WHERE run = ?) ORDER BY id"
)
_NEWEST_SCORE = "SELECT max(id) FROM scores WHERE run = ? AND judged_utc = ?"
_IS_LATEST = "SELECT max(id) = ? FROM scores WHERE run = ?"


class DecisionTable:
    """Decisions of the jury; append-only. Each belongs to one judgement of a run."""

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
    ) -> None:
        """Store a decision on the judgement of a run that was made at `judged_utc`.

        Raises RefereeError `judged-again` if the run has a later judgement, and `decided-already` if the judgement has
        this decision: of two people who act at once, one is told so.
        """
        with self._database.transaction() as connection:
            (score,) = connection.execute(_NEWEST_SCORE, (run, judged_utc)).fetchone()
            (is_latest,) = connection.execute(_IS_LATEST, (score, run)).fetchone()
            if not is_latest:
                raise RefereeError(
                    "judged-again",
                    f"Run {run} was judged again meanwhile; look at the new judgement first.",
                    run=run,
                )
            for former in connection.execute(_OF_RUN, (run,)):
                if former["kind"] == kind:
                    raise RefereeError(
                        "decided-already",
                        f"{former['operator']} has {kind} run {run} already.",
                        run=run,
                    )
            values = {
                "id": None,
                "run": run,
                "score": score,
                "utc": now.isoformat(),
                "operator": operator,
                "kind": kind,
            }
            connection.execute(insert("decisions"), values)
            put_on_record(connection, act, judged_utc=judged_utc)

    def latest(self) -> dict[int, list[Decision]]:
        """Return the decisions on the latest judgement of each run, by run number, oldest first."""
        found: dict[int, list[Decision]] = {}
        for row in self._database.rows(_LATEST):
            decision = Decision(row["utc"], row["operator"], DecisionKind(row["kind"]))
            found.setdefault(row["run"], []).append(decision)
        return found
