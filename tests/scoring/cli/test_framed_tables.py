"""Tables in the terminal: aligned whatever the letters, whole in a narrow one, and drawable everywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lpirc_score.cli.framed_tables import (
    DRAWN,
    PLAIN,
    FramedTable,
    facts_table,
    figures_table,
    print_framed,
)
from lpirc_score.cli.terminal_tables import cell_width


def filled() -> FramedTable:
    table = figures_table("id", "name", figures=["AP\ncoco", "found"], title="Scores")
    table.add_row("1", "cat", "0.5", "12")
    table.add_row("2", "犬", "none", "3")
    table.add_section()
    table.add_row("", "mean", "0.5")
    return table


def test_a_table_is_framed_with_figures_on_the_right() -> None:
    lines = [*filled().lines(DRAWN)]
    assert "Scores" in lines[0]
    assert lines[1] == "┏━━━━┳━━━━━━┳━━━━━━┳━━━━━━━┓"
    assert "┃ id ┃ name ┃   AP ┃ found ┃" in lines[2]
    assert "┃    ┃      ┃ coco ┃       ┃" in lines[3]
    assert lines[5:] == [
        "│ 1  │ cat  │  0.5 │    12 │",
        "│ 2  │ 犬   │ none │     3 │",
        "├────┼──────┼──────┼───────┤",
        "│    │ mean │  0.5 │       │",
        "└────┴──────┴──────┴───────┘",
    ]


def test_facts_have_no_head() -> None:
    table = facts_table("Run 1")
    table.add_row("images", "3")
    assert [*table.lines(PLAIN)][1:] == [
        "+--------+---+",
        "| images | 3 |",
        "+--------+---+",
    ]


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("cat", 3),
        ("犬猫", 4),
        ("\N{FULLWIDTH LATIN SMALL LETTER F}" * 4, 8),
        ("e\N{COMBINING ACUTE ACCENT}", 1),
        ("é", 1),
        ("a\N{ZERO WIDTH JOINER}b", 2),
        ("", 0),
    ],
)
def test_a_letter_takes_the_cells_that_a_terminal_gives_it(
    text: str,
    width: int,
) -> None:
    assert cell_width(text) == width


def test_a_name_cannot_break_out_of_its_line() -> None:
    table = facts_table("a\nb")
    table.add_row("c\r\nd", "\x1b[31m")
    lines = [*table.lines(DRAWN)]
    assert len(lines) == 4
    assert r"c\r\nd" in lines[2]
    assert "\x1b[31m" not in lines[2]


def test_a_long_cell_is_not_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    table = facts_table("")
    table.add_row("name", "x" * 500)
    print_framed(table)
    assert "x" * 500 in capsys.readouterr().out


@pytest.mark.parametrize(("encoding", "corner"), [("utf-8", "┌"), ("ascii", "+")])
def test_where_lines_cannot_be_written_ascii_is(encoding: str, corner: str) -> None:
    code = (
        "from lpirc_score.cli.framed_tables import facts_table, print_framed;"
        "table = facts_table(''); table.add_row('a', 'b'); print_framed(table)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONIOENCODING": encoding},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout.decode(encoding).startswith(corner)


def test_the_scorer_needs_no_package_for_its_tables() -> None:
    code = "import sys, lpirc_score.cli.score_command; print('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
