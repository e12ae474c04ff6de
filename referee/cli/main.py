"""The command `referee` and its error boundary: a stated failure is one line on stderr and exit code 1."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from lpirc_power.errors import MeterError
from referee.errors import RefereeError

# By name: the module, and what its help begins with.
COMMANDS = {
    "backup": (
        "referee.cli.backup_command",
        "Back up a contest into one file, also while it is served.",
    ),
    "board": ("referee.cli.board_command", "Freeze and unveil the public board."),
    "bundle": (
        "referee.cli.bundle_command",
        "Export a run as a file that anyone can verify; verify one.",
    ),
    "compare": ("referee.cli.compare_command", "Show two judged runs side by side."),
    "demo": ("referee.cli.demo_command", "Serve a rehearsed contest day to look at."),
    "device": (
        "lpirc_tracks.cli.device",
        "Register, list and remove devices that measure models.",
    ),
    "doctor": (
        "referee.cli.doctor_command",
        "List what is wrong with a contest, its meters and this host.",
    ),
    "frontier": ("lpirc_tracks.cli.frontier", "The accuracy to expect at a latency."),
    "init": ("referee.cli.init_command", "Make a contest folder."),
    "jobs": (
        "referee.cli.jobs_command",
        "List what is to be scored or measured, and cancel it.",
    ),
    "judge": (
        "referee.cli.judge_command",
        "Judge a closed run: mAP, energy, score and checks.",
    ),
    "leaderboard": (
        "referee.cli.leaderboard_command",
        "Rank the best judged run of each team by its score.",
    ),
    "log": (
        "referee.cli.log_command",
        "List what is on record, and verify its hash chain.",
    ),
    "model": (
        "lpirc_tracks.cli.model",
        "Model tracks: bench, submit and withdraw models; publish boards.",
    ),
    "operator": (
        "referee.cli.operator_command",
        "Register, list and remove operators of the console.",
    ),
    "practice": (
        "referee.cli.practice_command",
        "Serve a referee for practice at home, until Ctrl-C.",
    ),
    "rehearse": ("referee.cli.rehearse_command", "Carry out a whole contest run here."),
    "rejudge": (
        "referee.cli.rejudge_command",
        "Judge runs again: by other settings or a corrected ground truth.",
    ),
    "report": (
        "referee.cli.report_command",
        "Write the report of a run as one HTML file.",
    ),
    "restore": ("referee.cli.backup_command", "Make a contest folder from its backup."),
    "run": ("referee.cli.run_command", "Arm, close, void and show runs."),
    "score": (
        "lpirc_score.cli.score_command",
        "Score detections against a ground truth.",
    ),
    "season": (
        "referee.cli.season_command",
        "Rank the teams of many contests: folders and bundles, only read.",
    ),
    "serve": ("referee.cli.init_command", "Serve a contest until Ctrl-C."),
    "standby": (
        "referee.cli.standby_command",
        "Follow the journal of another host; serve when that host is dead.",
    ),
    "status": (
        "referee.cli.status_command",
        "Show stations, queue, refusals and runs that need attention.",
    ),
    "suite": (
        "lpirc_tracks.cli.suite",
        "AIoTBench: run a suite of many models, and score its table.",
    ),
    "team": (
        "referee.cli.team_command",
        "Register, import, disable and enable teams; new passwords.",
    ),
    "testset": ("referee.cli.testset_command", "Make, import and check test sets."),
}


def stated_failures() -> tuple[type[Exception], ...]:
    """What has one sentence for the person at the terminal."""
    from lpirc_testsets import (
        TestSetError,
    )  # imports numpy: only what has failed waits for it

    return RefereeError, MeterError, TestSetError


class Boundary(click.Group):
    """Imports a command's module only when the command is named, and prints the project's failures as one line.

    Anything else is a defect and keeps its traceback.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, where it runs: not even its help helps on Windows."""
        if sys.platform == "win32":
            click.echo(
                "referee: it runs on Linux and macOS, not on Windows; use WSL 2.",
                err=True,
            )
            sys.exit(1)
        return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # A file name may hold what the terminal's encoding does not.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has gone (`| head`).
            sys.stderr.close()
            sys.exit(1)
        except OSError as error:
            # Permissions, a full disk, a folder that is a file: the system's message and the file say it all.
            click.echo(
                f"referee: {error.filename or 'system'}: {error.strerror or error}",
                err=True,
            )
            sys.exit(1)
        except stated_failures() as failure:
            click.echo(f"referee: {failure.sentence}", err=True)  # type: ignore[attr-defined]
            sys.exit(1)


@click.group(
    "referee", cls=Boundary, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(
    package_name="lpirc-referee", prog_name="referee", message="%(prog)s %(version)s"
)
def main() -> None:
    """Referee low-power vision contests: mAP per watt-hour."""
