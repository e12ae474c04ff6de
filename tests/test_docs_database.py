"""The page about the database names what is there, and its queries find what they promise."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lpirc_testsets import synthesize
from referee.contest import create_contest, open_contest
from referee.judging.judge import judge
from referee.store import Store
from referee.store.schema import VERSION
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.sent_runs import closed_run, guesses

PAGE = (Path(__file__).parents[1] / "docs" / "database.md").read_text()
TABLE = re.compile(r"^`(\w+)`[^|]*?\n\n((?:\|.*\n)+)", re.MULTILINE)
QUERY = re.compile(r"^    (SELECT .*?;)$", re.MULTILINE | re.DOTALL)


def read_only(path: Path) -> closing[sqlite3.Connection]:
    """The database as the page says to open it."""
    return closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def test_the_page_names_every_table_and_column_and_no_other(tmp_path: Path) -> None:
    Store.open(tmp_path / "contest.db", create=True).close()
    columns = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    with read_only(tmp_path / "contest.db") as connection:
        there = set(connection.execute(columns))
    told = [
        (table, column)
        for table, lines in TABLE.findall(PAGE)
        for line in lines.splitlines()[2:]
        for column in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert set(told) == there
    assert len(told) == len(there), "a column is named twice"
    assert f"now {VERSION}." in PAGE


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a contest with two judged runs, one judged twice, one with rows that do not count."""
    folder = tmp_path_factory.mktemp("queries")
    test_set = synthesize(
        folder / "set",
        images=5,
        categories=3,
        seed=1,
        size=(96, 64),
    )
    create_contest(folder / "day", config_text(test_set))
    with open_contest(folder / "day") as contest:
        for team, number, images in (
            ("ant", 1, 3),
            ("bee", 2, 5),
            ("bee", 2, 5),
        ):
            if len(contest.store.runs.find()) < number:
                closed_run(contest, guesses(contest, 0.8), team=team, served=images)
            judge(contest, number, DrivenClock())
    return folder / "day" / "contest.db"


def test_every_query_of_the_page_finds_something(served: Path) -> None:
    queries = QUERY.findall(PAGE)
    assert len(queries) == 5
    with read_only(served) as connection:
        found = [connection.execute(query).fetchall() for query in queries]
    board, failed, power, figures, history = found
    assert [row[0] for row in board] == ["bee", "ant"]
    assert ("ant", "images-not-fetched") in [(row[1], row[2]) for row in failed]
    assert power == [
        (0, 36.0, pytest.approx(36 * 9.9 / 3600)),
        (10, 36.0, pytest.approx(36 * 10 / 3600)),
    ]
    assert [row[2] for row in figures] == [3, 5]
    assert figures[1][5] == pytest.approx(0.1 * 3.6e6 / 5)
    assert {row[:2] for row in history} == {(1, 1), (2, 2), (2, 3)}


def test_a_reader_as_the_page_says_changes_nothing_and_reads_while_others_write(
    served: Path,
) -> None:
    with closing(Store.open(served)) as store, read_only(served) as reader:
        assert reader.execute(
            "SELECT disabled FROM teams WHERE name = 'ant'"
        ).fetchone() == (0,)
        store.teams.set_disabled("ant", True)
        assert reader.execute(
            "SELECT disabled FROM teams WHERE name = 'ant'"
        ).fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM teams")
