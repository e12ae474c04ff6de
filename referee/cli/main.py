"""The command `referee` and its error handling: an expected failure is one line on stderr and exit code 1."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import click

from lpirc_power.errors import MeterError
from lpirc_score.cli.suggestions import suggest_meant
from lpirc_score.files.abandoned_output import abandon_stdout
from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.system_failures import told
from referee.cli.own_commands import COMMANDS, LateCommand
from referee.errors import ContestMissing, RefereeError

COMMANDS_OF_TRACKS = frozenset({"device", "frontier", "model", "suite"})


STATED_FAILURES = (RefereeError, MeterError, TestSetError)
"""Errors that are shown as one sentence at the terminal."""


_SETTINGS = (
    "Settings and stations stand in the contest's contest.toml; while it is served, the console's page "
    "/operator/settings/rules changes them."
)
_END = "A server ends by Ctrl-C, or by the service manager that began it; referee serve begins it again."
NO_COMMANDS = {
    **dict.fromkeys(("settings", "config", "station", "stations"), _SETTINGS),
    **dict.fromkeys(("restart", "shutdown", "kill"), _END),
    "help": "For help write: referee --help, or referee COMMAND --help",
    "version": "For the version write: referee --version",
}
"""Words that people take for commands, each with what does it."""

OTHER_WORDS = {
    "board unfreeze": "board unveil --all",
    "board thaw": "board unveil --all",
    "board publish": "board unveil --all",
    "operator password": "operator remove NAME, then: referee operator add NAME",
    "operator delete": "operator remove NAME",
    "run add": "run arm TEAM",
    "run cancel": 'run void RUN --reason "…"',
    "run delete": 'run void RUN --reason "…"',
    "run end": "run close RUN",
    "run judge": "judge RUN",
    "run new": "run arm TEAM",
    "run score": "judge RUN",
    "run stop": "run close RUN",
    "team delete": "team disable NAME",
    "team passwd": "team password NAME",
    "team remove": "team disable NAME",
    "team rm": "team disable NAME",
}
"""Words that people take for commands of a group, each with the command that does it."""

_NO_SUCH_COMMAND = getattr(click.exceptions, "NoSuchCommand", None)
"""Earlier versions of click have no class for it."""


def _seams() -> ModuleType:
    """Import the plug-in registry.

    It is imported late, because reading the metadata of all distributions takes time that only plug-in commands need.
    """
    return import_module("referee.seams")


def _listed(name: str) -> click.Command | None:
    """Return the command with this name, or None; a built-in command is not imported yet. Raises PluginError."""
    if name in COMMANDS:  # first: to look for plug-ins takes a while
        return COMMANDS[name]
    plugins = _seams().COMMANDS
    if name in plugins.names():
        command: click.Command = plugins.load(name).value
        return command
    if name in COMMANDS_OF_TRACKS:
        words = (
            "which is not installed here: pip install ./tracks in the project's folder, "
            "or lpirc_tracks-*.whl of the release"
        )
        raise RefereeError(
            "tracks-missing", f"The command {name} is part of lpirc-tracks, {words}"
        )
    return None


def words_of(name: str) -> str:
    """Return the text beside a command in the list of commands; for a broken plug-in, return the error."""
    try:
        command = _listed(name)
    except STATED_FAILURES as failure:
        return failure.sentence
    return "" if command is None else command.get_short_help_str(100)


def _with_commands(error: click.UsageError) -> click.UsageError:
    """Return the error; if an unknown command of a group is like none of its commands, list them."""
    group = error.ctx.command if error.ctx is not None else None
    if group is not None and _NO_SUCH_COMMAND is not None:
        given = getattr(error, "command_name", "")
        if meant := OTHER_WORDS.get(f"{group.name} {given}"):
            words = f"There is no '{group.name} {given}'; write: referee {meant}"
            return click.UsageError(words, error.ctx)
    if (
        _NO_SUCH_COMMAND is None
        or not isinstance(error, _NO_SUCH_COMMAND)
        or not isinstance(group, click.Group)
        or getattr(error, "possibilities", None)
    ):
        return error
    names = ", ".join(group.list_commands(error.ctx or click.Context(group)))
    return click.UsageError(f"{error.message} The commands are {names}.", error.ctx)


@contextmanager
def _failures_stated() -> Iterator[None]:
    """Turn expected errors into one line and exit code 1."""
    try:
        yield
    except BrokenPipeError:
        # The program that read our output has ended (`| head`).
        abandon_stdout()
        sys.exit(1)
    except OSError as error:
        abandon_stdout()
        click.echo(f"referee: {told(error)}", err=True)
        sys.exit(1)
    except STATED_FAILURES as failure:
        click.echo(f"referee: {failure.sentence}", err=True)
        sys.exit(1)


@contextmanager
def _source_named(ctx: click.Context) -> Iterator[None]:
    """Make the error about a contest that is missing tell how its folder is named, if no option named it."""
    try:
        yield
    except ContestMissing as error:
        # Imported late: few commands fail, and the list of commands needs no options.
        from referee.cli.shared_options import with_source

        raise with_source(error, ctx) from error
    except RefereeError as error:
        from referee.cli.shared_options import with_contest

        raise RefereeError(error.code, with_contest(error.sentence, ctx)) from error


class Boundary(click.Group):
    """The command group. It imports a command's module only when the command is named, and prints errors as one line.

    An error that is not expected is a defect and keeps its traceback.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program. On Windows, exit with an error, even for --help."""
        if sys.platform == "win32":
            click.echo(
                "referee: it runs on Linux and macOS, not on Windows; use WSL 2.",
                err=True,
            )
            sys.exit(1)
        return super().main(*args, **kwargs)

    def make_context(self, *arguments: Any, **given: Any) -> click.Context:
        """Read the options, of which --help and --version print."""
        with _failures_stated():
            return super().make_context(*arguments, **given)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command; an option of a command must stand after it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            suggest_meant(error)
            words = "write a command first, then its options: referee COMMAND"
            raise click.UsageError(
                f"{error.format_message()} If it belongs to a command, {words} {error.option_name}",
                ctx,
            ) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, including those of plug-ins."""
        return sorted({*COMMANDS, *_seams().COMMANDS.names()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or None. Raises PluginError."""
        command = _listed(cmd_name)
        return command.real() if isinstance(command, LateCommand) else command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named; for an unknown one, name the command that may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0].startswith("-"):
                raise
            # click knows only commands that are imported already.
            advice = self._meant(ctx, args[0])
            if not advice:
                advice = f" The commands are {', '.join(self.list_commands(ctx))}."
            words = f"{error.message}{advice}"
            raise click.UsageError(words, ctx) from error

    def _meant(self, ctx: click.Context, name: str) -> str:
        """Return a question that names a command, also one inside a group: "arm" may mean "run arm"."""
        if name in NO_COMMANDS:
            return f" {NO_COMMANDS[name]}"
        group, _, within = name.partition("-")
        of_group = self.get_command(ctx, group) if within else None
        if isinstance(of_group, click.Group) and within in of_group.commands:
            return f" Did you mean '{group} {within}'?"
        inside = []
        for group in COMMANDS:
            command = self.get_command(ctx, group)
            if isinstance(command, click.Group) and name in command.commands:
                inside.append(f"{group} {name}")
        if inside:
            return f" Did you mean {' or '.join(map(repr, inside))}?"
        return did_you_mean(name, self.list_commands(ctx))

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing the modules of built-in commands."""
        with formatter.section("Commands"):
            lines = [(name, words_of(name)) for name in self.list_commands(ctx)]
            formatter.write_dl(lines)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn expected errors into one line and exit code 1."""
        # A file name may have characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            with _failures_stated(), _source_named(ctx):
                return super().invoke(ctx)
        except click.UsageError as error:
            # They need the contest's settings, which a command that is right may not need.
            from referee.cli.shared_options import with_contest
            from referee.cli.usage_advice import with_advice

            suggest_meant(error)
            advised = with_advice(_with_commands(error))
            sentence = with_contest(advised.format_message(), ctx)
            if sentence != advised.format_message():
                advised = click.UsageError(sentence, advised.ctx)
            raise advised from error


@click.group(
    "referee", cls=Boundary, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(
    package_name="lpirc-referee", prog_name="referee", message="%(prog)s %(version)s"
)
def main() -> None:
    """Referee low-power vision contests: mAP per watt-hour."""
