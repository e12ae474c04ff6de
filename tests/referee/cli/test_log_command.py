"""`referee log`, and the acts that commands record when they write to the database without the server."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.cli.recorded_acts import user
from referee.contest import create_contest
from referee.store import DATABASE_NAME, LoggedEvent, Store
from referee.store.schema import VERSION
from tests.contest_day import Program, called, program
from tests.referee.factories import START, config_text


@pytest.fixture
def folder(tmp_path: Path, small_set: TestSet) -> Path:
    create_contest(tmp_path / "contest", config_text(small_set))
    return tmp_path / "contest"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with closing(Store.open(folder / DATABASE_NAME)) as opened:
        yield opened


@pytest.fixture
def told(folder: Path, store: Store) -> list[LoggedEvent]:
    """Make a log of five events."""
    store.log.append(
        START,
        7,
        "operator",
        operator="eve",
        action="void",
        reason="false start",
        address="10.0.0.9",
    )
    store.log.append(
        START,
        None,
        "operator",
        operator="key",
        action="draw",
        user="ada@hall",
    )
    store.log.append(START, 8, "closed", by="deadline", energy_wh=1.5)
    store.log.append(START, 8, "odd", name="\x1b[31mred\nline")
    return [*store.log.after(0)]


def log(folder: Path, *options: str) -> tuple[int, list[str], str]:
    done = called("log", str(folder), *options)
    return done.returncode, done.stdout.splitlines(), done.stderr


def tampered(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


COMMANDS: list[tuple[list[str], dict[str, Any]]] = [
    (["team", "add", "ant"], {"action": "team-add", "team": "ant"},),
    (["team", "import", "teams.csv"], {"action": "team-import", "teams": ["bee"]},),
    (["team", "password", "ant", "--reason", "lost"], {"action": "team-password", "team": "ant", "reason": "lost",},),
    (["team", "disable", "ant", "--reason", "left"], {"action": "team-disable", "team": "ant", "reason": "left",},),
    (["team", "enable", "ant"], {"action": "team-enable", "team": "ant"},),
    (["operator", "add", "eve"], {"action": "operator-add", "name": "eve"},),
    (["operator", "remove", "eve"], {"action": "operator-remove", "name": "eve"},),
    (["doctor", "--accept"], {"action": "accept"}),
    (["rejudge", "--all"], {"action": "rejudge", "all": True},),
]  # fmt: skip


def test_each_command_that_changes_a_contest_is_one_event_with_who_where_and_why(
    folder: Path,
    store: Store,
    tmp_path: Path,
) -> None:
    (tmp_path / "teams.csv").write_text("team\nbee\n")
    who = {
        "operator": "command",
        "user": user(),
        "address": socket.gethostname(),
    }
    for command, expected in COMMANDS:
        number = store.log.head()[0]
        words = [
            str(tmp_path / word) if word.endswith(".csv") else word for word in command
        ]
        at = [str(folder)] if command[0] == "doctor" else ["--contest", str(folder)]
        called(*words, *at, LPIRC_PASSWORD="six legs", COLUMNS="80")
        # Accepting other secrets accepts the key found there, which is then recorded.
        (event,) = (one for one in store.log.after(number) if one.kind != "signing-key")
        assert event.kind == "operator", command
        assert (who | expected).items() <= event.values.items(), command
    assert log(folder)[0] == 0


def test_an_act_of_a_command_is_not_done_when_it_cannot_be_put_on_record(
    folder: Path,
    store: Store,
) -> None:
    store.teams.add("ant", "no hash", START)
    tampered(
        folder,
        "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN INSERT INTO nowhere VALUES (1); END",
    )
    for command in (
        ["team", "disable", "ant"],
        ["operator", "add", "eve"],
        ["team", "add", "bee"],
    ):
        done = called(*command, "--contest", str(folder), LPIRC_PASSWORD="six legs")
        assert (done.returncode, "cannot be written" in done.stderr) == (1, True), (
            command
        )
    assert store.teams.all() == {"ant": False}
    assert store.operators.password_hashes() == {}


def test_the_log_is_one_line_an_event_and_ends_with_its_head(
    folder: Path,
    told: list[LoggedEvent],
) -> None:
    code, lines, _ = log(folder)
    assert code == 0
    assert (
        lines[1]
        == "2026-05-04 09:00:00  void  run 7  by eve at 10.0.0.9  reason false start"
    )
    assert lines[2] == "2026-05-04 09:00:00  draw  by key as ada@hall"
    assert lines[3] == "2026-05-04 09:00:00  closed  run 8  by deadline, energy_wh 1.5"
    assert lines[4] == r"2026-05-04 09:00:00  odd  run 8  name \x1b[31mred\nline"
    assert lines[5] == f"5 events, head {told[-1].link.hex()}"
    *documents, head = map(json.loads, log(folder, "--json")[1])
    assert [one["link"] for one in documents] == [one.link.hex() for one in told]
    assert documents[1]["run"] == 7
    assert documents[1]["detail"]["reason"] == "false start"
    assert head == {
        "events": 5,
        "utc": START.isoformat(),
        "head": told[-1].link.hex(),
    }


def test_the_log_shows_what_was_asked_for_and_verifies_all(
    folder: Path,
    told: list[LoggedEvent],
) -> None:
    assert len(log(folder, "--run", "8")[1]) == 2 + 1
    for name in ("ada", "ada@hall", "key"):
        assert [
            line.split()[2] for line in log(folder, "--operator", name)[1][:-1]
        ] == ["draw"]
    tampered(
        folder,
        "UPDATE events SET detail = replace(detail, 'false', 'true') WHERE id = 2",
    )
    assert log(folder, "--run", "8")[0] == 1


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ("UPDATE events SET utc = '2026-05-04T08:00:00+00:00' WHERE id = 3", 3),
        ("UPDATE events SET run = 6 WHERE id = 2", 2),
        ("UPDATE events SET kind = 'opened' WHERE id = 4", 4),
        ("DELETE FROM events WHERE id = 3", 4),
        ("DELETE FROM events WHERE id = 1", 2),
        ("UPDATE events SET id = -id WHERE id IN (2, 3)", -3),
        ("UPDATE events SET link = NULL WHERE id = 4", 4),
        ("UPDATE events SET link = 'text', detail = 5 WHERE id = 4", 4),
        ("INSERT INTO events (id, utc, kind, detail, link) VALUES (6, 'now', 'odd', '{}', x'00')", 6),
    ],
)  # fmt: skip
def test_a_broken_chain_is_told_with_the_first_event_that_does_not_fit(
    folder: Path,
    told: list[LoggedEvent],
    change: str,
    first: int,
) -> None:
    tampered(folder, change)
    code, _, said = log(folder)
    # One with a number below 1 is no longer read: what follows does not fit.
    named = f"event {first}" if first > 0 else "event 4"
    assert (code, said.startswith(f"referee: The log is broken: {named} (")) == (
        1,
        True,
    ), said


def test_a_log_written_again_or_cut_is_not_the_one_whose_head_was_seen(
    folder: Path,
    store: Store,
    told: list[LoggedEvent],
) -> None:
    shown = told[3].link.hex()[:12] + "…"  # as the board shortens it
    assert log(folder, "--head", shown)[0] == 0
    # Whoever has the database can chain it anew: the referee itself does so for one of an earlier form.
    tampered(
        folder,
        "UPDATE events SET detail = replace(detail, 'false start', 'she is late'), link = NULL WHERE id = 2",
        f"PRAGMA user_version = {VERSION - 1}",
    )
    with closing(Store.open(folder / DATABASE_NAME)):
        pass
    code, lines, said = log(folder, "--head", shown)
    assert (code, len(lines)) == (1, 5 + 1), "its own chain is whole"
    assert said.startswith(f"referee: No event has the link {shown[:-1]}: ")
    tampered(folder, "DELETE FROM events WHERE id > 3")
    assert log(folder)[0] == 0
    assert log(folder, "--head", told[4].link.hex())[0] == 1


def test_what_is_no_contest_no_run_or_too_short_a_head_is_told(
    folder: Path,
    told: list[LoggedEvent],
    tmp_path: Path,
) -> None:
    code, _, said = log(tmp_path / "nosuch")
    assert code == 1
    beside = "The contest beside it is contest."
    assert (f"There is no folder {tmp_path}/nosuch. {beside}" in said) is True
    assert not (tmp_path / "nosuch").exists()
    code, _, said = log(folder, "--run", "77")
    assert code == 1
    assert ("There is no run 77" in said) is True
    for short in ("", "e"):
        assert (
            f"--head '{short}' is not 12 to 64 hexadecimal digits"
            in log(folder, "--head", short)[2]
        )
    head = told[3].link.hex()[:12]
    seen = f"The head {head} is event 4, of 2026-05-04 09:00:00 UTC: the log up to it is unchanged."
    assert log(folder, "--head", head)[1][-1] == seen


def test_the_log_follows_what_other_processes_write(folder: Path, store: Store) -> None:
    following = Program(
        [program("referee"), "log", str(folder), "--follow"],
        folder / "log.txt",
    )
    try:
        assert "signing-key" in following.first_line()
        store.log.append(
            START,
            3,
            "operator",
            operator="eve",
            action="void",
            reason="late",
        )
        assert following.first_line().endswith("void  run 3  by eve  reason late")
        tampered(folder, "UPDATE events SET kind = 'odd' WHERE id = 1")
        store.log.append(START, 3, "opened")
        assert following.first_line().endswith("opened  run 3"), (
            "what was read before is not read again"
        )
    finally:
        following.close()
