"""The command `referee` and its error boundary: a stated failure is one line on stderr and exit code 1."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

import click

from power.errors import MeterError
from referee.cli.contest import init, serve
from referee.cli.demo import demo
from referee.cli.doctor import doctor
from referee.cli.frontier import frontier
from referee.cli.judge import judge
from referee.cli.leaderboard import leaderboard
from referee.cli.model import model
from referee.cli.rehearse import rehearse
from referee.cli.rejudge import rejudge
from referee.cli.report import report
from referee.cli.run import run
from referee.cli.run_export import export
from referee.cli.run_list import list_runs
from referee.cli.run_versus import versus
from referee.cli.score import score
from referee.cli.suite import suite
from referee.cli.team import team
from referee.cli.testset import testset
from referee.errors import RefereeError
from testsets import TestSetError


class Boundary(click.Group):
    """Prints the project's failures as one line; anything else is a defect and keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # A file name may hold what the terminal's encoding does not.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            return super().invoke(ctx)
        except (RefereeError, MeterError, TestSetError) as failure:
            click.echo(f"referee: {failure.sentence}", err=True)
            sys.exit(1)
        except BrokenPipeError:
            # The reader of our output has gone (`| head`).
            sys.stderr.close()
            sys.exit(1)
        except OSError as error:
            # Permissions, a full disk, a folder that is a file: the system's message and the file say it all.
            click.echo(f"referee: {error.filename or 'system'}: {error.strerror or error}", err=True)
            sys.exit(1)


@click.group("referee", cls=Boundary, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("lpirc-referee"), prog_name="referee")
def main() -> None:
    """Referee low-power vision contests: mAP per watt-hour."""


for command in (
    rehearse,
    init,
    serve,
    team,
    run,
    judge,
    rejudge,
    leaderboard,
    score,
    testset,
    frontier,
    model,
    suite,
):
    main.add_command(command)
main.add_command(doctor)
main.add_command(report)
main.add_command(demo)
for command in (list_runs, versus, export):
    run.add_command(command)
