from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from referee.store import Store
from referee.store.schema import VERSION
from tests.referee.factories import START, rows, stored_run

# The dump of a file that the program of form 5 made: run 1 with posts keyed first, none, none, second.
FORM_5 = Path(__file__).with_name("contest_form_5.sql")


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(FORM_5.read_text(encoding="utf-8"))
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)
    return path


@pytest.fixture
def upgraded(old_file: Path) -> Iterator[Store]:
    with contextlib.closing(Store(old_file)) as store:
        yield store


def structure(store: Store) -> set[tuple[str, str, str]]:
    found = store._rows("SELECT name, tbl_name, sql FROM sqlite_master")
    return {(row["name"], row["tbl_name"], "".join((row["sql"] or "").split())) for row in found}


def test_a_file_of_form_5_becomes_what_a_new_one_is(tmp_path: Path, upgraded: Store) -> None:
    with contextlib.closing(Store(tmp_path / "new.db")) as new:
        assert structure(upgraded) == structure(new)
    assert upgraded._connection.execute("PRAGMA user_version").fetchone()[0] == VERSION == 7


def test_a_file_of_form_5_keeps_its_posts_and_takes_more(upgraded: Store) -> None:
    assert upgraded.count_detections(1) == 8
    again = upgraded.append_post(1, rows(3), sha256="x", idempotency_key="second", elapsed_s=2.0, now=START)
    assert (again.sha256, again.received_total) == ("s-second", 8)
    new = upgraded.append_post(1, rows(3), sha256="x", idempotency_key=None, elapsed_s=2.0, now=START)
    assert new.received_total == 11
    assert np.array_equal(upgraded.detections(1)[:8], np.ones((8, 7)))


def test_an_upgraded_file_opens_again_unchanged(old_file: Path) -> None:
    Store(old_file).close()
    before = old_file.read_bytes()
    Store(old_file).close()
    assert old_file.read_bytes() == before


def test_only_posts_with_a_key_are_in_the_index_of_keys(store: Store) -> None:
    run = stored_run(store).id
    for key in (None, "a", None, "b"):
        store.append_post(run, rows(1), sha256="s", idempotency_key=key, elapsed_s=1.0, now=START)
    planned = "EXPLAIN QUERY PLAN SELECT sha256 FROM posts WHERE run = ? AND idempotency_key = ?"
    assert "posts_by_key" in store._rows(planned, run, "a")[0]["detail"]
    made = store._rows("SELECT sql FROM sqlite_master WHERE name = 'posts_by_key'")[0]["sql"]
    assert made.endswith("WHERE idempotency_key IS NOT NULL")
    assert store.find_post(run, "b") is not None
