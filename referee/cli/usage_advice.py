"""What is said of an argument or option that a command does not take: the one that it may be, or the form."""

from __future__ import annotations

import os.path
import re
import shlex
from pathlib import Path

import click

from lpirc_score.cli.suggestions import options_of, otherwise

NAMED_BY_OPTION = ("station", "heat")
"""Parameters whose values people write without their options."""
OF_WORDS = ("reason", "note", "text")
"""Parameters whose values are several words, which need quotes."""
_BY_CLICK = re.compile(
    r"Got unexpected extra argument(?P<several>s?) \((?P<given>.*)\)", re.S
)
_CONTEST = "folder"
_LARGEST_PORT = 65535
CONTEST = "--contest"
_WEB = ("http://", "https://")


def one_too_many(ctx: click.Context, given: str) -> str:
    """Return the sentence for a surplus argument of a command that has the option --contest."""
    quoted = shlex.quote(given)
    said = f"The argument {given!r} is one too many;"
    is_folder = os.path.isdir(given)  # noqa: PTH112 - the same on every Python
    named = [one for one in ctx.command.params if one.name in NAMED_BY_OPTION]
    if named and not is_folder:
        ways = " or ".join(f"{one.opts[0]} {quoted}" for one in named)
        return f"{said} write what it is: {ways}, or --contest {quoted}"
    folder = f"{_call(ctx)} --contest {quoted}"
    texts = [one for one in ctx.command.params if one.name in OF_WORDS]
    if texts:
        option = f'{texts[0].opts[0]} "\N{HORIZONTAL ELLIPSIS}"'
        return f"{said} put several words in quotes: {option}; or write {folder}"
    if way := _as_option(ctx, given):
        return f"{said} {way}"
    if is_folder:
        return f"{said} if it is the contest's folder, write: {folder}"
    return f"{said} {_form(ctx)} [--contest FOLDER].{_note(ctx)}"


def with_advice(error: click.UsageError) -> click.UsageError:
    """Return the error with what the command takes, for an argument or option too many, and an option missing."""
    ctx = error.ctx
    if ctx is None or isinstance(ctx.command, click.Group):
        return _with_option_behind(error)
    if isinstance(error, click.NoSuchOption):
        return _with_options(error, ctx)
    if isinstance(error, click.MissingParameter):
        return _with_option_shown(error, ctx)
    found = _BY_CLICK.fullmatch(error.message)
    if found is None:
        return error
    return _surplus(found["given"], ctx, are_several=bool(found["several"]))


def _with_option_behind(error: click.UsageError) -> click.UsageError:
    """Return the error; for an option between a group and its command, say where it stands, and name the commands."""
    ctx = error.ctx
    if ctx is None or not isinstance(error, click.NoSuchOption):
        return error
    form = f"{ctx.command_path} COMMAND"
    words = f"Write it behind the command: {form} {CONTEST}"
    if error.option_name != CONTEST and isinstance(ctx.command, click.Group):
        names = ", ".join(ctx.command.list_commands(ctx))
        words = f"Write a command first, then its options: {form}; the commands are {names}."
    return click.UsageError(f"{error.message} {words}", ctx)


def _with_option_shown(
    error: click.MissingParameter, ctx: click.Context
) -> click.UsageError:
    """Return the error; for an option that is missing, show the form: the usage line above has only arguments."""
    if not isinstance(error.param, click.Option):
        return error
    return click.UsageError(f"{error.format_message()} T{_form(ctx)[1:]}", ctx)


def _with_options(error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
    """Return the error for an unknown option: the argument that it names, or the options that there are."""
    name = error.option_name
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    is_folder = any(one.name == _CONTEST for one in arguments)
    advice = ""
    if name == CONTEST and is_folder:
        advice = (
            f"For a contest, this command takes the folder without it: {_call(ctx)}"
        )
    elif any(name.strip("-").casefold() in _words(one, ctx) for one in arguments):
        advice = f"What it means stands without an option: {_call(ctx)}"
    elif way_out := otherwise(name, ctx):
        advice = way_out
    elif _is_flag(name.replace("--no-", "--", 1), ctx) and name.startswith("--no-"):
        flag = name.replace("--no-", "--", 1)
        advice = f"{flag} is off unless it is given; leave it out."
    elif re.fullmatch(r"-\d", name):
        advice = "A number below 0 has no meaning here."
    elif not error.possibilities:
        advice = f"{options_of(ctx)}{_note(ctx)}"
    return click.UsageError(f"{error.message} {advice}", ctx) if advice else error


def _is_flag(name: str, ctx: click.Context) -> bool:
    flags = [one for one in ctx.command.params if getattr(one, "is_flag", False)]
    return any(name in one.opts and one.default is not True for one in flags)


def _words(argument: click.Argument, ctx: click.Context) -> set[str]:
    """Return the names by which people may give an argument as an option."""
    shown = argument.make_metavar(ctx).strip("[].")
    return {str(argument.name).casefold(), shown.casefold()}


def _surplus(given: str, ctx: click.Context, *, are_several: bool) -> click.UsageError:
    said = f"The argument {given!r} is one too many;"
    if are_several:
        said = f"The arguments {given!r} are too many;"
    elif way := _as_option(ctx, given):
        return click.UsageError(f"{said} {way}", ctx)
    takes_arguments = any(isinstance(p, click.Argument) for p in ctx.command.params)
    options = "" if takes_arguments else f" {options_of(ctx)}"
    return click.UsageError(f"{said} {_form(ctx)}.{options}{_note(ctx)}", ctx)


def _as_option(ctx: click.Context, given: str) -> str:
    """Return how an argument is given as an option: a port, an address of the web, an option's name; or ""."""
    # It reads test sets, with NumPy, which a command that is right may not need.
    from referee.cli.output_paths import FolderToMake

    for one in ctx.command.params:
        if not isinstance(one, click.Option):
            continue
        name = max(one.opts, key=len)
        quoted = shlex.quote(given)
        if given == name.lstrip("-"):
            return f"an option begins with --: {_call(ctx)} {name}"
        if (
            (name == "--port" and _is_port(given))
            or (one.metavar == "URL" and given.startswith(_WEB))
            or (name == "--testset" and is_test_set(given))
        ):
            return f"it is given as: {_call(ctx)} {name} {quoted}"
    if "://" in given or os.path.exists(given):  # noqa: PTH110 - the same on every Python
        return ""
    for one in ctx.command.params:
        if isinstance(one, click.Option) and isinstance(one.type, FolderToMake):
            new = f"{max(one.opts, key=len)} {shlex.quote(given)}"
            return f"a new folder is given as: {_call(ctx)} {new}"
    return ""


def _is_port(given: str) -> bool:
    return bool(re.fullmatch("[0-9]{1,5}", given)) and int(given) <= _LARGEST_PORT


def is_test_set(given: str) -> bool:
    """Return True for the path of a folder that has the manifest of a test set."""
    manifest = Path(given, "manifest.json")
    return os.path.isfile(manifest)  # noqa: PTH113 - the same on every Python


def _form(ctx: click.Context) -> str:
    return f"the form is: {_call(ctx)}"


def _call(ctx: click.Context) -> str:
    """Return the command with its arguments, and the options that it needs."""
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    shown = [_shown(one, ctx) for one in arguments]
    return " ".join([ctx.command_path, *shown, *needed_options(ctx)])


def needed_options(ctx: click.Context) -> list[str]:
    """Return the options that a command needs, each before the word for its value."""
    shown = []
    for one in ctx.command.params:
        if isinstance(one, click.Option) and one.required:
            shown += [one.opts[0], one.make_metavar(ctx)]
    return shown


def _shown(argument: click.Argument, ctx: click.Context) -> str:
    """Return an argument as it was given, if it was read already; else its name."""
    given = ctx.params.get(argument.name or "")
    if isinstance(given, str | int | Path):
        return shlex.quote(str(given))
    return argument.make_metavar(ctx)


def _note(ctx: click.Context) -> str:
    """Return what a command of a contest says at its end; that of others is about the choice among them."""
    is_of_contest = any(CONTEST in one.opts for one in ctx.command.params)
    note = ctx.command.epilog
    return f" {note}" if note and is_of_contest else ""
