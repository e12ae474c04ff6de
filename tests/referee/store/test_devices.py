"""Requests with a device's key, and requests with a guessed key."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from referee.store import DATABASE_NAME, Store

NOW = datetime(2018, 6, 18, tzinfo=UTC)


def test_who_guesses_keys_takes_no_turn_of_those_who_write(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / DATABASE_NAME, create=True)) as store:
        store.devices.add("pixel-4", "its-hash", NOW)
        with closing(
            sqlite3.connect(tmp_path / DATABASE_NAME, isolation_level=None)
        ) as writer:
            writer.execute("BEGIN IMMEDIATE")
            assert store.devices.with_key("a-guess", NOW) is None
            writer.execute("ROLLBACK")
        assert store.devices.with_key("its-hash", NOW) == "pixel-4"
        assert store.devices.all()["pixel-4"].seen_utc == NOW.isoformat()
