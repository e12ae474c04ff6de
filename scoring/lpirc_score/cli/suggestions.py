"""The names that click suggests for a misspelt command or option."""

from __future__ import annotations

import re

import click

from lpirc_testsets.close_names import closest

SHORTEST = 3
"""Letters of a beginning from which an option is suggested; fewer begin too many."""

OUTPUTS = ("-o", "--out", "--output")
"""Options by which other programs name the file of their output."""


def suggest_meant(error: click.UsageError) -> None:
    """Suggest the options that a given one begins, or of which it may be a slip: click offers `--mode` for `--name`."""
    _drop_misleading_commands(error)
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return
    name = error.option_name
    known = _long_options(error.ctx)
    begun = [one for one in known if one.startswith(name)]
    if re.fullmatch("-[a-z]", name):  # -port, or -p for --port
        begun = [one for one in known if one.startswith(f"-{name}")]
    elif len(name.lstrip("-")) < SHORTEST or not begun:
        slip = closest(name, known)
        begun = [] if slip is None else [slip]
    vars(error)["possibilities"] = begun


def _drop_misleading_commands(error: click.UsageError) -> None:
    """Remove commands of which the given one cannot be a slip: click offers `enable` for `rename`."""
    name = getattr(error, "command_name", None)
    suggested = getattr(error, "possibilities", None)
    if name and suggested:
        meant = [one for one in suggested if closest(name, [one]) is not None]
        vars(error)["possibilities"] = meant


def otherwise(name: str, context: click.Context) -> str:
    """Return how to write what an unknown option means: an argument, or the file that takes the output."""
    options = context.command.get_params(context)
    arguments = [one for one in options if isinstance(one, click.Argument)]
    called = name.lstrip("-").replace("-", "_")
    if any(one.name == called for one in arguments):
        form = [context.command_path, *(one.make_metavar(context) for one in arguments)]
        return f"Write it without {name}: {' '.join(form)}"
    if name in OUTPUTS and any(one.name == "as_json" for one in options):
        return f"The output goes to the terminal; to keep it in a file, write > FILE in place of {name} FILE."
    return ""


def _long_options(context: click.Context) -> list[str]:
    options = context.command.get_params(context)
    shown = (one for one in options if not getattr(one, "hidden", False))
    names = (name for option in shown for name in option.opts)
    return [name for name in names if name.startswith("--")]
