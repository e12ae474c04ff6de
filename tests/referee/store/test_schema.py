"""Contest databases of earlier versions, and their upgrade."""

from __future__ import annotations

import contextlib
import fcntl
import math
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power.energy import Check
from lpirc_power.meter import Setup
from referee.errors import RefereeError
from referee.judging.score_uncertainty import energy_uncertainty
from referee.store import Store, database
from referee.store.model_records import JobKind, Submission, Upload
from referee.store.records import EnergyMissing, Score
from referee.store.schema import VERSION, create_tables
from tests.referee.factories import START, reading, rows, run_record, stored_run, told

# Dumps of files that the programs of these forms made.
# Form 5: run 1 with posts keyed first, none, none, second.
# Form 7: run 1 with a small post, a large one in three parts and a small one; run 2 with a large one; parts of a large
# post that was never finished; five closed runs, each without its energy for another reason.
# Form 8: run 1 with three readings of its meter, the second of them over range.
DUMPS = {
    form: Path(__file__).with_name(f"contest_form_{form}.sql") for form in (5, 7, 8)
}


def old_file(path: Path, form: int) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(DUMPS[form].read_text(encoding="utf-8"))
        assert connection.execute("PRAGMA user_version").fetchone() == (form,)
    return path


def found(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def changed(path: Path, *statements: str) -> Path:
    """Return the file after changing its tables to those of an earlier version."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def structure(path: Path) -> set[tuple[str, str, str]]:
    tables = found(path, "SELECT name, tbl_name, sql FROM sqlite_master")
    return {(name, table, "".join((sql or "").split())) for name, table, sql in tables}


@pytest.mark.parametrize("form", DUMPS)
def test_an_old_file_becomes_what_a_new_one_is(tmp_path: Path, form: int) -> None:
    old = old_file(tmp_path / "old.db", form)
    Store.open(old).close()
    Store.open(new := tmp_path / "new.db", create=True).close()
    assert structure(old) == structure(new)
    assert found(old, "PRAGMA user_version") == [(VERSION,)] == [(20,)]


@pytest.mark.parametrize("form", DUMPS)
def test_an_upgraded_file_opens_again_unchanged(tmp_path: Path, form: int) -> None:
    old = old_file(tmp_path / "old.db", form)
    Store.open(old).close()
    before = old.read_bytes()
    Store.open(old).close()
    assert old.read_bytes() == before


@pytest.mark.parametrize("form", DUMPS)
def test_two_that_open_an_old_file_at_once_both_get_it(
    tmp_path: Path,
    threads: ThreadPoolExecutor,
    form: int,
) -> None:
    old = old_file(tmp_path / "old.db", form)
    together = threading.Barrier(4)

    def detections() -> int:
        together.wait()
        with contextlib.closing(Store.open(old)) as store:
            return len(store.posts.detections(1))

    opened = [threads.submit(detections) for _ in range(4)]
    assert {one.result() for one in opened} == {{5: 8, 7: 6, 8: 0}[form]}


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    old = old_file(tmp_path / "old.db", 7)
    changed(old, "UPDATE events SET detail = '{' WHERE id = 2")
    before = structure(old)
    with pytest.raises(ValueError, match="Expecting property name"):
        Store.open(old)
    assert structure(old) == before
    assert found(old, "SELECT count(*) FROM parts") == [(6,)]


def test_a_file_of_form_5_keeps_its_posts_and_takes_more(tmp_path: Path) -> None:
    with contextlib.closing(Store.open(old_file(tmp_path / "old.db", 5))) as store:
        assert store.posts.count_detections(1) == 8
        again = store.posts.append(
            1,
            rows(3),
            sha256="x",
            idempotency_key="second",
            elapsed_s=2.0,
            now=START,
        )
        assert again.sha256 == "s-second"
        assert again.received_total == 8
        new = store.posts.append(
            1,
            rows(3),
            sha256="x",
            idempotency_key=None,
            elapsed_s=2.0,
            now=START,
        )
        assert new.received_total == 11
        assert np.array_equal(store.posts.detections(1)[:8], np.ones((8, 7)))


def test_posts_without_totals_get_those_of_their_receipts(tmp_path: Path) -> None:
    path = changed(
        old_file(tmp_path / "old.db", 5),
        "ALTER TABLE posts DROP COLUMN received_total",
        "INSERT INTO posts SELECT 5, 2, received_utc, elapsed_s, sha256, 'other run', 7, rows FROM posts WHERE id = 1",
    )
    with contextlib.closing(Store.open(path)) as store:
        assert [told(store.posts.find(1, key)) for key in ("first", "second")] == [
            (2, "s-first", 2),
            (2, "s-second", 8),
        ]
        assert told(store.posts.find(2, "other run")) == (7, "s-first", 7)


def test_the_parts_of_a_large_body_become_the_blob_of_its_post(tmp_path: Path) -> None:
    old = old_file(tmp_path / "old.db", 7)
    with contextlib.closing(Store.open(old)) as store:
        whole = [np.arange(7.0 * count).reshape(count, 7) for count in (1, 4, 1)]
        assert np.array_equal(store.posts.detections(1), np.vstack(whole))
        assert np.array_equal(store.posts.detections_after(1, 2)[0], whole[2])
        assert np.array_equal(store.posts.detections(2), np.arange(21.0).reshape(3, 7))
        assert told(store.posts.find(1, "large")) == (4, "s-2", 5)
        again = store.posts.append(
            1,
            rows(4),
            sha256="x",
            idempotency_key="large",
            elapsed_s=2.0,
            now=START,
        )
        assert told(again) == (4, "s-2", 5)
    stored = "SELECT row_count, length(rows) / 56 FROM posts ORDER BY id"
    assert found(old, stored) == [(1, 1), (4, 4), (1, 1), (3, 3)]


def test_a_missing_energy_that_had_only_a_sentence_gets_its_code(
    tmp_path: Path,
) -> None:
    old = old_file(tmp_path / "old.db", 7)
    reasons = "SELECT json_extract(detail, '$.reason') FROM events WHERE kind = 'energy-missing' ORDER BY id"
    sentences = [sentence for (sentence,) in found(old, reasons)]
    with contextlib.closing(Store.open(old)) as store:
        events = [store.log.of_run(run)[-1] for run in range(1, 6)]
    later = EnergyMissing.READ_LATER
    reset = EnergyMissing.METER_RESET
    began = EnergyMissing.BEGAN_AGAIN
    assert [one["code"] for one in events] == [later, later, later, reset, began]
    assert [one["reason"] for one in events] == sentences


def test_readings_of_form_8_stay_what_they_are_and_know_no_ranges(
    tmp_path: Path,
) -> None:
    with contextlib.closing(Store.open(old_file(tmp_path / "old.db", 8))) as store:
        store.readings.append(
            1,
            0.0,
            [reading(2.0, voltage_range_v=150.0, changed="HOLD")],
        )
        first, over, _, new = store.readings.of_run(1, 1000.0)
    assert first.monotonic_s == 1000.5
    assert first.energy_wh == 36.0 * 1000.5 / 3600
    assert first.changed == ""
    assert over.over_range is True
    assert over.current_peak_over is True
    assert over.current_a == math.inf
    assert math.isnan(first.voltage_range_v)
    assert math.isnan(first.current_range_a)
    assert new.voltage_range_v == 150.0
    assert new.changed == "HOLD"


def test_readings_of_form_14_know_no_stops_and_keep_the_hash_that_their_close_bound(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    with contextlib.closing(Store.open(path, create=True)) as store:
        old = stored_run(store).id
        new = stored_run(store).id
        store.readings.append(old, 0.0, [reading(1.0)])
    changed(
        path,
        "ALTER TABLE readings DROP COLUMN stopped",
        "PRAGMA user_version = 14",
    )
    of_form_14 = ",".join(
        name
        for name, *_ in found(path, "SELECT name FROM pragma_table_info('readings')")
    )
    with contextlib.closing(Store.open(path)) as store:
        store.readings.append(new, 0.0, [reading(1.0, stopped=True), reading(2.0)])
        heads = [store.readings.csv(run).decode().splitlines()[0] for run in (old, new)]
        stops = [
            [one.stopped for one in store.readings.of_run(run, 0.0)]
            for run in (old, new)
        ]
    assert heads == [of_form_14.removeprefix("run,"), heads[0] + ",stopped"]
    assert stops == [[False], [True, False]]


def test_a_score_of_form_14_takes_its_energys_limit_from_the_figures_of_its_check(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    limits = (0.004, None)
    with contextlib.closing(Store.open(path, create=True)) as store:
        runs = [stored_run(store).id for _ in limits]
        for run, limit in zip(runs, limits, strict=True):
            check = Check("accuracy", True, "error", "Known.", {"uncertainty": limit})
            figures = (
                run,
                START.isoformat(),
                0.5,
                1.0,
                0.5,
                36.0,
                5,
                7,
                {1: 0.5},
                "lpirc",
                (check,),
            )
            store.scores.add(
                Score(*figures, energy_limit=0.9, energy_known_by="a manual")
            )
    dropped = (
        f"ALTER TABLE scores DROP COLUMN {name}"
        for name in ("energy_limit", "energy_known_by")
    )
    changed(path, *dropped, "PRAGMA user_version = 14")
    with contextlib.closing(Store.open(path)) as store:
        found = [store.scores.latest(run) for run in runs]
    assert [one and (one.energy_limit, one.energy_known_by) for one in found] == [
        (0.004, None),
        (None, None),
    ]


def test_a_score_of_form_19_has_no_budget_and_keeps_the_limit_that_it_stored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    with contextlib.closing(Store.open(path, create=True)) as store:
        run = stored_run(store).id
        made = Score(
            run, START.isoformat(), 0.5, 1.0, 0.5, 36.0, 5, 7, {1: 0.5}, "lpirc", (),
            energy_limit=0.004, energy_known_by="a manual", energy_own_limit=0.001, energy_budget={"terms": []},
        )  # fmt: skip
        store.scores.add(made)
        assert store.scores.latest(run) == made
    dropped = "ALTER TABLE scores DROP COLUMN energy_budget"
    changed(path, dropped, "PRAGMA user_version = 19")
    with contextlib.closing(Store.open(path)) as store:
        upgraded = store.scores.latest(run)
        assert upgraded == replace(made, energy_budget=None)
        assert energy_uncertainty(upgraded) == 0.004
        store.scores.add(made)
        assert store.scores.latest_by_run()[run][0].energy_budget == {"terms": []}


def test_a_submission_of_form_12_was_measured_by_no_one_else(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    words = {
        "track": "t",
        "team": "ant",
        "split": "public",
        "build": "b",
        "model_file": "m",
        "model_sha256": "5",
    }
    made = Submission(0, "", **words, testset_digest="d", counts=True)
    with contextlib.closing(Store.open(path, create=True)) as store:
        store.teams.add("ant", "hash", START)
        store.submissions.accept(made, START, limit=9)
        (before,) = store.submissions.all("t")
    changed(
        path,
        "ALTER TABLE submissions DROP COLUMN measured_by",
        "PRAGMA user_version = 12",
    )
    with contextlib.closing(Store.open(path)) as store:
        assert store.submissions.all("t") == [before]
        store.submissions.accept(replace(made, measured_by="Acme"), START, limit=9)
        assert [one.measured_by for one in store.submissions.all("t")] == [None, "Acme"]


def test_a_run_of_an_earlier_form_gets_its_setup_from_its_station(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    with contextlib.closing(Store.open(path, create=True)) as store:
        number = stored_run(store).id
    dropped = (
        f"ALTER TABLE runs DROP COLUMN {name}"
        for name in ("setup", "meter_changes", "idle_power_w", "heat")
    )
    changed(
        path,
        *dropped,
        "ALTER TABLE runs ADD COLUMN update_interval_s REAL",
        "PRAGMA user_version = 3",
    )
    setup = Setup(150.0, 0.5, 0.1, 600, mode="dc")
    asked = []
    made: Callable[[str, int], Setup] = lambda station, window_s: (  # noqa: E731
        asked.append((station, window_s)) or setup
    )
    with contextlib.closing(Store.open(path)) as store:
        assert store.runs.get(number).setup == Setup(None, None, 0.25, 600)
        store.runs.complete_setups(made)
        store.runs.complete_setups(made)
        assert asked == [("one", 600)]
        assert store.runs.get(number) == run_record(
            id=number,
            setup=setup,
            armed_utc=START.isoformat(),
        )
        assert store.runs.get(number).meter_standing is None
        assert store.runs.get(number).official is True
        assert stored_run(store, heat="final") == run_record(
            id=2,
            heat="final",
            armed_utc=START.isoformat(),
        )


def test_only_posts_with_a_key_are_in_the_index_of_keys(
    store: Store,
    tmp_path: Path,
) -> None:
    run = stored_run(store).id
    for key in (None, "a", None, "b"):
        store.posts.append(
            run,
            rows(1),
            sha256="s",
            idempotency_key=key,
            elapsed_s=1.0,
            now=START,
        )
    path = tmp_path / "contest.db"
    planned = f"EXPLAIN QUERY PLAN SELECT sha256 FROM posts WHERE run = {run} AND idempotency_key = 'a'"  # noqa: S608
    assert "posts_by_key" in found(path, planned)[0][-1]
    ((made,),) = found(
        path,
        "SELECT sql FROM sqlite_master WHERE name = 'posts_by_key'",
    )
    assert made.endswith("WHERE idempotency_key IS NOT NULL")
    assert store.posts.find(run, "b") is not None


def test_a_contest_that_an_older_server_serves_is_not_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "contest.db"
    old_file(path, 7)
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(
            RefereeError,
            match="is being served by an older version",
        ) as failure:
            Store.open(path)
    assert failure.value.code == "contest-busy"
    Store.open(path).close()


def test_what_a_file_of_this_form_lacks_is_made_at_its_opening(tmp_path: Path) -> None:
    path = tmp_path / "contest.db"
    with contextlib.closing(Store.open(path, create=True)) as store:
        run = stored_run(store).id
    whole = structure(path)
    changed(path, "DROP TABLE contest", "ALTER TABLE runs DROP COLUMN nonce")
    with contextlib.closing(Store.open(path)) as store:
        assert store.runs.get(run).nonce is None
        assert store.identity.contest_id("mine") == "mine"
    assert {name for name, _, _ in structure(path)} == {name for name, _, _ in whole}


def test_of_an_entry_that_form_15_withdrew_in_part_the_hold_out_part_is_withdrawn_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    words = {
        "track": "t",
        "build": "b",
        "model_file": "m.csv",
        "testset_digest": "d",
    }
    with contextlib.closing(Store.open(path, create=True)) as store:
        for team in ("ant", "bee"):
            store.teams.add(team, "hash", START)
            given = Submission(
                0,
                "",
                team=team,
                split="public",
                model_sha256="5",
                counts=True,
                **words,
            )
            made = store.uploads.receive(
                given,
                Upload(0, START.isoformat(), 1, None),
                limit=9,
            )
            parts = [
                replace(made, job=None),
                replace(made, job=None, split="holdout", counts=False),
            ]
            assert store.uploads.admit(made, parts, JobKind.SCORING, START)
        with store.log.act(
            START,
            None,
            operator="command",
            action="model-withdraw",
            user="alice",
            submission=1,
        ):
            pass
    changed(
        path,
        "UPDATE submissions SET withdrawn = 'of another team' WHERE id = 1",
        "DROP TABLE publications",
        *(
            f"ALTER TABLE submissions DROP COLUMN {name}"
            for name in ("withdrawn_utc", "withdrawn_by")
        ),
        "PRAGMA user_version = 15",
    )
    with contextlib.closing(Store.open(path)) as store:
        found_now = [
            (one.team, one.withdrawn, one.withdrawn_by, one.counts)
            for one in store.submissions.all("t")
        ]
        assert found_now == [
            ("ant", "of another team", "alice", False),  # it did not count then
            ("ant", "of another team", "alice", False),
            ("bee", None, None, True),
            ("bee", None, None, False),
        ]
        assert store.entries.restore(2, START) == [1, 2]
        assert store.publications.newest("t") is None


def test_a_new_database_of_the_tests_has_the_tables_of_the_program(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Store.open(tmp_path / "quick.db", create=True).close()
    monkeypatch.setattr(database, "create_tables", create_tables)
    Store.open(tmp_path / "real.db", create=True).close()
    for sql in (
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid",
        "PRAGMA user_version",
    ):
        assert (
            found(tmp_path / "quick.db", sql) == found(tmp_path / "real.db", sql) != []
        )
    for (name,) in found(
        tmp_path / "real.db",
        "SELECT name FROM sqlite_master WHERE type = 'table'",
    ):
        rows_of = f"SELECT * FROM {name}"  # noqa: S608 - its own tables
        assert found(tmp_path / "quick.db", rows_of) == found(
            tmp_path / "real.db",
            rows_of,
        )
