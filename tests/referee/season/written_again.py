"""What somebody can do who may write to a contest's folder: the log written again, so that its chain holds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from referee.contest import open_contest
from referee.store import DATABASE_NAME
from referee.store.hash_links import (
    LOG_START,
    event_digest,
    log_link,
    receipt_link,
    run_start,
)

_LATEST = "SELECT map, energy_wh, score, signature FROM scores WHERE run = ? ORDER BY id DESC LIMIT 1"
_POSTS = (
    "SELECT number, sha256, received_utc, row_count, received_total, readings, meter, id FROM posts"
    " WHERE run = ? ORDER BY id"
)


def write_log_again(folder: Path) -> None:
    """Let the last judgement in the log say what the database says now, and give each event the link it needs."""
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database, database:
        database.row_factory = sqlite3.Row
        events = [
            dict(row) for row in database.execute("SELECT * FROM events ORDER BY id")
        ]
        last_of_run = {
            event["run"]: event["id"] for event in events if event["kind"] == "judged"
        }
        link = LOG_START
        for event in events:
            if last_of_run.get(event["run"]) == event["id"]:
                figures = dict(database.execute(_LATEST, (event["run"],)).fetchone())
                event["detail"] = json.dumps(json.loads(event["detail"]) | figures)
            digest = event_digest(
                event["utc"],
                event["run"],
                event["kind"],
                event["detail"],
            )
            link = log_link(link, digest)
            changed = (event["detail"], link, event["id"])
            database.execute(
                "UPDATE events SET detail = ?, link = ? WHERE id = ?",
                changed,
            )


def follow_their_run(folder: Path) -> None:
    """Let the bodies of each run follow its link as it is now, as if they came after its rules were bound."""
    with open_contest(folder) as contest:
        store = contest.store
        first_id = store.identity.first_id()
        runs = store.runs.find()
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database, database:
        for run in runs:
            rules = None if run.rules is None else run.rules.sha256
            link = run_start(
                first_id,
                run.id,
                run.nonce,
                run.team,
                run.testset_digest,
                rules,
            )
            posts = database.execute(_POSTS, (run.id,)).fetchall()
            for number, *of_post, post in posts:
                database.execute(
                    "UPDATE posts SET previous = ? WHERE id = ?",
                    (link, post),
                )
                link = receipt_link(link, number, *of_post)
