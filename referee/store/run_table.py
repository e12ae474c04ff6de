"""The runs of a contest and their image orders."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import Setup
from lpirc_power.meter_standing import Standing
from referee.errors import RefereeError, SessionRefused
from referee.store.acts import Act, put_on_record
from referee.store.database import LARGEST_NUMBER, Database
from referee.store.event_chain import Event, append_event
from referee.store.records import (
    TOOK_OVER,
    Run,
    RunState,
)
from referee.store.run_rules import Rules, read_rules
from referee.store.schema import insert

_RUN_NAMES = [field.name for field in fields(Run)]
_RUN_COLUMNS = ", ".join(_RUN_NAMES)
_HAS_TAKEN_OVER = (
    "SELECT 1 FROM events WHERE kind = ? AND json_extract(detail, '$.epoch') = ?"
)
_LAST_RECORD = (
    "SELECT max(elapsed_s) AS elapsed_s, utc FROM (SELECT run, elapsed_s, utc FROM readings"
    " UNION ALL SELECT run, elapsed_s, received_utc FROM posts)"
    " WHERE run IN (SELECT id FROM runs WHERE opened_utc = ?)"
)


def insert_armed(
    connection: sqlite3.Connection, run: Run, now: datetime, order: NDArray[np.int64]
) -> Run:
    """Insert a new armed run in the caller's transaction, and return it with its number; see `RunTable.arm`."""
    armed = replace(run, state=RunState.ARMED, armed_utc=now.isoformat())
    values = _columns(asdict(armed) | {"id": None, "rules": armed.rules})
    inserted = connection.execute(insert("runs"), values)
    number = int(inserted.lastrowid or 0)
    numbers = order.astype("<i8").tobytes()
    connection.execute(insert("image_orders"), {"run": number, "numbers": numbers})
    connection.execute("DELETE FROM queue WHERE team = ?", (run.team,))
    return replace(armed, id=number)


class RunTable:
    """The runs of all teams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def arm(
        self, run: Run, now: datetime, order: NDArray[np.int64], act: Act | None = None
    ) -> Run:
        """Store a new armed run and return it with its number; `run.id` is ignored.

        `order` is its image order, shape (images,), which every run must have. The team is removed from the queue.
        """
        with self._database.transaction() as connection:
            armed = insert_armed(connection, run, now, order)
            put_on_record(connection, act, run=armed.id)
        return armed

    def image_order(self, run: int) -> NDArray[np.int64]:
        """Return the image order of a run, shape (images,): test-set numbers by the image number that the team uses."""
        rows = self._database.rows(
            "SELECT numbers FROM image_orders WHERE run = ?", run
        )
        return np.frombuffer(rows[0]["numbers"], dtype="<i8").astype(np.int64)

    def change(
        self,
        run: int,
        expected: Sequence[RunState],
        *,
        act: Act | None = None,
        **values: object,
    ) -> Run:
        """Change columns of a run that is in one of the `expected` states, and return the run.

        Raises RefereeError `run-state` if it is in another state, so one of two concurrent calls fails.
        """
        return self.change_all({run: values}, expected, act=act)[0]

    def change_all(
        self,
        changes: Mapping[int, Mapping[str, object]],
        expected: Sequence[RunState],
        event: Event | None = None,
        act: Act | None = None,
    ) -> list[Run]:
        """Change columns of several runs as `change` does, all or none of them, and append `event` if given."""
        states = ", ".join("?" * len(expected))
        with self._database.transaction() as connection:
            for run, values in changes.items():
                sets = ", ".join(f"{column} = ?" for column in values)
                sql = f"UPDATE runs SET {sets} WHERE id = ? AND state IN ({states})"  # noqa: S608 - names from code
                if not connection.execute(
                    sql, (*_columns(values).values(), run, *expected)
                ).rowcount:
                    found = self.get(run).state
                    wanted = " or ".join(expected)
                    raise RefereeError(
                        "run-state",
                        f"Run {run} is {found}; this command needs a run that is {wanted}.",
                        run=run,
                    )
            several: dict[str, Any] = {"runs": [*changes]} if len(changes) > 1 else {}
            put_on_record(connection, act, **several)
            if event is not None:
                append_event(connection, *event)
        return [self.get(run) for run in changes]

    def take_over_open(self, epoch: int, host: str, now: datetime) -> None:
        """Record that this host took over the contest with this epoch, and clear the boot id of open runs.

        Those runs were timed on the boot clock of the former host. A second call for the same epoch changes nothing,
        because the open runs are then timed on the clock of this host.
        """
        with self._database.transaction() as connection:
            if not connection.execute(_HAS_TAKEN_OVER, (TOOK_OVER, epoch)).fetchone():
                connection.execute(
                    "UPDATE runs SET boot_id = NULL WHERE state = ?",
                    (RunState.OPEN.value,),
                )
                append_event(
                    connection,
                    now.isoformat(),
                    None,
                    TOOK_OVER,
                    {"epoch": epoch, "host": host},
                )

    def get(self, number: int) -> Run:
        """Return one run. Raises RefereeError `run-unknown`."""
        found = self.find(id=number) if number <= LARGEST_NUMBER else []
        if not found:
            raise SessionRefused(
                "run-unknown", f"There is no run {number}; see: referee run list"
            )
        return found[0]

    def attempts_used(self) -> dict[str, int]:
        """Return how many runs each team has had or has armed; void runs do not count."""
        sql = "SELECT team, count(*) FROM runs WHERE state != ? GROUP BY team"
        return dict(map(tuple, self._database.rows(sql, RunState.VOID.value)))

    def complete_setups(self, setup: Callable[[str, int], Setup]) -> None:
        """Store the setup of runs of an earlier version. `setup` returns the setup for a station and a window_s."""
        for row in self._database.rows(
            "SELECT id, station, window_s FROM runs WHERE setup IS NULL"
        ):
            made = json.dumps(asdict(setup(row["station"], int(row["window_s"]))))
            with self._database.transaction() as connection:
                connection.execute(
                    "UPDATE runs SET setup = ? WHERE id = ? AND setup IS NULL",
                    (made, row["id"]),
                )

    def complete_images_digests(
        self, testset_digest: str, images_digest: Callable[[], str]
    ) -> None:
        """For runs on this test set, made by an earlier version, store the digest of the images that they lack."""
        where = "WHERE images_digest IS NULL AND testset_digest = ?"
        if self._database.rows(f"SELECT 1 FROM runs {where} LIMIT 1", testset_digest):  # noqa: S608 - a constant
            values = images_digest(), testset_digest
            with self._database.transaction() as connection:
                connection.execute(f"UPDATE runs SET images_digest = ? {where}", values)  # noqa: S608 - a constant

    def find(self, state: RunState | None = None, **equals: object) -> list[Run]:
        """Return the runs in `state` (None: in all states) whose columns have the given values, oldest first."""
        wanted = equals | ({} if state is None else {"state": state.value})
        where = " AND ".join(f"{column} = ?" for column in wanted) or "1"
        sql = f"SELECT {_RUN_COLUMNS} FROM runs WHERE {where} ORDER BY id"  # noqa: S608 - names from code
        return [_run(row) for row in self._database.rows(sql, *wanted.values())]

    def last_record(self, opened_utc: str | None) -> tuple[float, datetime] | None:
        """Return (elapsed_s, UTC) of the last reading or post of the runs opened at `opened_utc`, or None.

        These are all runs of a heat, or a single run.
        """
        found = self._database.rows(_LAST_RECORD, opened_utc)[0]
        return (
            (found["elapsed_s"], datetime.fromisoformat(found["utc"]))
            if found["utc"]
            else None
        )


def _run(row: sqlite3.Row) -> Run:
    return _read_run(tuple(row))


@lru_cache(1024)  # the runs of a day are listed each second, and few of them change
def _read_run(values: tuple[Any, ...]) -> Run:
    row = dict(zip(_RUN_NAMES, values, strict=True))
    changes = row["meter_changes"]
    standing = row["meter_standing"]
    setup = row["setup"]
    read = {
        "state": RunState(row["state"]),
        "setup": Setup(**json.loads(setup))
        if setup
        else Setup(None, None, 0.25, int(row["window_s"])),
        "meter_changes": None if changes is None else tuple(json.loads(changes)),
        "meter_standing": None if standing is None else Standing(standing),
        "rules": read_rules(row["rules"]),
    }
    return Run(**(row | read))


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in their stored form: dicts and tuples as JSON, rules as canonical text."""
    stored = {}
    for key, value in values.items():
        if isinstance(value, Rules):
            stored[key] = value.text
        elif isinstance(value, dict | tuple):
            stored[key] = json.dumps(value)
        else:
            stored[key] = value
    return stored
