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
    if any(called in _names_of(one) for one in arguments):
        shown = [one.make_metavar(context) for one in arguments]
        form = " ".join([context.command_path, *shown])
        return f"Write it without {name}: {form}"
    has_json = any(one.name == "as_json" for one in options)
    if name in OUTPUTS and has_json:
        return f"The output goes to the terminal; to keep it in a file, write > FILE in place of {name} FILE."
    return ""


def options_of(context: click.Context) -> str:
    """Return the sentence that lists the options of a command."""
    names = [
        max(option.opts, key=len)
        for option in context.command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    return f"The options are {', '.join(names)}."


def _names_of(argument: click.Argument) -> set[str]:
    """Return the names by which people may give an argument as an option: ground_truth is gt, too."""
    name = argument.name or ""
    words = name.split("_")
    found = {
        name,
        name.removesuffix("s"),
        "".join(words),
        words[-1],
    }
    if len(words) > 1:
        initials = (word[0] for word in words)
        found.add("".join(initials))
    return found


def _long_options(context: click.Context) -> list[str]:
    options = context.command.get_params(context)
    shown = (one for one in options if not getattr(one, "hidden", False))
    names = (name for option in shown for name in option.opts)
    return [name for name in names if name.startswith("--")]
