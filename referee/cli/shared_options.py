"""Options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from lpirc_score.cli.score_options import AnyPath
from referee.cli.number_types import RealNumber, RunNumber, WholeNumber
from referee.cli.usage_advice import CONTEST, one_too_many
from referee.errors import ContestMissing, RefereeError

if TYPE_CHECKING:
    from referee.web.listener import Listen

Command = TypeVar("Command", bound=Callable[..., Any])


VARIABLE = "REFEREE_CONTEST"
CONTEST_FROM = "referee.contest-from"
"""The folder and the source of a --contest that was not written, in the context's `meta`."""
_QUOTED = r""""[^"]*"|'[^']*'"""
PROPOSED = re.compile(
    rf"""(?<=: )referee [a-z](?:{_QUOTED}|\.\.\.|[^;.,()"']|[.,](?=\S))*?(?=[;)]|[.,](?:\s|$)|$)"""
)
"""A proposed command, up to the end of its clause."""
HAS_CONTEST = re.compile(r"[ \[]--(contest|help)\b")
CONTEST_GIVEN = "referee.contest-given"
"""The folder of a --contest that was written, in the context's `meta`."""
NOT_AT_THE_COMMAND_LINE = (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)


class ContestOption(click.Option):
    """The option --contest. A surplus argument, which may be the contest's folder, is refused with a hint at it."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read the option; `args` are the arguments that are left over."""
        if args and not ctx.resilient_parsing:
            ctx.fail(one_too_many(ctx, args[0]))
        given, left = super().handle_parse_result(ctx, opts, args)
        source = ctx.get_parameter_source(self.name or "")
        if source is ParameterSource.COMMANDLINE:
            ctx.meta[CONTEST_GIVEN] = given
        if source in NOT_AT_THE_COMMAND_LINE:
            ctx.meta[CONTEST_FROM] = given, source
        return given, left


class ContestArgument(click.Argument):
    """The contest's folder as an argument, which is read before the options: their errors propose commands for it."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read the argument."""
        given, left = super().handle_parse_result(ctx, opts, args)
        source = ctx.get_parameter_source(self.name or "")
        if source is ParameterSource.COMMANDLINE:
            ctx.meta[CONTEST_GIVEN] = given
        return given, left


def with_contest(sentence: str, ctx: click.Context) -> str:
    """Return a sentence whose proposed commands have the contest of this command, so that they work as they stand."""
    given = ctx.meta.get(CONTEST_GIVEN)
    if given is None or str(given) == ".":
        return sentence
    option = f" --contest {shlex.quote(str(given))}"

    def completed(found: re.Match[str]) -> str:
        is_complete = HAS_CONTEST.search(found[0]) or not _takes_contest(found[0], ctx)
        return found[0] if is_complete else found[0] + option

    return PROPOSED.sub(completed, sentence)


def _takes_contest(proposed: str, ctx: click.Context) -> bool:
    """Return whether a command that is proposed has the option --contest."""
    root = ctx.find_root()
    command: click.Command | None = root.command
    for word in proposed.split()[1:]:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(root, word)
    return command is not None and any(CONTEST in one.opts for one in command.params)


def with_source(missing: ContestMissing, ctx: click.Context) -> RefereeError:
    """Return the error about a contest that is missing; if no option named its folder, say how one does."""
    given, source = ctx.meta.get(CONTEST_FROM, (None, None))
    if given != missing.folder:
        return missing
    if source is ParameterSource.ENVIRONMENT:
        sentence = f"{VARIABLE} is set to {str(given)!r}: {missing.sentence}"
        return RefereeError(missing.code, sentence)
    advice = (
        f"Name the contest's folder with --contest FOLDER, or export {VARIABLE}=FOLDER."
    )
    return RefereeError(missing.code, f"{missing.what} {advice}")


any_path = AnyPath()
contest_argument = partial(
    click.argument, "folder", cls=ContestArgument, type=any_path, is_eager=True
)
contest_folder = click.option(
    "--contest",
    "folder",
    cls=ContestOption,
    type=any_path,
    default=Path(),
    envvar=VARIABLE,
    help="The contest folder; default: $REFEREE_CONTEST, or the current folder.",
)
port_option = click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=8080,
    show_default=True,
    help="0: any free port.",
)
_pem = click.Path(path_type=Path, exists=True, dir_okay=False)
_LISTENING = (
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Address to listen on; 0.0.0.0 means all networks of this machine.",
    ),
    port_option,
    click.option("--tls-cert", type=_pem, help="PEM; needs --tls-key."),
    click.option("--tls-key", type=_pem, help="PEM."),
    click.option(
        "--parent",
        type=int,
        hidden=True,
        help="End when the process with this PID ends.",
    ),
)
run_number = RunNumber()
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)

LONGEST_S = 86_400.0


def _above_0_s(
    ctx: click.Context, param: click.Parameter, value: float | None
) -> float | None:
    """Check that a number of seconds is above 0 and at most a day.

    click.FloatRange would accept NaN.
    """
    if value is not None and not 0 < value <= LONGEST_S:
        raise click.BadParameter(
            f"{value} is not a number of seconds above 0 and up to {LONGEST_S:g}.",
            ctx,
            param,
        )
    return value


seconds_option = partial(
    click.option, type=RealNumber(is_seconds=True), callback=_above_0_s
)


def listening_options(command: Command) -> Command:
    """Add the options for the address at which a command serves; `listening` takes their values."""
    for option in reversed(_LISTENING):
        command = option(command)
    return command


def listening(
    host: str, port: int, tls_cert: Path | None, tls_key: Path | None
) -> Listen:
    """Return the address to serve at.

    Raises click.UsageError for a certificate without its key, or a key without its certificate.
    """
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.listener import Listen

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("Give both --tls-cert and --tls-key, or neither.")
    return Listen(host, port, tls_cert, tls_key)


def hexadecimal(option: str, text: str | None, least: int) -> str | None:
    """Return hexadecimal digits of an option, at least `least` of them, in lower case.

    Raises RefereeError `bad-request`.
    """
    digits = text.strip().rstrip("…").lower() if text is not None else None
    if digits is not None and not re.fullmatch(rf"[0-9a-f]{{{least},64}}", digits):
        many = "64" if least == 64 else f"{least} to 64"
        raise RefereeError(
            "bad-request", f"{option} {text!r} is not {many} hexadecimal digits."
        )
    return digits
