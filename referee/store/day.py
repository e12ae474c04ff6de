"""The contest day: operators, announcements, the queue, reviews, refusals; and bulk reads for the live status."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from typing import Any

from referee.errors import RefereeError
from referee.store.acts import UNDER_WAY, Act, put_on_record
from referee.store.database import LARGEST_NUMBER, Database
from referee.store.records import Refusal, Review, RunState
from referee.store.schema import insert

MOST_REFUSALS = 5000
"""Of a contest; the oldest ones go."""

_ANNOUNCED = "SELECT id, utc, operator, text FROM announcements WHERE withdrawn_utc IS NULL ORDER BY id DESC"
_GENERATION = "SELECT generation FROM operator_sessions WHERE operator = ?"
_END_SESSIONS = "DELETE FROM operator_sessions WHERE operator = ?"
_REVIEWS = "SELECT run, utc, operator, note, codes FROM reviews WHERE coalesce(?, run) = run ORDER BY id"
_REFUSAL = ", ".join(one.name for one in fields(Refusal))
_POWER = (
    "SELECT avg(elapsed_s) AS elapsed_s, avg(power_w) AS power_w FROM readings WHERE run = ? AND power_w IS NOT NULL"
    " GROUP BY CAST(elapsed_s * ? AS INTEGER) ORDER BY 1"
)


class DayTables(Database):
    """What an operator does beside the runs, on disk before it is answered; and bulk reads for the live status."""

    @contextmanager
    def act(
        self,
        now: datetime,
        run: int | None,
        turns_to: RunState | None,
        **detail: object,
    ) -> Iterator[None]:
        """What this thread changes within is an operator's act: the change and its record are stored, or neither.

        An act that changes nothing here is recorded at the end. `turns_to`: see referee.store.acts; of `detail` what is
        None is left out.
        """
        given = {key: value for key, value in detail.items() if value is not None}
        act = Act(now.isoformat(), given, run, turns_to)
        token = UNDER_WAY.set(act)
        try:
            yield
            if not act.is_stored:
                with self._transaction() as connection:
                    put_on_record(connection, turns_to)
        finally:
            UNDER_WAY.reset(token)

    def add_operator(self, name: str, password_hash: str, now: datetime) -> None:
        """Register an operator. Raises RefereeError `operator-exists`."""
        values = {
            "name": name,
            "password_hash": password_hash,
            "created_utc": now.isoformat(),
        }
        try:
            with self._transaction() as connection:
                connection.execute(insert("operators"), values)
                put_on_record(connection)
        except sqlite3.IntegrityError:
            raise RefereeError(
                "operator-exists",
                f"The operator {name!r} exists already; remove it first for another password.",
            ) from None

    def remove_operator(self, name: str) -> None:
        """Remove an operator, whose sessions end. Raises RefereeError `operator-unknown`."""
        with self._transaction() as connection:
            if not connection.execute(
                "DELETE FROM operators WHERE name = ?", (name,)
            ).rowcount:
                raise RefereeError(
                    "operator-unknown",
                    f"There is no operator {name!r}; see: referee operator list",
                )
            connection.execute(_END_SESSIONS, (name,))
            put_on_record(connection)

    def operators(self) -> dict[str, str]:
        """The password hash of every operator, by name."""
        rows = self._rows("SELECT name, password_hash FROM operators ORDER BY name")
        return {row["name"]: row["password_hash"] for row in rows}

    def begin_session(self, operator: str, drawn: str) -> str:
        """The generation of this operator's sessions: `drawn` at random becomes it if none is valid now."""
        with self._transaction() as connection:
            values = {"operator": operator, "generation": drawn}
            connection.execute(insert("operator_sessions", "INSERT OR IGNORE"), values)
            put_on_record(connection)
            return str(connection.execute(_GENERATION, (operator,)).fetchone()[0])

    def session_generation(self, operator: str) -> str | None:
        """What a valid session of this operator bears; None: it has none."""
        rows = self._rows(_GENERATION, operator)
        return rows[0]["generation"] if rows else None

    def end_sessions(self, operator: str) -> None:
        """End all sessions of this operator, for good: no later generation is the same."""
        with self._transaction() as connection:
            connection.execute(_END_SESSIONS, (operator,))
            put_on_record(connection)

    def announce(self, operator: str, text: str, now: datetime) -> int:
        """Publish an announcement; returns its number."""
        values = {
            "id": None,
            "utc": now.isoformat(),
            "operator": operator,
            "text": text,
            "withdrawn_utc": None,
        }
        with self._transaction() as connection:
            number = int(
                connection.execute(insert("announcements"), values).lastrowid or 0
            )
            put_on_record(connection, announcement=number)
        return number

    def withdraw_announcement(self, number: int, now: datetime) -> None:
        """Withdraw an announcement; it stays on record. Raises RefereeError `announcement-unknown`."""
        sql = "UPDATE announcements SET withdrawn_utc = ? WHERE id = ? AND withdrawn_utc IS NULL"
        with self._transaction() as connection:
            if not connection.execute(
                sql, (now.isoformat(), min(number, LARGEST_NUMBER))
            ).rowcount:
                raise RefereeError(
                    "announcement-unknown",
                    f"There is no announcement {number}, or it is withdrawn already.",
                )
            put_on_record(connection)

    def announcements(self) -> list[dict[str, Any]]:
        """Those that stand, the newest first: id, utc, operator, text."""
        return [dict(row) for row in self._rows(_ANNOUNCED)]

    def queue(self) -> list[str]:
        """The teams that run next, in order; a disabled one keeps its place, which counts when it is enabled."""
        sql = "SELECT team FROM queue JOIN teams ON name = team WHERE NOT disabled ORDER BY position"
        return [row["team"] for row in self._rows(sql)]

    def change_queue(self, change: Callable[[list[str]], list[str]]) -> list[str]:
        """Replace the queue by what `change` makes of it; of several at once, each sees what the others did."""
        with self._transaction() as connection:
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
            put_on_record(connection, before=before, queue=after)
        return after

    def add_review(self, run: int, review: Review) -> None:
        """Keep that an operator let a run in review stand."""
        values = vars(review) | {
            "id": None,
            "run": run,
            "codes": json.dumps(review.codes),
        }
        with self._transaction() as connection:
            connection.execute(insert("reviews"), values)
            put_on_record(connection, codes=review.codes)

    def reviews(self, run: int) -> list[Review]:
        """How a run was let stand, oldest first."""
        return [review for _, review in self._reviews(run)]

    def latest_reviews(self) -> dict[int, Review]:
        """The newest review of every run that has one."""
        return dict(self._reviews(None))

    def _reviews(self, run: int | None) -> list[tuple[int, Review]]:
        rows = self._rows(_REVIEWS, run)
        return [
            (
                r["run"],
                Review(
                    r["operator"], r["note"], r["utc"], tuple(json.loads(r["codes"]))
                ),
            )
            for r in rows
        ]

    def keep_refusals(
        self, refusals: Iterable[tuple[int | None, Refusal]]
    ) -> list[int]:
        """Store refusals, each in place of an earlier row if one is named; returns their rows."""
        kept = []
        with self._transaction() as connection:
            for number, refusal in refusals:
                values = vars(refusal) | {"id": number}
                row = connection.execute(
                    insert("refusals", "INSERT OR REPLACE"), values
                ).lastrowid
                kept.append(int(row or 0))
            connection.execute(
                "DELETE FROM refusals WHERE id <= ?",
                (max(kept, default=0) - MOST_REFUSALS,),
            )
        return kept

    def refusals(self, most: int) -> tuple[Refusal, ...]:
        """The newest refusals, by when they began to be refused: the clock may have been set back."""
        query = f"SELECT {_REFUSAL} FROM refusals ORDER BY id DESC LIMIT ?"  # noqa: S608 - a constant
        rows = self._rows(query, most)
        return tuple(Refusal(*row) for row in rows)

    def events_after(self, number: int, most: int) -> tuple[int, list[dict[str, Any]]]:
        """The last event's number, and the newest that came after that one: utc, run, kind, detail."""
        sql = "SELECT id, utc, run, kind, detail FROM events WHERE id > ? ORDER BY id DESC LIMIT ?"
        rows = self._rows(sql, number, most)
        found = [
            {"utc": utc, "run": run, "kind": kind, "detail": json.loads(detail)}
            for _, utc, run, kind, detail in rows
        ]
        return (rows[0]["id"] if rows else number), found

    def affiliations(self) -> dict[str, str | None]:
        """The affiliation of every team."""
        return {
            row["name"]: row["affiliation"]
            for row in self._rows("SELECT name, affiliation FROM teams")
        }

    def power_course(
        self, run: int, window_s: float, most: int
    ) -> tuple[Sequence[float], Sequence[float]]:
        """(elapsed_s, power_w) of a run: means over equal parts of its window, at most `most` of them."""
        rows = self._rows(_POWER, run, most / window_s)[:most]
        return [row["elapsed_s"] for row in rows], [row["power_w"] for row in rows]
