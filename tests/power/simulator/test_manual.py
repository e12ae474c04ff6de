from __future__ import annotations

from pathlib import Path

from power.simulator.commands import COMMANDS
from power.simulator.manual import command_lines, page

PAGE = Path(__file__).parents[3] / "docs" / "wt300-commands.md"


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == page(), (
        "write it anew: python -m power.simulator.manual > docs/wt300-commands.md"
    )


def test_every_command_has_a_line_of_help() -> None:
    lines = list(command_lines())
    for command in COMMANDS:
        assert command.help.endswith(".")
        assert any(command.pattern.text in line for line in lines)


def test_no_command_is_in_the_table_twice() -> None:
    assert len({command.pattern.text for command in COMMANDS}) == len(COMMANDS)
