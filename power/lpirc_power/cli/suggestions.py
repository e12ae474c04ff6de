"""The commands and options that a misspelt one may mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click

LEAST_LIKENESS = 0.75
"""The likeness, from 0 to 1, of a slip to what was meant: one wrong letter of four. Below it, a guess misleads."""
SHORTEST = 3
"""Letters of a beginning from which an option is suggested; fewer begin too many."""

OUTPUTS = ("-o", "--out", "--output")
"""Options by which other programs name the file of their output."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which this one may be a slip, or None; the dashes of an option do not count."""
    plain = {one.lstrip("-"): one for one in known}
    found = get_close_matches(name.lstrip("-"), plain, n=1, cutoff=LEAST_LIKENESS)
    return plain[found[0]] if found else None


def suggest_meant(error: click.UsageError) -> None:
    """Suggest the options that a given one begins, or of which it may be a slip: click offers `--mode` for `--name`."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return
    name = error.option_name
    known = _long_options(error.ctx)
    begun = [one for one in known if one.startswith(name)]
    if len(name.lstrip("-")) < SHORTEST or not begun:
        slip = closest(name, known)
        begun = [] if slip is None else [slip]
    vars(error)["possibilities"] = begun
    if not begun:
        vars(error)["message"] = error.message + _otherwise(name, error.ctx)


def _otherwise(name: str, context: click.Context) -> str:
    """Return how to write what an unknown option means: an argument, or the file of the output; else the options."""
    options = context.command.get_params(context)
    arguments = [one for one in options if isinstance(one, click.Argument)]
    called = name.lstrip("-").replace("-", "_")
    if any(one.name == called for one in arguments):
        form = [context.command_path, *(one.make_metavar(context) for one in arguments)]
        return f" Write it without {name}: {' '.join(form)}"
    if name in OUTPUTS and any(one.name == "as_json" for one in options):
        return f" The output goes to the terminal; to keep it in a file, write > FILE in place of {name} FILE."
    if _takes(context, name):
        return (
            f" Options stand behind the command: {context.command_path} COMMAND {name}"
        )
    return f" The options are {options_of(context)}."


def _takes(context: click.Context, name: str) -> bool:
    """Return True if this is a group, and a command of it has an option of this name."""
    group = context.command
    if not isinstance(group, click.Group):
        return False
    commands = [group.get_command(context, one) for one in group.list_commands(context)]
    options = [option for one in commands if one for option in one.params]
    return any(name in (*one.opts, *one.secondary_opts) for one in options)


def options_of(context: click.Context) -> str:
    """Return the names of a command's options, as a list in a sentence."""
    options = context.command.get_params(context)
    shown = [one for one in options if isinstance(one, click.Option)]
    return ", ".join(max(one.opts, key=len) for one in shown if not one.hidden)


def _long_options(context: click.Context) -> list[str]:
    options = context.command.get_params(context)
    names = (name for option in options for name in option.opts)
    return [name for name in names if name.startswith("--")]
