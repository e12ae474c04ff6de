"""What is said of an argument that a command does not take: the option before which it may belong, or the form."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

NAMED_BY_OPTION = ("station", "heat")
"""Parameters whose values people write without their options."""
OF_WORDS = ("reason", "note", "text")
"""Parameters whose values are several words, which need quotes."""
_BY_CLICK = re.compile(r"Got unexpected extra arguments? \((?P<given>.*)\)", re.S)
_CONTEST = "folder"


def one_too_many(ctx: click.Context, given: str) -> str:
    """Return the sentence for a surplus argument of a command that has the option --contest."""
    quoted = shlex.quote(given)
    said = f"The argument {given!r} is one too many;"
    is_folder = Path(given).is_dir()
    named = [one for one in ctx.command.params if one.name in NAMED_BY_OPTION]
    if named and not is_folder:
        ways = " or ".join(f"{one.opts[0]} {quoted}" for one in named)
        return f"{said} write what it is: {ways}, or --contest {quoted}"
    folder = f"{ctx.command_path} --contest {quoted}"
    texts = [one for one in ctx.command.params if one.name in OF_WORDS]
    if texts:
        option = f'{texts[0].opts[0]} "\N{HORIZONTAL ELLIPSIS}"'
        return f"{said} put several words in quotes: {option}; or write {folder}"
    if is_folder:
        return f"{said} if it is the contest's folder, write: {folder}"
    return f"{said} {_form(ctx)} [--contest FOLDER].{_note(ctx)}"


def with_form(error: click.UsageError) -> click.UsageError:
    """Return the error; for a surplus argument that click found, name the option or the command's form."""
    found = _BY_CLICK.fullmatch(error.message)
    if found is None or error.ctx is None:
        return error
    ctx, given = error.ctx, found["given"]
    several = "s" if " " in given else ""
    verb = "are" if several else "is one"
    said = f"The argument{several} {given!r} {verb} too many;"
    if given.isdecimal() and any("--port" in one.opts for one in ctx.command.params):
        folder = shlex.quote(str(ctx.params.get(_CONTEST) or _CONTEST.upper()))
        words = f"a port is given as: {ctx.command_path} {folder} --port {given}"
        return click.UsageError(f"{said} {words}", ctx)
    return click.UsageError(f"{said} {_form(ctx)}.{_note(ctx)}", ctx)


def _form(ctx: click.Context) -> str:
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    shown = [one.make_metavar(ctx) for one in arguments]
    for one in ctx.command.params:
        if isinstance(one, click.Option) and one.required:
            shown += [one.opts[0], one.make_metavar(ctx)]
    return f"the form is: {' '.join([ctx.command_path, *shown])}"


def _note(ctx: click.Context) -> str:
    note = ctx.command.epilog
    return f" {note}" if note else ""
