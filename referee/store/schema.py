"""The tables of `contest.db`, and the upgrade of files from earlier versions.

All tables are append-only except for: the columns of `runs` that RunControl changes, teams' passwords, `withdrawn` of
submissions and announcements, `counts` of submissions, the taken-back columns of `publications`, `queue`,
`operator_sessions`, `team_sessions`, `published`, `provisional`, `released` and `replays`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from referee.store.day_tables import DAY_TABLES
from referee.store.schema_upgrades import add_codes, add_totals, join_parts, link_events

if TYPE_CHECKING:
    import sqlite_utils

VERSION = 20
ROWID = "rowid"

# fmt: off
_TABLES: dict[str, tuple[dict[str, type], dict[str, Any]]] = {
    # One row, from the first opening on. The public key is Ed25519, hexadecimal; NULL: of an earlier form.
    # The chains of runs start from the first id, whatever `id` is now; NULL: `id` never changed.
    "contest": ({"id": str, "public_key": str, "first_id": str}, {"pk": "id"}),
    "teams": (
        {"name": str, "password_hash": str, "disabled": int, "created_utc": str, "affiliation": str},
        {"pk": "name", "not_null": {"password_hash", "disabled", "created_utc"}},
    ),
    "runs": (
        {
            "id": int, "team": str, "station": str, "state": str, "armed_utc": str, "testset_digest": str,
            "images": int, "window_s": float, "setup": str,  # lpirc_power.meter.Setup as JSON
            "meter_identity": str, "opened_utc": str,
            "start_s": float, "boot_id": str,  # on the monotonic clock of that boot
            "closed_utc": str, "closed_by": str,  # logout, deadline, operator
            "elapsed_s": float, "energy_wh": float, "integrator_s": float,  # of record: the meter's integrator
            "void_reason": str, "meter_changes": str,  # JSON list: what differed from `setup` at the end
            "idle_power_w": float, "heat": str,  # runs of one heat are opened together
            "meter_standing": str,  # lpirc_power.meter.Standing; NULL: of an earlier form
            "images_digest": str,  # digest of the images without the ground truth; NULL: of an earlier form
            "nonce": str,  # random, because run numbers can recur after a restore; NULL: of an earlier form
            "extra_s": float,  # part of window_s that the operator granted; NULL: none
            "rules": str,  # canonical JSON, bound into its chain; NULL: not bound, up to form 15
        },
        {
            "pk": "id", "foreign_keys": [("team", "teams", "name")],
            "not_null": {"team", "station", "state", "armed_utc", "testset_digest", "images", "window_s"},
        },
    ),
    # In a table of its own, so that listing runs does not read 160 kB for each run.
    "image_orders": ({"run": int, "numbers": bytes}, {"pk": "run"}),
    "posts": (
        {
            "id": int, "run": int, "received_utc": str, "elapsed_s": float, "sha256": str, "idempotency_key": str,
            "row_count": int, "received_total": int,  # rows of the run, including this post
            # Little-endian float64, shape (row_count, 7), with the image numbers that the team uses. Since form 17 it
            # may be empty although rows are counted: the body is then packed and has the rows. In a run of another task
            # than boxes it is empty, and row_count is the number of answers.
            "rows": bytes,
            "refused": int,  # number of refused rows; NULL: none, or of an earlier form
            "number": int, "previous": bytes,  # 1, 2, ... in the run; the former link; NULL: of an earlier form
            "content_type": str, "body": bytes,  # as received; NULL: of an earlier form
            "readings": int, "meter": bytes,  # readings on disk; the last one's link; NULL: rules not bound
        },
        {
            "pk": "id", "foreign_keys": [("run", "runs", "id")],
            "not_null": {"run", "received_utc", "elapsed_s", "sha256", "row_count", "rows"},
        },
    ),
    # Since form 19: the image of each answer of a task other than boxes, by the team's number.
    "answers": ({"run": int, "image": int, "post": int}, {}),
    "refused_rows": ({"run": int, "post": int, "line": int, "reason": str, "text": str}, {}),  # a run's first
    "readings": (
        {
            "run": int, "elapsed_s": float, "utc": str, "voltage_v": float, "current_a": float, "apparent_va": float,
            "power_w": float, "power_factor": float, "energy_wh": float, "integrator_s": float, "state": str,
            "flags": str,  # those of over_range, voltage_peak_over and current_peak_over that are set
            "voltage_range_v": float, "current_range_a": float, "changed": str,  # NULL up to form 8
            "stopped": int,  # NULL up to form 14
        },
        {},
    ),
    "served": ({"run": int, "image": int, "elapsed_s": float, "bytes": int}, {}),
    "events": (
        {"id": int, "utc": str, "run": int, "kind": str, "detail": str, "link": bytes},  # of referee.store.hash_links
        {"pk": "id"},
    ),
    "checks": (
        {"run": int, "score": int, "code": str, "ok": int, "severity": str, "sentence": str, "figures": str},
        {},
    ),
    "scores": (
        {
            "id": int, "run": int, "judged_utc": str, "map": float, "energy_wh": float, "score": float,
            "mean_power_w": float, "images": int, "detections": int, "ap": str, "signature": str,
            "map_ilsvrc_det": float,  # NULL: of an earlier form
            "energy_limit": float, "energy_known_by": str,  # both NULL: no energy; only the second NULL: up to form 14
            "rules": str,  # the rules by which it was judged, as in `runs`; NULL: the run's rules are not bound
            "energy_own_limit": float,  # NULL: no energy, or up to form 15
            "others": str,  # JSON: further figures of a task other than boxes, by name; NULL: boxes
            "energy_budget": str,  # JSON: lpirc_power.energy.Budget.document(); NULL: no energy, or up to form 19
        },
        {"pk": "id"},
    ),
    "intervals": (
        {
            "score": int, "level": float, "resamples": int, "seed": int, "map_low": float, "map_high": float,
            "score_low": float, "score_high": float, "energy_uncertainty": float,
            "map_bias": float, "maps": bytes,  # little-endian float64, shape (resamples,); NULL: of an earlier form
            "method": str,  # NULL: bootstrap, up to form 15, which has none of the following
            "map_spread": float, "other_low": float, "other_high": float, "unlimited_low": float,
            "unlimited_high": float,
        },
        {"pk": "score", "foreign_keys": [("score", "scores", "id")]},
    ),
    # The newest figures of a run that is not judged yet: one row for each run, replaced every second.
    "provisional": (
        {
            "run": int, "utc": str, "map": float, "energy_wh": float, "score": float, "detections": int,
            "pause_s": float,  # NULL: of an earlier form
        },
        {"pk": "run"},
    ),
    # The figures that non-operators see (form 16): one row for each run, replaced twice a minute.
    "released": (
        {
            "run": int, "released_utc": str, "utc": str, "map": float, "energy_wh": float, "score": float,
            "detections": int,
        },
        {"pk": "run"},
    ),
    **DAY_TABLES,
    # The model tracks: submissions accepted for measurement, and their results, at most one for each submission.
    "submissions": (
        {
            "id": int, "accepted_utc": str, "track": str, "team": str, "split": str,  # public, holdout
            "build": str, "model_file": str, "model_sha256": str,  # as the team calls it; the file's under models/
            "testset_digest": str, "counts": int,  # whether it counts towards the team's limit of that UTC day
            "withdrawn": str,  # why it does not count; NULL: it is not withdrawn
            "measured_by": str,  # the party that made its result document; NULL: the organiser, or of an earlier form
            "job": str,  # the job that makes its result; NULL: the result was made at the submission
            # Both NULL: it is not withdrawn, it could not be measured, or it was withdrawn in an earlier form.
            "withdrawn_utc": str, "withdrawn_by": str,
            "limit_day": str,  # the UTC day whose limit it counts towards; NULL: that of accepted_utc
        },
        {
            "pk": "id", "foreign_keys": [("team", "teams", "name")],
            "not_null": {
                "accepted_utc", "track", "team", "split", "build", "model_file", "model_sha256", "counts",
            },
        },
    ),
    "measurements": (
        {
            "submission": int, "measured_utc": str, "valid": int, "sentence": str, "device": str, "meter": str,
            "metric": float, "measured": str,  # lpirc_tracks.Measured as JSON; NULL: the model failed
            "figures": str,  # the other numbers of the track's rule, as JSON
            "result": bytes,  # the result document as received, compressed by zlib; NULL: the model failed
            "meter_official": int,  # NULL: no energy, or of an earlier form
            "confined": int,  # NULL: the model failed, or of an earlier form
            "unstable": int,  # 1: to be measured again; NULL: of an earlier form
            "doubt": str,  # why it is in review; NULL: it is not
        },
        {
            "pk": "submission", "foreign_keys": [("submission", "submissions", "id")],
            "not_null": {"measured_utc", "valid", "sentence"},
        },
    ),
    # Files received over HTTP, by their submission on the public images; no row: of an earlier form.
    "uploads": (
        {
            "submission": int, "received_utc": str,  # when its last byte arrived
            "size": int,  # bytes
            "replaces": int,  # the refused upload that it replaces; NULL: none
            "checked_utc": str,  # NULL: the check has not ended
            "problem": str,  # JSON: why the check refused it; NULL: it was not refused
        },
        {
            "pk": "submission", "foreign_keys": [("submission", "submissions", "id")],
            "not_null": {"received_utc", "size"},
        },
    ),
    # The final boards of the model tracks; the newest board of a track is the valid one.
    "publications": (
        {
            "id": int, "track": str, "utc": str, "published_by": str,
            "code": str,  # the hash of the board and its findings
            "document": str,  # JSON
            "taken_back_utc": str, "taken_back": str,  # since when and why it is not shown; NULL: it is shown
        },
        {"pk": "id", "not_null": {"track", "utc", "published_by", "code", "document"}},
    ),
    # Work to compute or measure, each job once: its name is the hash of all inputs that determine the result.
    "jobs": (
        {
            "name": str, "kind": str,  # a value of `JobKind`
            "about": str,  # for people, like: run 12, submission 7
            "state": str,  # waiting, leased, done, failed, cancelled
            "failures": int, "losses": int,  # failures that workers reported; workers that vanished
            "worker": str, "lease_until_utc": str,  # of the newest lease
            "renewals_left": int,  # how often the newest lease may be renewed, since form 17; NULL: no limit
            "reason": str,  # why it failed, or was last given back
            "failed_on": str,  # JSON list of the workers that reported a failure or vanished; since form 17
            "created_utc": str, "ended_utc": str,
        },
        {"pk": "name", "not_null": {"kind", "about", "state", "failures", "losses", "created_utc"}},
    ),
    # The results of scoring jobs, used by each run whose job has the same name; a judgement adds the run's own values.
    "scorings": (
        {
            "name": str, "stem": str,  # the hash of the same inputs without the ground truth
            "utc": str, "figures": str,  # JSON
            "resampled": bytes,  # AP by category and half, little-endian float64; NULL: no resampling
        },
        {"pk": "name", "not_null": {"stem", "utc", "figures"}},
    ),
    # The position that the database has reached in its journal (since form 17): one row, or none without a journal.
    "journal": (
        {"id": int, "seq": int, "link": bytes, "epoch": int, "size": int, "is_behind": int},
        {"pk": "id", "not_null": {"seq", "link", "epoch", "size", "is_behind"}},
    ),
    # Devices that pull work for the model tracks.
    "devices": (
        {
            "name": str, "key_hash": str, "created_utc": str, "seen_utc": str,
            "disabled": str, "disabled_utc": str,  # why it gets no work; since form 17
            "enabled_utc": str,  # the last time it was enabled; earlier measurements are no longer compared
            "meter": str,  # the meter with which it last said that it measures energy, since form 17; NULL: none
        },
        {"pk": "name", "not_null": {"key_hash", "created_utc"}},
    ),
    # Measurements of a track's calibration model by devices (since form 17); without a latency: not measured yet.
    "calibrations": (
        {
            "id": int, "job": str, "device": str, "track": str,
            "model_sha256": str, "model_file": str, "digest": str,  # identifies model and test set
            "utc": str, "measured_utc": str, "latency_ms": float, "accuracy_percent": float,
            "doubt": str,  # why the referee does not trust its answers
            "result": bytes,  # the result document, compressed by zlib
        },
        {"pk": "id", "not_null": {"job", "device", "track", "model_sha256", "model_file", "digest", "utc"}},
    ),
}
# fmt: on
COLUMNS = {
    (name, column) for name, (columns, _) in _TABLES.items() for column in columns
}
_FOUND_BY_RUN = (
    "posts",
    "answers",
    "refused_rows",
    "readings",
    "served",
    "checks",
    "scores",
    "events",
)
# Most posts have no key: they need no index entry, and never repeat another post.
_POSTS_BY_KEY = (
    "CREATE UNIQUE INDEX IF NOT EXISTS posts_by_key ON posts (run, idempotency_key)"
    " WHERE idempotency_key IS NOT NULL"
)

# Without this index, the sum of a run would be read from behind every blob of rows.
_REFUSED_BY_RUN = "CREATE INDEX IF NOT EXISTS posts_refused ON posts (run, refused) WHERE refused IS NOT NULL"


# Up to form 14 this value is only in the figures of a check.
_TAKE_LIMITS = (
    "UPDATE scores SET energy_limit = (SELECT json_extract(figures, '$.uncertainty') FROM checks"
    " WHERE checks.score = scores.id AND code = 'accuracy')"
)

# Up to form 15 only a single submission was withdrawn; its hold-out part still counted, and could win.
_COUNT_AS_BEFORE = "UPDATE submissions SET counts = 0 WHERE withdrawn IS NOT NULL"
_TAKE_WITHDRAWALS = (  # from the log
    "UPDATE submissions SET withdrawn_utc = act.utc, withdrawn_by = act.user FROM (SELECT max(id), utc,"
    " json_extract(detail, '$.user') AS user, json_extract(detail, '$.submission') AS submission FROM events"
    " WHERE kind = 'operator' AND json_valid(detail) AND json_extract(detail, '$.action') = 'model-withdraw'"
    " GROUP BY submission) AS act WHERE submissions.id = act.submission AND withdrawn IS NOT NULL"
)
_WITHDRAW_TWINS = (
    "UPDATE submissions SET withdrawn = public.withdrawn, withdrawn_utc = public.withdrawn_utc,"
    " withdrawn_by = public.withdrawn_by FROM (SELECT max(id), * FROM submissions WHERE split = 'public'"
    " AND model_sha256 <> '' GROUP BY track, team, model_sha256"
    " HAVING count(withdrawn) = count(*) AND count(withdrawn_utc) + count(job) > 0) AS public"
    " WHERE submissions.split = 'holdout' AND submissions.withdrawn IS NULL"
    " AND submissions.track = public.track AND submissions.team = public.team"
    " AND submissions.model_sha256 = public.model_sha256"
)


def create_tables(database: sqlite_utils.Database) -> None:
    """Create missing tables and upgrade those of an earlier version, in the caller's transaction.

    A second call changes nothing.
    """
    for name, (columns, options) in _TABLES.items():
        database.table(name).create(columns, if_not_exists=True, **options)
    for name in _FOUND_BY_RUN:
        database.table(name).create_index(["run"], if_not_exists=True)
    database.table("submissions").create_index(["track", "team"], if_not_exists=True)
    database.table("submissions").create_index(["job"], if_not_exists=True)
    database.table("scorings").create_index(["stem"], if_not_exists=True)
    database.execute(
        "DROP INDEX IF EXISTS idx_posts_run_idempotency_key"
    )  # of every post, up to form 5
    database.execute(_POSTS_BY_KEY)
    add_totals(database)
    lacks_withdrawals = (
        "withdrawn_utc" not in database.table("submissions").columns_dict
    )
    lacks_limits = "energy_limit" not in database.table("scores").columns_dict
    for name in _TABLES:
        _add_columns(database, name)
    if lacks_limits:
        database.execute(_TAKE_LIMITS)
    if lacks_withdrawals:
        for statement in (_COUNT_AS_BEFORE, _TAKE_WITHDRAWALS, _WITHDRAW_TWINS):
            database.execute(statement)
    database.execute(_REFUSED_BY_RUN)
    join_parts(database)
    add_codes(database)
    link_events(database)
    database.execute(f"PRAGMA user_version = {VERSION}")


def insert(table: str, verb: str = "INSERT") -> str:
    """Return the statement that inserts a whole row, given as a dict with a value for each column."""
    columns = _TABLES[table][0]
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"


def columns_of(table: str) -> list[str]:
    """Return the names of a table's columns, in order."""
    return [*_TABLES[table][0]]


def tables() -> list[str]:
    """Return the names of all tables."""
    return [*_TABLES]


def key_of(table: str) -> str:
    """Return the column that identifies a row even after a VACUUM: the primary key, or ROWID if there is none."""
    key: str = _TABLES[table][1].get("pk", ROWID)
    return key


def _add_columns(database: sqlite_utils.Database, name: str) -> None:
    """Add the columns that an earlier version lacks.

    Runs of databases up to version 4 get the setup of their station.
    """
    table = database.table(name)
    (wanted, _) = _TABLES[name]
    present = table.columns_dict
    for column, kind in wanted.items():
        if column not in present:
            table.add_column(column, kind)
