"""One SQLite file per contest: the only module that speaks SQL.

WAL with `synchronous=FULL`: what a method has returned from is on disk. One connection per process, guarded by a
lock, since the web server answers from several threads.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
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
from referee.records import Post, Provisional, Run, RunState, Score
from referee.schema import VERSION, create_tables

DATABASE_NAME = "contest.db"
LOCK_PATIENCE_S = 30.0  # how long a write waits for another process, such as the judge's, to finish its own
LARGEST_NUMBER = 2**63 - 1
ROW = np.dtype("<f8")
_RUN_COLUMNS = ", ".join(field.name for field in fields(Run))
_FLAGS = ("over_range", "voltage_peak_over", "current_peak_over")


class Store:
    """The contest's database. Open it with a path, close it when done."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        with _failures_told("opened"):
            self._connection = sqlite3.connect(path, check_same_thread=False, timeout=LOCK_PATIENCE_S)
        self._connection.row_factory = sqlite3.Row
        try:
            with _failures_told("opened"):
                self._prepare(path)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, path: Path) -> None:
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA foreign_keys=ON")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise RefereeError(
                "database-version",
                f"{path} was made by a newer version of this program (form {version}, this one knows {VERSION}).",
            )
        if version < VERSION:
            self._connection.execute("PRAGMA journal_mode=WAL")
            # One transaction: of two processes that open a new database, the second waits for the first.
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                create_tables(sqlite_utils.Database(self._connection))

    def close(self) -> None:
        """Close the connection; the store is of no use afterwards."""
        with self._lock:
            self._connection.close()

    def forgo_durability(self) -> None:
        """Let commits of this connection no longer wait for the disk: for what can be computed again.

        Other processes then hardly ever wait for them. What was committed durably stays so: the next durable
        commit takes the earlier ones along, and checkpoints are left to others.
        """
        with _failures_told("opened"), self._lock:
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("PRAGMA wal_autocheckpoint=0")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # One thread at a time: nobody reads through this connection what is not committed yet.
        with _failures_told("written"), self._lock, self._connection:
            yield self._connection

    def _rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with _failures_told("read"), self._lock:
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
        if not _is_storable(team):
            return None
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

    def arm_run(self, run: Run, now: datetime, order: Callable[[int], NDArray[np.int64]]) -> Run:
        """Store a new armed run under a new number (`run.id` is ignored) and return it with its number.

        `order` gives the image order, shape (images,), for that number; it is stored with the run, for good.
        """
        values = asdict(run) | {"id": None, "state": RunState.ARMED.value, "armed_utc": now.isoformat()}
        with self._transaction() as connection:
            marks = ", ".join("?" * len(values))
            number = connection.execute(
                f"INSERT INTO runs ({_RUN_COLUMNS}) VALUES ({marks})",  # noqa: S608 - constant column names
                tuple(values.values()),
            ).lastrowid
            numbers = order(int(number or 0)).astype("<i8").tobytes()
            connection.execute("INSERT INTO image_orders (run, numbers) VALUES (?, ?)", (number, numbers))
        return self.run(int(number or 0))

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
        found = self.runs(id=number) if number <= LARGEST_NUMBER else []
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

    def detections_after(self, run: int, post: int) -> tuple[NDArray[np.float64], int]:
        """The detections of the posts that came after that one (0: all), as `detections`, and the last post's id."""
        rows = self._rows("SELECT id, rows FROM posts WHERE run = ? AND id > ? ORDER BY id", run, post)
        packed = b"".join(row["rows"] for row in rows)
        last = int(rows[-1]["id"]) if rows else post
        return np.frombuffer(packed, dtype=ROW).astype(np.float64).reshape(-1, 7), last

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

    def newest_energy_wh(self, run: int) -> float | None:
        """The energy of the newest reading that carries one."""
        sql = "SELECT energy_wh FROM readings WHERE run = ? AND energy_wh IS NOT NULL ORDER BY rowid DESC LIMIT 1"
        rows = self._rows(sql, run)
        return float(rows[0]["energy_wh"]) if rows else None

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

    def set_provisional(self, provisional: Provisional) -> None:
        """Replace what is known of a run that is not judged yet."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO provisional (run, utc, map, energy_wh, score, detections)"
                " VALUES (:run, :utc, :map, :energy_wh, :score, :detections)",
                asdict(provisional),
            )

    def provisional(self, run: int) -> Provisional | None:
        """Where a run stood when it was last looked at, or None before that."""
        rows = self._rows("SELECT * FROM provisional WHERE run = ?", run)
        return Provisional(**rows[0]) if rows else None

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


@contextmanager
def _failures_told(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # a rule of the tables, told by the caller; a defect of this program
    except sqlite3.Error as error:
        raise RefereeError(
            "storage-failed",
            f"The contest database cannot be {what} ({error}); free disk space or rights, then try again.",
        ) from error


def _is_storable(text: str) -> bool:
    """Whether SQLite can hold it: JSON can name half of a surrogate pair, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
