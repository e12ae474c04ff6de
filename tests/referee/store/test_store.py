from __future__ import annotations

import contextlib
import math
import sqlite3
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy import Check
from lpirc_power.meter import IntegratorState, Reading, Setup
from referee.errors import RefereeError
from referee.store import Store, database
from referee.store.records import Post, RunState, Score
from referee.store.schema import VERSION
from tests.referee.factories import START, TEAM, reading, rows, run_record, stored_run

ROOT = Path(__file__).parents[3]
FIGURES = st.floats() | st.just(-0.0)


def append(
    store: Store,
    run: int,
    values: np.ndarray,
    key: str | None = None,
    sha256: str = "s",
) -> Post:
    return store.posts.append(
        run,
        values,
        sha256=sha256,
        idempotency_key=key,
        elapsed_s=1.0,
        now=START,
    )


def code_of(
    action: object,
    *arguments: object,
    **named: object,
) -> str:
    with pytest.raises(RefereeError) as failure:
        action(*arguments, **named)  # type: ignore[operator]
    return failure.value.code


def score(run: int = 1, **different: object) -> Score:
    check = Check(
        "energy-measured",
        True,
        "error",
        "It did.",
        {"energy_wh": 1.5, "gaps": None, "n": 3},
    )
    values = {
        "run": run,
        "judged_utc": START.isoformat(),
        "map": 0.1 + 0.2,
        "energy_wh": 1.5,
        "score": 0.2,
        "mean_power_w": 9.0,
        "images": 5,
        "detections": 17,
        "ap": {1: 0.25, 7: None, 20180000: 1 / 3},
        "signature": "lpirc|x",
        "energy_limit": 0.004,
        "energy_known_by": "a manual",
        "checks": (check, Check("reading-gaps", False, "warning", "Ein Loch: ä.", {})),
    }
    return Score(**(values | different))  # type: ignore[arg-type]


# Runs


def test_a_run_comes_back_as_it_was_stored_under_its_own_number(store: Store) -> None:
    store.teams.add(TEAM, "hash", START)
    orders = {}
    for number in (1, 2):
        orders[number] = np.random.default_rng(number).permutation(np.arange(1, 6))
        run = store.runs.arm(run_record(id=77, window_s=599.5), START, orders[number])
        assert run == run_record(
            id=number,
            window_s=599.5,
            armed_utc=START.isoformat(),
        )
        assert store.runs.get(number) == run
    for number, order in orders.items():
        assert store.runs.image_order(number).tolist() == order.tolist()
    assert [run.id for run in store.runs.find()] == [1, 2]


def test_what_the_meter_was_set_to_and_found_at_comes_back(store: Store) -> None:
    setup = Setup(
        None,
        0.5,
        0.25,
        600,
        mode="dc",
        crest_factor=6,
        line_filter=True,
        element="sum",
    )
    run = stored_run(store, setup=setup, idle_power_w=2.5)
    assert run.setup == setup
    assert run.idle_power_w == 2.5
    assert run.meter_changes is None
    changes = (":RATE 250MS was set, it is 1.000E+00", "ä")
    meter_changes = store.runs.change(
        run.id,
        (RunState.ARMED,),
        meter_changes=changes,
    ).meter_changes
    assert meter_changes == changes
    meter_changes = store.runs.change(
        run.id,
        (RunState.ARMED,),
        meter_changes=(),
    ).meter_changes
    assert meter_changes == ()


def test_a_run_without_image_order_never_exists(store: Store) -> None:
    store.teams.add(TEAM, "hash", START)

    refuse = "CREATE TEMP TRIGGER refuse BEFORE INSERT ON image_orders BEGIN SELECT RAISE(ABORT, 'no order'); END"
    store.database.connection.execute(refuse)
    with pytest.raises(sqlite3.IntegrityError, match="no order"):
        store.runs.arm(run_record(), START, np.arange(1, 6))
    assert store.runs.find() == []


def test_a_run_needs_a_team(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.runs.arm(run_record(team="nobody"), START, np.arange(1, 6))
    assert store.runs.find() == []


@pytest.mark.parametrize("number", [0, -1, 2, 2**63 - 1, 2**63, 10**30])
def test_an_unknown_run_is_told(store: Store, number: int) -> None:
    stored_run(store)
    assert code_of(store.runs.get, number) == "run-unknown"


def test_runs_are_found_by_state_team_and_station(store: Store) -> None:
    for team, station in (
        (TEAM, "one"),
        ("badgers", "two"),
        (TEAM, "two"),
    ):
        stored_run(store, team=team, station=station)
    store.runs.change(2, (RunState.ARMED,), state="void")
    assert [run.id for run in store.runs.find(RunState.ARMED)] == [1, 3]
    assert [run.id for run in store.runs.find(team=TEAM, station="two")] == [3]
    assert [run.id for run in store.runs.find(RunState.VOID, team=TEAM)] == []


@given(st.floats(allow_nan=False))
def test_figures_of_a_run_come_back_exactly(store: Store, figure: float) -> None:
    run = stored_run(store).id
    changed = store.runs.change(
        run,
        (RunState.ARMED,),
        start_s=figure,
        energy_wh=figure,
    )
    assert struct.pack("<d", changed.start_s or 0.0) == struct.pack("<d", figure or 0.0)
    assert changed.energy_wh == figure


def test_a_run_in_another_state_is_not_changed(store: Store) -> None:
    run = stored_run(store)
    with pytest.raises(
        RefereeError,
        match="is armed; this command needs a run that is open or closed",
    ) as failure:
        store.runs.change(
            run.id,
            (RunState.OPEN, RunState.CLOSED),
            state="void",
            void_reason="no",
        )
    assert failure.value.code == "run-state"
    assert store.runs.get(run.id) == run
    code = code_of(store.runs.change, 99, (RunState.OPEN,), state="void")
    assert code == "run-unknown"


def test_of_two_that_change_a_run_at_once_one_wins(store: Store) -> None:
    for _ in range(25):
        run = stored_run(store).id
        together = threading.Barrier(4)

        def change(
            by: str,
            run: int = run,
            together: threading.Barrier = together,
        ) -> str:
            together.wait()
            try:
                return str(
                    store.runs.change(
                        run,
                        (RunState.ARMED,),
                        state="open",
                        closed_by=by,
                    ).closed_by
                )
            except RefereeError as error:
                return error.code

        with ThreadPoolExecutor(4) as pool:
            results = sorted(pool.map(change, "abcd"), key=len)
        assert results[1:] == ["run-state"] * 3
        assert store.runs.get(run).closed_by == results[0]


def test_of_two_processes_that_change_a_run_one_wins(
    tmp_path: Path,
    store: Store,
) -> None:
    run = stored_run(store).id
    program = """
import sys
from pathlib import Path
from referee.errors import RefereeError
from referee.store.records import RunState
from referee.store import Store
store = Store.open(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    print(store.runs.change(int(sys.argv[2]), (RunState.ARMED,), state="open").state)
except RefereeError as error:
    print(error.code)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "contest.db"), str(run)]
    pipe = subprocess.PIPE
    rivals = [
        subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            text=True,
        )
        for _ in range(3)
    ]
    for rival in rivals:
        assert rival.stdout is not None
        assert rival.stdout.readline() == "ready\n"
    answers = [rival.communicate("go\n")[0].strip() for rival in rivals]
    assert sorted(answers) == ["open", "run-state", "run-state"]


# Teams


def test_teams_are_registered_once_and_can_be_disabled(store: Store) -> None:
    store.teams.add("otters", "hash", START)
    store.teams.add("Ötters 'n' \"co\"", "other", START)
    assert code_of(store.teams.add, "otters", "again", START) == "team-exists"
    assert store.teams.password_hash("otters") == "hash"
    store.teams.set_disabled("otters", True)
    assert store.teams.password_hash("otters") is None
    assert store.teams.all() == {"otters": True, "Ötters 'n' \"co\"": False}
    assert code_of(store.teams.set_disabled, "nobody", True) == "team-unknown"


@pytest.mark.parametrize("name", ["nobody", "", "OTTERS", "\ud800", "otters\0"])
def test_who_is_no_team_has_no_password(store: Store, name: str) -> None:
    store.teams.add("otters", "hash", START)
    assert store.teams.password_hash(name) is None


# Readings and served images


FIGURE = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0])
READINGS = st.builds(
    Reading,
    st.floats(-10, 1e6),
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    *(FIGURE for _ in range(7)),
    st.sampled_from(IntegratorState),
    *(st.booleans() for _ in range(3)),
    stopped=st.booleans(),
)


def same(one: Reading, other: Reading) -> bool:
    pairs = [
        (
            getattr(one, name),
            getattr(other, name),
        )
        for name in Reading.__dataclass_fields__
    ]
    return all(a == b or (a != a and b != b) for a, b in pairs)


@given(st.lists(READINGS, max_size=5, unique_by=lambda one: one.monotonic_s))
def test_readings_come_back_as_they_were_with_nan_and_infinity(
    store: Store,
    taken: list[Reading],
) -> None:
    run = stored_run(store).id
    store.readings.append(run, 0.0, taken)
    found = store.readings.of_run(run, 0.0)
    expected = sorted(taken, key=lambda one: one.monotonic_s)
    assert len(found) == len(expected)
    assert all(same(a, b) for a, b in zip(expected, found, strict=True))


def test_readings_that_many_threads_store_do_not_disturb_each_other(
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    run = stored_run(store).id
    taken = [reading(float(second)) for second in range(30)]
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns in the middle of everything
    try:
        written = [
            threads.submit(store.readings.append, run, 0.0, taken) for _ in range(96)
        ]
        assert [one.exception() for one in written] == [None] * 96
    finally:
        sys.setswitchinterval(interval_s)
    assert len(store.readings.of_run(run, 0.0)) == 96 * len(taken)


def test_readings_are_told_from_the_start_of_the_window(store: Store) -> None:
    run = stored_run(store).id
    store.readings.append(run, 1000.0, [reading(999.5), reading(1002.25)])
    assert [one.monotonic_s for one in store.readings.of_run(run, 0.0)] == [-0.5, 2.25]
    assert [one.monotonic_s for one in store.readings.of_run(run, 50.0)] == [
        49.5,
        52.25,
    ]


def test_what_the_meter_had_no_data_for_is_null_to_any_sqlite_tool(
    store: Store,
    tmp_path: Path,
) -> None:
    run = stored_run(store).id
    store.readings.append(
        run,
        0.0,
        [
            reading(
                power_w=math.nan,
                voltage_v=math.inf,
                over_range=True,
            )
        ],
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "contest.db")) as other:
        found = other.execute(
            "SELECT power_w, voltage_v, flags, state FROM readings"
        ).fetchall()
    assert found == [(None, math.inf, "over_range", "START")]


def test_reading_waits_for_no_writer(store: Store) -> None:
    run = stored_run(store).id
    with ThreadPoolExecutor(1) as pool, store.database.transaction() as connection:
        connection.execute("UPDATE runs SET team = team")
        assert pool.submit(store.runs.get, run).result(20).id == run


# Judgement and events


def test_a_score_comes_back_as_it_was_and_the_latest_counts(store: Store) -> None:
    run = stored_run(store).id
    assert store.scores.latest(run) is None
    first = score(run)
    second = score(run, map=0.5, score=None, energy_wh=None, checks=())
    store.scores.add(first)
    assert store.scores.latest(run) == first
    store.scores.add(second)
    assert store.scores.latest(run) == second
    assert store.scores.latest(run + 1) is None


def test_a_run_needs_review_only_for_failed_errors() -> None:
    def judged(ok: bool, severity: str) -> Score:
        return score(checks=(Check("c", ok, severity, ".", {}),))  # type: ignore[arg-type]

    assert judged(False, "error").needs_review
    assert not judged(False, "warning").needs_review
    assert not judged(True, "error").needs_review


def test_events_come_back_in_order_with_their_details(store: Store) -> None:
    run = stored_run(store).id
    store.log.append(START, run, "armed", meter="WT310", station="one")
    store.log.append(START, None, "served")
    store.log.append(START, run, "open", remaining_s=600.0)
    utc = START.isoformat()
    assert store.log.of_run(run) == [
        {
            "utc": utc,
            "kind": "armed",
            "meter": "WT310",
            "station": "one",
        },
        {
            "utc": utc,
            "kind": "open",
            "remaining_s": 600.0,
        },
    ]


# The file


def test_what_is_committed_is_there_for_the_next_process(
    tmp_path: Path,
    store: Store,
) -> None:
    run = stored_run(store).id
    append(store, run, rows(3), key="k")
    with contextlib.closing(Store.open(tmp_path / "contest.db")) as again:
        assert again.runs.get(run) == store.runs.get(run)
        assert np.array_equal(again.posts.detections(run), rows(3))
        assert again.posts.find(run, "k") == store.posts.find(run, "k")


def test_the_file_is_safe_against_a_loss_of_power(store: Store) -> None:
    assert store.database.rows("PRAGMA journal_mode")[0][0] == "wal"
    assert store.database.rows("PRAGMA synchronous")[0][0] == 2
    assert store.database.rows("PRAGMA foreign_keys")[0][0] == 1


class BusyAtFirst(sqlite3.Connection):
    """A connection whose first statements fail, as if another process switched to the write-ahead log as well."""

    failures = 2
    code = sqlite3.SQLITE_BUSY

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        if self.failures:
            self.failures -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self.code
            raise error
        return super().execute(*statement)


def test_the_switch_to_the_write_ahead_log_is_asked_for_again_only_where_that_helps(
    tmp_path: Path,
) -> None:
    with contextlib.closing(
        sqlite3.connect(tmp_path / "new.db", factory=BusyAtFirst)
    ) as connection:
        database._write_ahead(connection)  # noqa: SLF001 - the store's own connection, as SQLite sees it
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.failures = 2
        connection.code = sqlite3.SQLITE_READONLY
        with pytest.raises(sqlite3.OperationalError):
            database._write_ahead(connection)  # noqa: SLF001 - the store's own connection, as SQLite sees it
        assert connection.failures == 1


def test_threads_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def open_it(_: int) -> None:
        together.wait()
        Store.open(tmp_path / "new.db", create=True).close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_it, range(8)))
    with contextlib.closing(Store.open(tmp_path / "new.db", create=True)) as made:
        assert stored_run(made).id == 1


def test_an_existing_file_can_be_read_where_nothing_can_be_written(
    tmp_path: Path,
    store: Store,
) -> None:
    stored_run(store)
    with contextlib.closing(
        sqlite3.connect(tmp_path / "contest.db", isolation_level=None)
    ) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        with contextlib.closing(Store.open(tmp_path / "contest.db")) as again:
            assert len(again.runs.find()) == 1


def test_a_file_of_a_newer_program_is_refused(tmp_path: Path, store: Store) -> None:
    store.database.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    assert code_of(Store.open, tmp_path / "contest.db") == "database-version"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("folder", "storage-failed"),
        ("no database", "storage-failed"),
        ("no such folder", "database-missing"),
        ("no such file", "database-missing"),
        ("empty", "database-missing"),
        ("another program's", "database-foreign"),
        ("another program's, numbered", "database-foreign"),
    ],
)
def test_what_is_no_contest_s_database_is_told_and_stays_as_it_is(
    tmp_path: Path,
    kind: str,
    code: str,
) -> None:
    path = tmp_path / ("nowhere" if kind == "no such folder" else "") / "contest.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "no database":
        path.write_bytes(b"not a database" * 1000)
    elif kind == "empty":
        path.touch()
    elif "program" in kind:
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE runs (id INTEGER)")
            other.execute(f"PRAGMA user_version = {99 if 'numbered' in kind else 0}")
    before = path.read_bytes() if path.is_file() else None
    assert code_of(Store.open, path) == code
    assert (path.read_bytes() if path.is_file() else None) == before


def test_writing_waits_for_another_process_and_says_so_when_it_takes_too_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "LOCK_TIMEOUT_S", 0.05)
    with (
        contextlib.closing(
            Store.open(tmp_path / "contest.db", create=True)
        ) as impatient,
        contextlib.closing(
            sqlite3.connect(tmp_path / "contest.db", isolation_level=None)
        ) as judge,
    ):
        run = stored_run(impatient).id
        judge.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            RefereeError,
            match="another process keeps it locked",
        ) as failure:
            append(impatient, run, rows(1))
        assert failure.value.code == "storage-failed"
        assert impatient.posts.count_detections(run) == 0
        judge.execute("COMMIT")
        append(impatient, run, rows(1))
        assert impatient.posts.count_detections(run) == 1


def test_a_look_reads_a_database_that_another_process_keeps_and_whoever_goes_on_waits_for_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "contest.toml").write_text(
        'name = "Hall"\n'
    )  # only a contest's has a journal
    monkeypatch.setattr(database, "LOOK_TIMEOUT_S", 0.05)
    path = tmp_path / "contest.db"
    with contextlib.closing(Store.open(path, create=True)) as own:
        run = stored_run(own).id
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as frozen:
            frozen.execute("BEGIN IMMEDIATE")
            look = Store.open(path, only_looks=True)
            assert look.runs.get(run) == own.runs.get(run)
            with monkeypatch.context() as patience:
                patience.setattr(database, "LOCK_TIMEOUT_S", 0.05)
                assert code_of(Store.open, path) == "storage-failed"
            frozen.execute("ROLLBACK")
        with contextlib.closing(look):
            append(look, run, rows(1))
            assert (
                look.database.connection.execute("PRAGMA synchronous").fetchone()[0]
                == 1
            )
            assert (
                look.database.connection.execute("PRAGMA busy_timeout").fetchone()[0]
                == 30_000
            )
    with contextlib.closing(Store.open(path)) as again:
        assert again.posts.count_detections(run) == 1


def test_a_full_disk_loses_nothing_that_was_acknowledged(store: Store) -> None:
    run = stored_run(store).id
    append(store, run, rows(10))
    pages = store.database.connection.execute("PRAGMA page_count").fetchone()[0]
    store.database.connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    acknowledged = 10 + fill(store, run)
    assert 10 < acknowledged < 5000
    assert store.posts.count_detections(run) == acknowledged
    store.database.connection.execute("PRAGMA max_page_count = 100000")
    append(store, run, rows(50))
    assert len(store.posts.detections(run)) == acknowledged + 50


def fill(store: Store, run: int) -> int:
    """Append posts until one is refused, and return the number of acknowledged rows."""
    acknowledged = 0
    with pytest.raises(RefereeError, match="cannot be written") as failure:  # noqa: PT012 - until it is refused
        for _ in range(100):
            append(store, run, rows(50))
            acknowledged += 50
    assert failure.value.code == "storage-failed"
    return acknowledged


def test_a_file_that_cannot_grow_loses_nothing_that_was_acknowledged(
    tmp_path: Path,
    store: Store,
) -> None:
    run = stored_run(store).id
    program = """
import resource, signal, sys
from pathlib import Path
from referee.errors import RefereeError
from referee.store import Store
from tests.referee.factories import START, rows

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store, run, told = Store.open(Path(sys.argv[1])), int(sys.argv[2]), []

def post():
    store.posts.append(run, rows(50), sha256="s", idempotency_key=None, elapsed_s=1.0, now=START)
    told.append(50)

_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (350_000, most))
try:
    for _ in range(100):
        post()
except RefereeError as error:
    told.append(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
post()
print(*told)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "contest.db"), str(run)]
    told = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout.split()
    assert told.count("storage-failed") == 1
    assert told.index("storage-failed") == len(told) - 2 > 3
    assert store.posts.count_detections(run) == 50 * told.count("50")


def test_threads_share_the_connection_without_seeing_half_a_transaction(
    store: Store,
) -> None:
    run = stored_run(store).id

    def judge(number: int) -> None:
        store.scores.add(score(run, detections=number))

    def look(_: int) -> bool:
        found = store.scores.latest(run)
        return found is None or len(found.checks) == 2

    with ThreadPoolExecutor(6) as pool:
        looks = [pool.submit(look, number) for number in range(150)]
        list(pool.map(judge, range(60)))
        assert all(one.result() for one in looks)
