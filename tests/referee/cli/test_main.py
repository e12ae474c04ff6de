"""The command's table of commands: each is where it says, and imported only when it is named."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from referee.cli.main import COMMANDS, main


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_where_the_table_says(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(), "it says what it is for"


def test_the_help_lists_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    assert [
        line.split()[0] for line in shown.partition("Commands:\n")[2].splitlines()
    ] == sorted(COMMANDS)
