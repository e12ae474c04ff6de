"""One SQLite file per contest: the only module that speaks SQL.

WAL with `synchronous=FULL`: what a method has returned from is on disk. One connection per process, guarded by a
lock, since the web server answers from several threads.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlite_utils
from numpy.typing import NDArray

from power.energy import Check
from power.meter import IntegratorState, Reading
from referee.errors import RefereeError
from referee.records import Post, Run, RunState, Score
from referee.schema import create_tables

DATABASE_NAME = "contest.db"
ROW = np.dtype("<f8")
_RUN_COLUMNS = ", ".join(field.name for field in fields(Run))
_FLAGS = ("over_range", "voltage_peak_over", "current_peak_over")


class Store:
    """The contest's database. Open it with a path, close it when done."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA foreign_keys=ON")
            with self._transaction():
                create_tables(sqlite_utils.Database(self._connection))
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection; the store is of no use afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, self._connection:
                yield self._connection
        except sqlite3.OperationalError as error:
            raise RefereeError(
                "storage-failed",
                f"The contest database cannot be written ({error}); free disk space or rights, then send again.",
            ) from error

    def _rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    # Teams

    def add_team(self, name: str, password_hash: str, now: datetime) -> None:
        """Register a team. Raises RefereeError `team-exists`."""
        try:
            with self._transaction() as connection:
                connection.execute(
                    "INSERT INTO teams (name, password_hash, disabled, created_utc) VALUES (?, ?, 0, ?)",
                    (name, password_hash, now.isoformat()),
                )
        except sqlite3.IntegrityError:
            raise RefereeError("team-exists", f"The team {name!r} exists already.") from None

    def password_hash(self, team: str) -> str | None:
        """The password hash of an enabled team, or None."""
        rows = self._rows("SELECT password_hash FROM teams WHERE name = ? AND NOT disabled", team)
        return str(rows[0]["password_hash"]) if rows else None

    def teams(self) -> dict[str, bool]:
        """Every team by name, with whether it is disabled."""
        return {row["name"]: bool(row["disabled"]) for row in self._rows("SELECT * FROM teams ORDER BY name")}

    def disable_team(self, name: str) -> None:
        """Let a team log in no more. Raises RefereeError `team-unknown`."""
        with self._transaction() as connection:
            changed = connection.execute("UPDATE teams SET disabled = 1 WHERE name = ?", (name,)).rowcount
        if not changed:
            raise RefereeError("team-unknown", f"There is no team {name!r}; see: referee team list")

    # Runs

    def arm_run(self, run: Run, now: datetime) -> Run:
        """Store a new armed run under a new number (`run.id` is ignored) and return it with its number."""
        values = asdict(run) | {"id": None, "state": RunState.ARMED.value, "armed_utc": now.isoformat()}
        with self._transaction() as connection:
            marks = ", ".join("?" * len(values))
            number = connection.execute(
                f"INSERT INTO runs ({_RUN_COLUMNS}) VALUES ({marks})",  # noqa: S608 - constant column names
                tuple(values.values()),
            ).lastrowid
        return self.run(int(number or 0))

    def set_image_order(self, run: int, order: NDArray[np.int64]) -> None:
        """Fix the run's image order, shape (images,), for good."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO image_orders (run, numbers) VALUES (?, ?)", (run, order.astype("<i8").tobytes())
            )

    def image_order(self, run: int) -> NDArray[np.int64]:
        """Test-set numbers in the order in which the team knows them, shape (images,)."""
        rows = self._rows("SELECT numbers FROM image_orders WHERE run = ?", run)
        return np.frombuffer(rows[0]["numbers"], dtype="<i8").astype(np.int64)

    def change_run(self, run: int, expected: Sequence[RunState], **values: object) -> Run:
        """Change columns of a run that is in one of the `expected` states.

        Raises RefereeError `run-state` when it is not: of two that race, one wins.
        """
        sets = ", ".join(f"{column} = ?" for column in values)
        states = ", ".join("?" * len(expected))
        with self._transaction() as connection:
            changed = connection.execute(
                f"UPDATE runs SET {sets} WHERE id = ? AND state IN ({states})",  # noqa: S608 - names from code
                (*values.values(), run, *expected),
            ).rowcount
        found = self.run(run)
        if not changed:
            wanted = " or ".join(expected)
            raise RefereeError("run-state", f"Run {run} is {found.state}; this needs it {wanted}.", run=run)
        return found

    def run(self, number: int) -> Run:
        """One run. Raises RefereeError `run-unknown`."""
        found = self.runs(id=number)
        if not found:
            raise RefereeError("run-unknown", f"There is no run {number}; see: referee run list")
        return found[0]

    def runs(self, state: RunState | None = None, **equals: object) -> list[Run]:
        """The runs, oldest first, all or those in `state` and with the given columns."""
        wanted = equals | ({} if state is None else {"state": state.value})
        where = " AND ".join(f"{column} = ?" for column in wanted) or "1"
        sql = f"SELECT {_RUN_COLUMNS} FROM runs WHERE {where} ORDER BY id"  # noqa: S608 - names from code
        return [_run(row) for row in self._rows(sql, *wanted.values())]

    # Evidence

    def append_post(
        self,
        run: int,
        rows: NDArray[np.float64],
        *,
        sha256: str,
        idempotency_key: str | None,
        elapsed_s: float,
        now: datetime,
    ) -> None:
        """Commit one accepted body: `rows` of shape (n, 7), as received. Returns once it is on disk."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO posts (run, received_utc, elapsed_s, sha256, idempotency_key, row_count, rows)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    run,
                    now.isoformat(),
                    elapsed_s,
                    sha256,
                    idempotency_key,
                    len(rows),
                    rows.astype(ROW).tobytes(),
                ),
            )

    def find_post(self, run: int, idempotency_key: str) -> Post | None:
        """The receipt given for this key, with the total as it was then."""
        rows = self._rows(
            "SELECT row_count, sha256, (SELECT sum(row_count) FROM posts WHERE run = p.run AND id <= p.id) AS total"
            " FROM posts p WHERE run = ? AND idempotency_key = ?",
            run,
            idempotency_key,
        )
        return Post(rows[0]["row_count"], rows[0]["sha256"], rows[0]["total"]) if rows else None

    def count_detections(self, run: int) -> int:
        """How many detections of a run are on disk."""
        return int(self._rows("SELECT total(row_count) AS n FROM posts WHERE run = ?", run)[0]["n"])

    def detections(self, run: int) -> NDArray[np.float64]:
        """All detections of a run in order of arrival, shape (n, 7), image numbers as the team knows them."""
        blobs = [row["rows"] for row in self._rows("SELECT rows FROM posts WHERE run = ? ORDER BY id", run)]
        return np.frombuffer(b"".join(blobs), dtype=ROW).astype(np.float64).reshape(-1, 7)

    def append_readings(self, run: int, start_s: float, readings: Sequence[Reading]) -> None:
        """Store meter readings. SQLite keeps NaN as NULL: a NULL figure is one the meter had no data for."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_reading_values(run, start_s, reading) for reading in readings],
            )

    def readings(self, run: int, start_s: float) -> list[Reading]:
        """The readings of a run in order, their host time moved so that the window starts at `start_s`."""
        rows = self._rows("SELECT * FROM readings WHERE run = ? ORDER BY elapsed_s", run)
        return [_reading(row, start_s) for row in rows]

    def append_served(self, run: int, served: Sequence[tuple[int, float, int]]) -> None:
        """Log served images: (image number as the team knows it, elapsed_s, bytes)."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO served (run, image, elapsed_s, bytes) VALUES (?, ?, ?, ?)",
                [(run, *one) for one in served],
            )

    def served_images(self, run: int) -> list[int]:
        """The different images of a run in the log, by the number the team knows them by."""
        rows = self._rows("SELECT DISTINCT image FROM served WHERE run = ? ORDER BY image", run)
        return [row["image"] for row in rows]

    # Judgement and events

    def add_score(self, score: Score) -> None:
        """Append a judgement with its checks; the latest one of a run counts."""
        with self._transaction() as connection:
            number = connection.execute(
                "INSERT INTO scores (run, judged_utc, map, energy_wh, score, mean_power_w, images, detections,"
                " ap, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(
                        score.run,
                        score.judged_utc,
                        score.map,
                        score.energy_wh,
                        score.score,
                        score.mean_power_w,
                    ),
                    *(score.images, score.detections, json.dumps(score.ap), score.signature),
                ),
            ).lastrowid
            connection.executemany(
                "INSERT INTO checks (run, score, code, ok, severity, sentence, figures) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (score.run, number, c.code, int(c.ok), c.severity, c.sentence, json.dumps(c.figures))
                    for c in score.checks
                ],
            )

    def latest_score(self, run: int) -> Score | None:
        """The judgement of a run that counts, or None before it is judged."""
        rows = self._rows("SELECT * FROM scores WHERE run = ? ORDER BY id DESC LIMIT 1", run)
        if not rows:
            return None
        checks = self._rows("SELECT * FROM checks WHERE score = ? ORDER BY rowid", rows[0]["id"])
        return _score(rows[0], checks)

    def log_event(self, now: datetime, run: int | None, kind: str, **detail: object) -> None:
        """Append to the contest's log of events."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO events (utc, run, kind, detail) VALUES (?, ?, ?, ?)",
                (now.isoformat(), run, kind, json.dumps(detail)),
            )

    def events(self, run: int) -> list[dict[str, Any]]:
        """The events of a run, oldest first."""
        rows = self._rows("SELECT utc, kind, detail FROM events WHERE run = ? ORDER BY id", run)
        return [{"utc": r["utc"], "kind": r["kind"], **json.loads(r["detail"])} for r in rows]


def _run(row: sqlite3.Row) -> Run:
    return Run(**(dict(row) | {"state": RunState(row["state"])}))


def _reading_values(run: int, start_s: float, reading: Reading) -> tuple[object, ...]:
    flags = ",".join(name for name in _FLAGS if getattr(reading, name))
    return (
        *(run, reading.monotonic_s - start_s, reading.utc.isoformat()),
        *(reading.voltage_v, reading.current_a, reading.apparent_va, reading.power_w, reading.power_factor),
        *(reading.energy_wh, reading.integrator_s, reading.state.value, flags),
    )


def _reading(row: sqlite3.Row, start_s: float) -> Reading:
    def figure(name: str) -> float:
        return math.nan if row[name] is None else float(row[name])

    flags = row["flags"].split(",")
    return Reading(
        monotonic_s=start_s + row["elapsed_s"],
        utc=datetime.fromisoformat(row["utc"]),
        voltage_v=figure("voltage_v"),
        current_a=figure("current_a"),
        apparent_va=figure("apparent_va"),
        power_w=figure("power_w"),
        power_factor=figure("power_factor"),
        energy_wh=figure("energy_wh"),
        integrator_s=figure("integrator_s"),
        state=IntegratorState(row["state"]),
        over_range="over_range" in flags,
        voltage_peak_over="voltage_peak_over" in flags,
        current_peak_over="current_peak_over" in flags,
    )


def _score(row: sqlite3.Row, checks: Sequence[sqlite3.Row]) -> Score:
    figures = dict(row) | {
        "ap": {int(category): ap for category, ap in json.loads(row["ap"]).items()},
        "checks": tuple(
            Check(c["code"], bool(c["ok"]), c["severity"], c["sentence"], json.loads(c["figures"]))
            for c in checks
        ),
    }
    del figures["id"]
    return Score(**figures)
