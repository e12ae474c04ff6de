"""Groups of commands that import a command's module only when the command is named."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """`lazy` has, by the name of a command, its module in referee.cli and what it is for."""

    def __init__(self, *given: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted({*self.lazy, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in self.lazy and cmd_name not in self.commands:
            module = importlib.import_module(f"referee.cli.{self.lazy[cmd_name][0]}")
            self.commands[cmd_name] = getattr(module, cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in self.list_commands(ctx)])
