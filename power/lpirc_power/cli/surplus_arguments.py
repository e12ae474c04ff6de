"""What is said of an argument that a command does not take: the flag that takes no value, or the command's form."""

from __future__ import annotations

import re
import shlex

import click

from lpirc_power.cli.suggestions import options_of

LONGEST = 60
_BY_CLICK = re.compile(
    r"Got unexpected extra (?P<noun>arguments?) \((?P<given>.*)\)", re.S
)
_JSON = "as_json"


def with_form(error: click.UsageError) -> click.UsageError:
    """Return the error; for a surplus argument that click found, say what the command takes."""
    found = _BY_CLICK.fullmatch(error.message)
    if found is None or error.ctx is None:
        return error
    given = found["given"]
    context = error.ctx
    if context.params.get(_JSON) and given.lower().endswith(".json"):
        words = f"--json takes no value, and prints the document; write --json > {shlex.quote(given)}"
        return click.UsageError(words, context)
    argument = found["noun"]
    verb = "are" if argument == "arguments" else "is one"
    shown = given if len(given) <= LONGEST else f"{given[:LONGEST]}..."
    arguments = [
        one.make_metavar(context)
        for one in context.command.params
        if isinstance(one, click.Argument)
    ]
    form = " ".join([context.command_path, "[OPTIONS]", *arguments])
    if not arguments:
        form += f", with the options {options_of(context)}."
    words = f"The {argument} {shown!r} {verb} too many; the form is: {form}"
    return click.UsageError(words, context)
