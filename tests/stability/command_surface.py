"""Public words at the terminal: commands, their arguments and options, as the parsers know them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import click

from lpirc_client.cli import build_parser as client_parser
from lpirc_client.harness.cli import build_parser as harness_parser
from lpirc_power.cli import main as meter
from lpirc_score.cli.score_command import score
from referee.cli import main as referee


def lines() -> list[str]:
    """Return a line for each argument and option of each command."""
    groups = {"referee": referee, "meter": meter, "lpirc-score": score}
    found = [one for name, group in groups.items() for one in _of_click(name, group)]
    for name, parser in (
        ("lpirc-client", client_parser()),
        ("lpirc-harness", harness_parser()),
    ):
        found += _of_argparse(name, parser)
    return sorted({*found})


def _of_click(name: str, command: click.Command) -> Iterator[str]:
    if command.hidden:
        return
    yield name
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        if isinstance(parameter, click.Argument):
            words = [parameter.make_metavar(click.Context(command))]
        else:
            words = [*parameter.opts, *parameter.secondary_opts]
        for word in words:
            yield f"{name}: {word}{_takes(parameter)}"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for one in command.list_commands(context):
            inner = command.get_command(context, one)
            assert inner is not None
            yield from _of_click(f"{name} {one}", inner)


def _takes(parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Choice):
        return f" {{{','.join(map(str, parameter.type.choices))}}}"
    return " (must be given)" if parameter.required else ""


def _of_argparse(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield name
    for action in parser._actions:  # noqa: SLF001 - it tells them nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for word, inner in action.choices.items():
                yield from _of_argparse(f"{name} {word}", inner)
        elif action.help is not argparse.SUPPRESS:
            for word in action.option_strings or [action.dest.upper()]:
                choices = action.choices or ()
                takes = f" {{{','.join(map(str, choices))}}}" if choices else ""
                yield f"{name}: {word}{takes}"
