"""The command `lpirc-score` and its error boundary: a stated failure is one line on stderr and exit code 1."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lpirc_score.cli.score_command import score
from lpirc_score.cli.suggestions import options_of, otherwise, suggest_meant
from lpirc_score.errors import CodedError
from lpirc_score.files.abandoned_output import abandon_stdout
from lpirc_testsets import TestSetError
from lpirc_testsets.system_failures import told

NAME = "lpirc-score"


class Boundary(click.Command):
    """A command that prints the project's failures as one line.

    Any other exception is a defect and keeps its traceback.
    """

    def make_context(self, *arguments: Any, **given: Any) -> click.Context:
        """Read the options, of which --help and --version print; suggest only those that may be meant."""
        try:
            with _failures_stated():
                return super().make_context(*arguments, **given)
        except click.UsageError as error:
            suggest_meant(error)
            raise _with_way_out(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # A file name may contain characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        with _failures_stated():
            return super().invoke(ctx)


def _with_way_out(error: click.UsageError) -> click.UsageError:
    """Return the error; for an option that is like none, say how to write what it means."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    if error.possibilities:
        return error
    way_out = otherwise(error.option_name, error.ctx) or options_of(error.ctx)
    return click.UsageError(f"{error.message} {way_out}", error.ctx)


@contextmanager
def _failures_stated() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader of our output has closed the pipe (`| head`).
        abandon_stdout()
        sys.exit(1)
    except OSError as error:
        abandon_stdout()
        _fail(told(error))
    except (CodedError, TestSetError) as failure:
        _fail(failure.sentence)


def _fail(sentence: str) -> None:
    click.echo(f"{NAME}: {sentence}", err=True)
    sys.exit(1)


# `referee score` is the same command behind the referee's own boundary.
main = Boundary(
    NAME,
    params=[*score.params],
    callback=score.callback,
    help=score.help,
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name=NAME, message="%(prog)s %(version)s", prog_name=NAME)(
    main
)
