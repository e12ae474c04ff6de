"""The tables of `contest.db`.

Append-only but for the state columns of `runs`, which only RunControl changes, and `provisional`.
"""

from __future__ import annotations

import sqlite3

import sqlite_utils

VERSION = 7
# Most posts carry no key: they need no entry, and none of them repeats another.
_POSTS_BY_KEY = (
    "CREATE UNIQUE INDEX IF NOT EXISTS posts_by_key ON posts (run, idempotency_key)"
    " WHERE idempotency_key IS NOT NULL"
)
# Hardly any post is that of an upload: whoever looks for those need not read the others.
_POSTS_BY_UPLOAD = "CREATE INDEX IF NOT EXISTS posts_by_upload ON posts (upload) WHERE upload IS NOT NULL"


def create_tables(database: sqlite_utils.Database) -> None:
    """Create what is missing; calling it again changes nothing."""
    _create_people_and_runs(database)
    _upgrade_runs(database)
    _create_evidence(database)
    _upgrade_posts(database)
    _create_judgements(database)
    _create_submissions(database)
    database.table("posts").create_index(["run"], if_not_exists=True)
    database.execute("DROP INDEX IF EXISTS idx_posts_run_idempotency_key")  # of every post, up to form 5
    database.execute(_POSTS_BY_KEY)
    database.execute(_POSTS_BY_UPLOAD)
    database.table("parts").create_index(["upload"], if_not_exists=True)
    database.table("submissions").create_index(["track", "team"], if_not_exists=True)
    for table in ("readings", "served", "checks", "scores", "events"):
        database.table(table).create_index(["run"], if_not_exists=True)
    database.execute(f"PRAGMA user_version = {VERSION}")


def is_complete(connection: sqlite3.Connection) -> bool:
    """Whether the tables are those of this program: form 5 once had posts without `received_total`."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    columns = {row["name"] for row in connection.execute("PRAGMA table_info(posts)")}
    return version == VERSION and "received_total" in columns


def _create_people_and_runs(database: sqlite_utils.Database) -> None:
    database.table("teams").create(
        {"name": str, "password_hash": str, "disabled": int, "created_utc": str},
        pk="name",
        not_null={"password_hash", "disabled", "created_utc"},
        if_not_exists=True,
    )
    database.table("runs").create(
        {
            "id": int,
            "team": str,
            "station": str,
            "state": str,
            "armed_utc": str,
            "testset_digest": str,
            "images": int,
            "window_s": float,
            "setup": str,  # power.meter.Setup as JSON
            "meter_identity": str,
            "opened_utc": str,
            "start_s": float,  # monotonic clock of boot `boot_id`
            "boot_id": str,
            "closed_utc": str,
            "closed_by": str,  # logout, deadline, operator
            "elapsed_s": float,
            "energy_wh": float,  # of record: the meter's integrator
            "integrator_s": float,
            "void_reason": str,
            "meter_changes": str,  # JSON list: what differed from `setup` at the end
            "idle_power_w": float,
            "heat": str,  # runs of one heat are opened together
        },
        pk="id",
        not_null={"team", "station", "state", "armed_utc", "testset_digest", "images", "window_s"},
        foreign_keys=[("team", "teams", "name")],
        if_not_exists=True,
    )
    # Kept apart from `runs`, so that listing runs does not read 160 kB a run.
    database.table("image_orders").create({"run": int, "numbers": bytes}, pk="run", if_not_exists=True)


def _upgrade_runs(database: sqlite_utils.Database) -> None:
    """Give runs of an earlier form the columns they lack; their setup was that of the station (`complete_setups`)."""
    runs = database.table("runs")
    wanted = {"setup": str, "meter_changes": str, "idle_power_w": float, "heat": str}
    for name in wanted.keys() - runs.columns_dict.keys():
        runs.add_column(name, wanted[name])


def _create_evidence(database: sqlite_utils.Database) -> None:
    database.table("posts").create(
        {
            "id": int,
            "run": int,
            "received_utc": str,
            "elapsed_s": float,
            "sha256": str,
            "idempotency_key": str,
            "row_count": int,
            "received_total": int,  # rows of the run up to this post, so that nobody adds them up again
            "rows": bytes,  # little-endian float64, shape (row_count, 7), image numbers as the team knows them
            "upload": str,  # of a large body: its rows are the parts of that upload, in order, and `rows` is empty
        },
        pk="id",
        not_null={"run", "received_utc", "elapsed_s", "sha256", "row_count", "rows"},
        foreign_keys=[("run", "runs", "id")],
        if_not_exists=True,
    )
    database.table("parts").create(
        {"id": int, "upload": str, "rows": bytes},
        pk="id",
        not_null={"upload", "rows"},
        if_not_exists=True,
    )
    database.table("readings").create(
        {
            "run": int,
            "elapsed_s": float,
            "utc": str,
            "voltage_v": float,
            "current_a": float,
            "apparent_va": float,
            "power_w": float,
            "power_factor": float,
            "energy_wh": float,
            "integrator_s": float,
            "state": str,
            "flags": str,  # over-range, voltage-peak-over, current-peak-over; no-data and infinite figures by column
        },
        if_not_exists=True,
    )
    database.table("served").create(
        {"run": int, "image": int, "elapsed_s": float, "bytes": int}, if_not_exists=True
    )
    database.table("events").create(
        {"id": int, "utc": str, "run": int, "kind": str, "detail": str}, pk="id", if_not_exists=True
    )


def _upgrade_posts(database: sqlite_utils.Database) -> None:
    """Give posts of an earlier form the total that their receipts told, and where to name an upload."""
    posts = database.table("posts")
    if "upload" not in posts.columns_dict:
        posts.add_column("upload", str)
    if "received_total" in posts.columns_dict:
        return
    database.execute("ALTER TABLE posts ADD COLUMN received_total INTEGER")
    totals = database.execute("SELECT sum(row_count) OVER (PARTITION BY run ORDER BY id), id FROM posts")
    database.conn.executemany("UPDATE posts SET received_total = ? WHERE id = ?", totals.fetchall())


def _create_judgements(database: sqlite_utils.Database) -> None:
    database.table("checks").create(
        {"run": int, "score": int, "code": str, "ok": int, "severity": str, "sentence": str, "figures": str},
        if_not_exists=True,
    )
    database.table("scores").create(
        {
            "id": int,
            "run": int,
            "judged_utc": str,
            "map": float,
            "energy_wh": float,
            "score": float,
            "mean_power_w": float,
            "images": int,
            "detections": int,
            "ap": str,
            "signature": str,
        },
        pk="id",
        if_not_exists=True,
    )
    database.table("intervals").create(
        {
            "score": int,
            "level": float,
            "resamples": int,
            "seed": int,
            "map_low": float,
            "map_high": float,
            "score_low": float,
            "score_high": float,
            "energy_uncertainty": float,
        },
        pk="score",
        foreign_keys=[("score", "scores", "id")],
        if_not_exists=True,
    )
    # The newest figures of a run that is not judged yet: one row a run, made anew each second.
    database.table("provisional").create(
        {"run": int, "utc": str, "map": float, "energy_wh": float, "score": float, "detections": int},
        pk="run",
        if_not_exists=True,
    )


def _create_submissions(database: sqlite_utils.Database) -> None:
    """The model tracks: what was accepted for measurement, and what came of it, at most one row each."""
    database.table("submissions").create(
        {
            "id": int,
            "accepted_utc": str,
            "track": str,
            "team": str,
            "split": str,  # public, holdout
            "build": str,
            "model_file": str,  # as the team calls it; kept under models/ by its SHA-256
            "model_sha256": str,
            "testset_digest": str,
            "counts": int,  # towards the team's limit of that UTC day
            "withdrawn": str,  # why it is worth nothing and counts no more; NULL: it stands
        },
        pk="id",
        not_null={"accepted_utc", "track", "team", "split", "build", "model_file", "model_sha256", "counts"},
        foreign_keys=[("team", "teams", "name")],
        if_not_exists=True,
    )
    database.table("measurements").create(
        {
            "submission": int,
            "measured_utc": str,
            "valid": int,
            "sentence": str,
            "device": str,
            "meter": str,
            "metric": float,
            "measured": str,  # referee.tracks.Measured as JSON; NULL: the model failed
            "figures": str,  # what else the track's rule tells, as JSON
            "result": bytes,  # the result document as received, by zlib; NULL: the model failed
        },
        pk="submission",
        not_null={"measured_utc", "valid", "sentence"},
        foreign_keys=[("submission", "submissions", "id")],
        if_not_exists=True,
    )
