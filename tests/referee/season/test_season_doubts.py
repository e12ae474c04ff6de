"""Whoever may write to a contest's folder changes what is in it: the season says so, and ranks none of it."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from referee.contest import open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.public_documents import empty_board
from referee.store import DATABASE_NAME
from referee.store.run_rules import Rules
from tests.contest_day import called
from tests.referee.season.conftest import CLOCK
from tests.referee.season.test_season import change, documents
from tests.referee.season.written_again import follow_their_run, write_log_again

Copy = Callable[..., Path]
RULES = Rules(0, False, 0, None, "lpirc", 1, 0, (), {}, "d" * 64, 600)
OTHER_KEY = "ab" * 32


@pytest.fixture
def bound(copy: Copy) -> Path:
    """The contest with its rules bound to each run, and the close of each run in its log, as since form 16."""
    folder = copy("spring")
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database, database:
        for table in ("runs", "scores"):
            database.execute(f"UPDATE {table} SET rules = ?", (RULES.text,))  # noqa: S608 - names from above
    follow_their_run(folder)
    with open_contest(folder) as contest:
        for run in contest.store.runs.find():
            evidence = contest.store.closings.evidence(run.id)
            contest.store.log.append(
                CLOCK.utc(),
                run.id,
                "closed",
                energy_wh=run.energy_wh,
                **evidence,
            )
    return folder


def codes(every: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {one["team"]: [doubt["code"] for doubt in one["doubts"]] for one in every}


def test_a_contest_as_the_program_left_it_has_no_doubt(bound: Path) -> None:
    every = documents(bound)
    assert codes(every) == {"ant": [], "cat": [], "bee": []}
    assert [one["rank"] for one in every] == [1, 2, 3]
    assert "?" not in called("season", str(bound)).stdout


# What is changed, and what is then said of the run of ant, and of the other runs of the contest.
ATTACKS: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "score": (
        ("UPDATE scores SET score = score * 1.3 WHERE run = 1",),
        ["score-differs", "judgement-differs"],
        [],
    ),
    "mAP with its score": (
        ("UPDATE scores SET map = map * 1.1, score = score * 1.1 WHERE run = 1",),
        ["judgement-differs"],
        [],
    ),
    "energy of the judgement with its score": (
        (
            "UPDATE scores SET energy_wh = energy_wh / 2, score = map / (energy_wh / 2) WHERE run = 1",
        ),
        ["judgement-differs", "energy-differs"],
        [],
    ),
    "energy everywhere but in the log": (
        (
            "UPDATE scores SET energy_wh = energy_wh / 2, score = map / (energy_wh / 2) WHERE run = 1",
            "UPDATE runs SET energy_wh = energy_wh / 2 WHERE id = 1",
        ),
        ["judgement-differs", "energy-differs"],
        [],
    ),
    "a judgement replaced by one of its own": (
        (
            "CREATE TEMP TABLE better AS SELECT * FROM scores WHERE run = 1",
            "UPDATE better SET id = 99, map = 1, score = 1 / energy_wh",
            "INSERT INTO scores SELECT * FROM better",
        ),
        ["judgement-differs"],
        [],
    ),
    "the event of the judgement as well": (
        (
            "UPDATE scores SET map = 0.9, score = 0.9 / energy_wh WHERE run = 1",
            "UPDATE events SET detail = json_set(detail, '$.map', 0.9, '$.score', 0.9 / 0.1)"
            " WHERE run = 1 AND kind = 'judged'",
        ),
        ["log-broken"],
        ["log-broken"],
    ),
    "an event removed": (
        ("DELETE FROM events WHERE id = 2",),
        ["log-broken"],
        ["log-broken"],
    ),
    "all links removed": (
        ("UPDATE events SET link = NULL", "PRAGMA user_version = 9"),
        ["log-broken"],
        ["log-broken"],
    ),
    "the last event, of a judgement, removed": (
        (
            "DELETE FROM events WHERE id >= (SELECT min(id) FROM events WHERE kind = 'judged' AND run = 1)",
        ),
        ["judgement-differs"],
        ["judgement-differs"],
    ),
    "a run removed": (
        (
            "DELETE FROM scores WHERE run = 3",
            "DELETE FROM posts WHERE run = 3",
            "DELETE FROM runs WHERE id = 3",
        ),
        ["run-missing"],
        ["run-missing"],
    ),
    "a run void without a word": (
        ("UPDATE runs SET state = 'void' WHERE id = 3",),
        ["void-differs"],
        ["void-differs"],
    ),
    "a body removed": (
        ("DELETE FROM posts WHERE id = (SELECT max(id) FROM posts WHERE run = 1)",),
        ["bodies-differ"],
        [],
    ),
    "another team's run": (
        ("UPDATE runs SET team = 'bee' WHERE id = 3",),
        [],
        ["bodies-differ"],
    ),
    "rules no longer bound": (
        ("UPDATE runs SET rules = NULL", "UPDATE scores SET rules = NULL"),
        ["bodies-differ"],
        ["bodies-differ"],
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_changed_in_a_folder_is_said_and_not_ranked(
    bound: Path,
    attack: str,
) -> None:
    statements, of_ant, of_others = ATTACKS[attack]
    change(bound, *statements)
    (bound / "contest.db-count").unlink()  # who may write to the folder may do so, too
    every = documents(bound)
    (mine,) = [one for one in every if one["team"] == "ant"]
    others = [one for one in every if one["team"] != "ant"]
    assert {doubt["code"] for doubt in mine["doubts"]} >= {*of_ant}
    assert bool(mine["doubts"]) is bool(of_ant)
    changed = [
        one for one in others if [doubt["code"] for doubt in one["doubts"]] == of_others
    ]
    assert changed if attack == "another team's run" else len(changed) == len(others)
    for one in every:
        if one["doubts"]:
            assert one["rank"] is None
            assert one["not_ranked_code"] == "not-verified"


def test_a_changed_score_is_marked_in_text_json_csv_and_html(
    bound: Path,
    tmp_path: Path,
) -> None:
    change(bound, "UPDATE scores SET score = score * 1.3 WHERE run = 1")
    out = tmp_path / "out"
    told = called("season", str(bound), "--out", str(out))
    ranks = {
        one["team"]: one["rank"]
        for one in json.loads((out / "season.json").read_text())
    }
    assert ranks == {"cat": 1, "bee": 2, "ant": None}
    (row,) = [line for line in told.stdout.splitlines() if " ant " in line]
    assert row.split()[0] == "-"
    assert row.split()[-1] == "?"
    assert "? its figures could not be verified" in told.stdout
    sentence = "is not mAP / Wh"
    assert sentence in told.stderr
    assert sentence in (out / "season.html").read_text()
    (line,) = [
        one
        for one in csv.DictReader((out / "season.csv").read_text().splitlines())
        if one["team"] == "ant"
    ]
    assert line["rank"] == ""
    assert line["not_ranked_code"] == "not-verified"
    assert "score-differs" in line["doubts"]


def test_a_log_that_was_written_again_differs_from_the_one_that_was_noted(
    bound: Path,
    tmp_path: Path,
) -> None:
    """Its chain holds: only who has read the earlier one can tell. A log that only grew is the same one."""
    out = tmp_path / "out"
    assert called("season", str(bound), "--out", str(out)).returncode == 0
    with open_contest(bound) as contest:
        contest.store.log.append(CLOCK.utc(), None, "note", sentence="The day is over.")
    assert {*map(tuple, codes(documents(bound, "--out", out)).values())} == {()}
    change(
        bound,
        "UPDATE scores SET map = map * 1.1, score = map * 1.1 / energy_wh WHERE run = 1",
    )
    write_log_again(bound)
    assert {*map(tuple, codes(documents(bound)).values())} == {()}, (
        "without what was noted"
    )
    for _ in range(2):
        found = documents(bound, "--out", out)
        assert {*map(tuple, codes(found).values())} == {("history-differs",)}
        assert [one["rank"] for one in found] == [None] * 3


def test_another_key_than_the_one_that_was_noted_is_said(
    bound: Path,
    copy: Copy,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    bundle = tmp_path / "run-1.zip"
    documents(bound, "--out", out)
    returncode = called(
        "bundle", "export", "1", "-o", str(bundle), "--contest", str(bound)
    ).returncode
    assert returncode == 0
    assert codes(documents(bundle, "--out", out)) == {"ant": []}
    noted = json.loads((out / "season-pins.json").read_text())
    ((contest, pin),) = noted.items()
    (out / "season-pins.json").write_text(
        json.dumps({contest: {"public_key": OTHER_KEY}})
    )
    assert codes(documents(bundle, "--out", out)) == {"ant": ["key-differs"]}
    told = called("season", str(bound), "--out", str(out))
    assert told.returncode == 0
    assert (
        f"signs with the key {pin['public_key']}, but the season recorded the key {OTHER_KEY} for it before"
        in told.stderr
    )
    assert all(line.split()[-1] == "?" for line in told.stdout.splitlines()[1:4])


def test_pins_that_cannot_be_read_are_named(made: Path, tmp_path: Path) -> None:
    (tmp_path / "season-pins.json").write_text('{"a": {"keys": 1}}')
    told = called("season", str(made / "spring"), "--out", str(tmp_path))
    assert told.returncode == 1
    assert "season-pins.json cannot be read" in told.stderr


def test_a_folder_of_before_there_were_chains_is_ranked_and_marked_as_not_bound(
    copy: Copy,
) -> None:
    spring = copy("spring")
    change(spring, "ALTER TABLE events DROP COLUMN link", "PRAGMA user_version = 9")
    every = documents(spring)
    assert codes(every) == {
        "ant": ["not-bound"],
        "cat": ["not-bound"],
        "bee": ["not-bound"],
    }
    assert [one["rank"] for one in every] == [1, 2, 3]
    assert "n not covered by a log" in called("season", str(spring)).stdout


def test_a_frozen_board_shows_only_what_is_on_record(bound: Path) -> None:
    with open_contest(bound) as contest:
        Publisher(contest, CLOCK).tick()
        contest.store.published.freeze(CLOCK.utc(), empty_board(contest))
    assert {*map(tuple, codes(documents(bound)).values())} == {()}
    change(
        bound,
        "UPDATE published SET document = replace(document, '\"score\": ', '\"score\": 1')",
    )
    assert all("score-differs" in doubts for doubts in codes(documents(bound)).values())
