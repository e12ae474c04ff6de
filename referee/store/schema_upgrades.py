"""Values that the upgrade of a database from an earlier version computes, in addition to new columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from referee.store.hash_links import LOG_START, event_digest, log_link
from referee.store.records import ENERGY_MISSING, EnergyMissing

if TYPE_CHECKING:
    import sqlite_utils


def add_totals(database: sqlite_utils.Database) -> None:
    """Give posts of database version 5 or earlier the run's total that their receipts stated."""
    if "received_total" in database.table("posts").columns_dict:
        return
    database.execute("ALTER TABLE posts ADD COLUMN received_total INTEGER")
    totals = database.execute(
        "SELECT sum(row_count) OVER (PARTITION BY run ORDER BY id), id FROM posts"
    )
    database.conn.executemany(
        "UPDATE posts SET received_total = ? WHERE id = ?", totals.fetchall()
    )


def join_parts(database: sqlite_utils.Database) -> None:
    """Move the rows of large bodies into their posts, one post at a time; version 7 stored them in parts."""
    if "upload" not in database.table("posts").columns_dict:
        return
    posts = database.execute(
        "SELECT id, upload FROM posts WHERE upload IS NOT NULL"
    ).fetchall()
    for post, upload in posts:
        parts = database.execute(
            "SELECT rows FROM parts WHERE upload = ? ORDER BY id", (upload,)
        )
        rows = b"".join(part for (part,) in parts)
        database.execute("UPDATE posts SET rows = ? WHERE id = ?", (rows, post))
    database.execute(
        "DROP TABLE parts"
    )  # with those that a killed server left without a post
    database.execute("DROP INDEX posts_by_upload")
    database.execute("ALTER TABLE posts DROP COLUMN upload")


def add_codes(database: sqlite_utils.Database) -> None:
    """Add the codes of missing energies to the events.

    Up to version 7, only the event's sentence says whether the meter may still hold the energy.
    """
    events = database.execute(
        "SELECT id, detail FROM events WHERE kind = ?", (ENERGY_MISSING,)
    ).fetchall()
    for event, text in events:
        detail = json.loads(text)
        if "code" not in detail:
            coded = json.dumps({"code": _code(detail["reason"])} | detail)
            database.execute(
                "UPDATE events SET detail = ? WHERE id = ?", (coded, event)
            )


def link_events(database: sqlite_utils.Database) -> None:
    """Add links to the events, which had none up to version 11.

    It runs after `add_codes`, which changes events.
    """
    link = LOG_START
    if database.execute("SELECT 1 FROM events WHERE link IS NULL LIMIT 1").fetchone():
        rows = database.execute(
            "SELECT id, utc, run, kind, detail FROM events ORDER BY id"
        ).fetchall()
        for number, *event in rows:
            link = log_link(link, event_digest(*event))
            database.execute("UPDATE events SET link = ? WHERE id = ?", (link, number))


def _code(sentence: str) -> EnergyMissing:
    if sentence.endswith(
        "it is read at the server's next start or the station's next arming."
    ):
        return EnergyMissing.READ_LATER
    return (
        EnergyMissing.METER_RESET
        if "was reset" in sentence
        else EnergyMissing.BEGAN_AGAIN
    )
