"""The contest's log of events."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.event_chain import RESTORED, LoggedEvent, append_event
from referee.store.hash_links import LOG_START
from referee.store.records import (
    SETTINGS,
)

_SETTINGS = (
    "SELECT detail FROM events WHERE kind = ? AND json_extract(detail, '$.values') IS NOT NULL"
    " ORDER BY id DESC LIMIT 1"
)
_TASK_PACKAGE = (
    "SELECT json_extract(detail, '$.task.package') AS package FROM events WHERE kind = ?"
    " AND json_extract(detail, '$.task.name') = ? ORDER BY id DESC LIMIT 1"
)
_SETTINGS_ACT = (
    "SELECT detail FROM events WHERE kind = 'operator'"
    " AND json_extract(detail, '$.action') IN ('settings', 'settings-not-written') ORDER BY id DESC LIMIT 1"
)
_QUEUE_ACT = (
    "SELECT detail FROM events WHERE kind = 'operator' AND json_extract(detail, '$.queue') IS NOT NULL"
    " ORDER BY id DESC LIMIT 1"
)
_ACTS = (
    "SELECT detail FROM events WHERE kind = 'operator' AND json_extract(detail, '$.action') = ?"
    " ORDER BY id"
)
_LOG = (  # whoever has changed it may have stored another type
    "SELECT id, coalesce(CAST(utc AS TEXT), '') AS utc, run, coalesce(CAST(kind AS TEXT), '') AS kind,"
    " coalesce(CAST(detail AS TEXT), '') AS detail, coalesce(CAST(link AS BLOB), x'') AS link"
    " FROM events WHERE id > ? ORDER BY id LIMIT ?"
)
_LINKS = "SELECT link FROM events WHERE id > ? AND id <= ? ORDER BY id"
_NEWS = "SELECT 1 FROM events WHERE utc >= ? AND kind <> ? LIMIT 1"
_EVENTS_AT_ONCE = 1000
_LOG_BEFORE = (
    "SELECT max(id) AS id, count(*) AS events, link FROM events"
    " WHERE id < (SELECT min(id) FROM events WHERE run = ?)"
)


class EventTable:
    """Events of the contest and its runs; append-only, chained."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def head(self) -> tuple[int, str, str]:
        """Return the number of events, and the time and link (hexadecimal) of the newest one."""
        rows = self._database.rows(
            "SELECT id, utc, link FROM events ORDER BY id DESC LIMIT 1"
        )
        return (
            (rows[0]["id"], rows[0]["utc"], rows[0]["link"].hex())
            if rows
            else (0, "", LOG_START.hex())
        )

    def has_news_since(self, since: datetime) -> bool:
        """Return True if an event is on record at or after `since`, other than that the database was restored."""
        utc = since.astimezone(UTC).isoformat()
        return bool(self._database.rows(_NEWS, utc, RESTORED))

    def links(self, after: int, upto: int) -> bytes:
        """Return the links of the events after event `after` up to event `upto`, 32 bytes each."""
        rows = self._database.rows(_LINKS, after, upto)
        return b"".join(row["link"] for row in rows)

    def after(self, number: int) -> Iterator[LoggedEvent]:
        """Yield the events after event `number`, oldest first."""
        while rows := self._database.rows(_LOG, number, _EVENTS_AT_ONCE):
            yield from (LoggedEvent(*row) for row in rows)
            number = rows[-1]["id"]

    def last_settings(self) -> dict[str, Any] | None:
        """Return the detail of the newest server-start event that recorded all settings; None if there is none."""
        rows = self._database.rows(_SETTINGS, SETTINGS)
        return json.loads(rows[0]["detail"]) if rows else None

    def task_package(self, task: str) -> str | None:
        """Return the package of a task, as `my-tasks 1.2`, that the newest start of a server with it recorded."""
        rows = self._database.rows(_TASK_PACKAGE, SETTINGS, task)
        return rows[0]["package"] if rows else None

    def last_settings_act(self) -> dict[str, Any] | None:
        """Return the detail of the newest change of contest.toml by a page, or of its failure; None without one."""
        rows = self._database.rows(_SETTINGS_ACT)
        return json.loads(rows[0]["detail"]) if rows else None

    def append(
        self, now: datetime, run: int | None, kind: str, **detail: object
    ) -> None:
        """Append to the contest's log of events."""
        self.append_all(run, [(now, kind, detail)])

    def append_all(
        self, run: int | None, events: Sequence[tuple[datetime, str, dict[str, object]]]
    ) -> None:
        """Append several events (time, kind, detail) of a run in one commit."""

        def append(connection: sqlite3.Connection) -> None:
            for when, kind, detail in events:
                append_event(connection, when.isoformat(), run, kind, detail)

        self._database.group.write(append)

    def since(self, run: int) -> tuple[int, bytes, list[LoggedEvent]]:
        """Return the log from a run's first event on, as (number of events before it, link before it, events)."""
        before = self._database.rows(_LOG_BEFORE, run)[0]
        return (
            before["events"],
            before["link"] or LOG_START,
            [*self.after(before["id"] or 0)],
        )

    def of_run(self, run: int) -> list[dict[str, Any]]:
        """Return the events of a run, oldest first."""
        rows = self._database.rows(
            "SELECT utc, kind, detail FROM events WHERE run = ? ORDER BY id", run
        )
        return [
            {"utc": r["utc"], "kind": r["kind"], **json.loads(r["detail"])}
            for r in rows
        ]

    def of_kinds(self, kinds: Sequence[str]) -> dict[int, list[dict[str, Any]]]:
        """Return the events of these kinds by run, in order of run number; each run's events are oldest first."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT utc, run, kind, detail FROM events WHERE kind IN ({marks}) ORDER BY run, id"  # noqa: S608 - only marks
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self._database.rows(sql, *kinds):
            detail = json.loads(row["detail"])
            event = {"utc": row["utc"], "kind": row["kind"], **detail}
            of_run = found.setdefault(row["run"], [])
            of_run.append(event)
        return found

    def last_queue_act(self) -> dict[str, Any] | None:
        """Return the newest act that changed the queue: its `action`, the queue `before`, and `queue` after it."""
        rows = self._database.rows(_QUEUE_ACT)
        return json.loads(rows[0]["detail"]) if rows else None

    def acts_of(self, action: str) -> list[dict[str, Any]]:
        """Return the details of all operators' acts of one kind, oldest first."""
        rows = self._database.rows(_ACTS, action)
        return [json.loads(row["detail"]) for row in rows]

    def newest_after(self, number: int, most: int) -> tuple[int, list[dict[str, Any]]]:
        """Return the newest event's number, and the newest `most` events after event `number`.

        Each event has utc, run, kind and detail.
        """
        sql = "SELECT id, utc, run, kind, detail FROM events WHERE id > ? ORDER BY id DESC LIMIT ?"
        rows = self._database.rows(sql, number, most)
        found = [
            {"utc": utc, "run": run, "kind": kind, "detail": json.loads(detail)}
            for _, utc, run, kind, detail in rows
        ]
        newest = rows[0]["id"] if rows else number
        return newest, found

    @contextmanager
    def act(self, now: datetime, run: int | None, **detail: object) -> Iterator[Act]:
        """Yield an operator's act, for the store method that makes the change and records the act in one transaction.

        If no method recorded the act, it is recorded when the block ends. Values of `detail` that are None are left
        out.
        """
        given = {key: value for key, value in detail.items() if value is not None}
        under_way = Act(now.isoformat(), given, run)
        yield under_way
        if not under_way.is_stored:
            with self._database.transaction() as connection:
                put_on_record(connection, under_way)
