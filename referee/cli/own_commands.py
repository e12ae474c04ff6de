"""The built-in commands: the module of each, and its line in the list of commands."""

from __future__ import annotations

from importlib import import_module

import click


class LateCommand(click.Command):
    """A command that is imported from `target` ("module:name") only when it is called.

    The list of commands shows `words` for it.
    """

    def __init__(self, target: str, words: str) -> None:
        module, _, name = target.partition(":")
        super().__init__(name, short_help=words)
        self._module = module

    def real(self) -> click.Command:
        """Import the command and return it."""
        found: click.Command = getattr(import_module(self._module), self.name or "")
        return found


COMMANDS = {
    str(one.name): one
    for one in (
        LateCommand(
            "referee.cli.backup_command:backup",
            "Back up a contest into one file, also while it is served.",
        ),
        LateCommand(
            "referee.cli.board_command:board", "Freeze and unveil the public board."
        ),
        LateCommand(
            "referee.cli.bundle_command:bundle",
            "Export a run as a file that anyone can verify; verify one.",
        ),
        LateCommand(
            "referee.cli.compare_command:compare", "Show two judged runs side by side."
        ),
        LateCommand(
            "referee.cli.demo_command:demo",
            "Serve a sample contest day, to try the pages.",
        ),
        LateCommand(
            "referee.cli.doctor_command:doctor",
            "List what is wrong with a contest, its meters and this host.",
        ),
        LateCommand(
            "referee.cli.heat_standings_command:heat",
            "Show the results of heats, and the standings of their rounds.",
        ),
        LateCommand("referee.cli.init_command:init", "Make a contest folder."),
        LateCommand(
            "referee.cli.jobs_command:jobs",
            "List jobs of scoring and measuring, and cancel them.",
        ),
        LateCommand(
            "referee.cli.judge_command:judge",
            "Judge a closed run: accuracy, energy, score and checks.",
        ),
        LateCommand(
            "referee.cli.leaderboard_command:leaderboard",
            "Rank the best judged run of each team by its score.",
        ),
        LateCommand(
            "referee.cli.log_command:log",
            "List the recorded events, and verify their hash chain.",
        ),
        LateCommand(
            "referee.cli.operator_command:operator",
            "Register, list and remove operators of the console.",
        ),
        LateCommand(
            "referee.cli.practice_command:practice",
            "Serve a referee for practice at home, until Ctrl-C.",
        ),
        LateCommand(
            "referee.cli.publish_command:publish",
            "Write what is public as a signed static site for any web server.",
        ),
        LateCommand(
            "referee.cli.rehearse_command:rehearse",
            "Carry out a whole contest run here.",
        ),
        LateCommand(
            "referee.cli.rejudge_command:rejudge",
            "Judge runs again, with other settings or a corrected ground truth.",
        ),
        LateCommand(
            "referee.cli.replay_command:replay",
            "Print the course of a run as one JSON document.",
        ),
        LateCommand(
            "referee.cli.report_command:report",
            "Write the report of a run as one HTML file.",
        ),
        LateCommand(
            "referee.cli.backup_command:restore",
            "Make a contest folder from its backup.",
        ),
        LateCommand("referee.cli.run_command:run", "Arm, close, void and show runs."),
        LateCommand(
            "lpirc_score.cli.score_command:score",
            "Score detections against a ground truth.",
        ),
        LateCommand(
            "referee.cli.season_command:season",
            "Rank the teams of many contests, from folders and bundles. Changes nothing in them.",
        ),
        LateCommand("referee.cli.init_command:serve", "Serve a contest until Ctrl-C."),
        LateCommand(
            "referee.cli.init_command:setup",
            "Set up a contest in the browser, then serve it.",
        ),
        LateCommand(
            "referee.cli.standby_command:standby",
            "Follow the journal of another host; serve when that host is dead.",
        ),
        LateCommand(
            "referee.cli.status_command:status",
            "Show stations, queue, refusals and runs that need attention.",
        ),
        LateCommand(
            "referee.cli.team_command:team",
            "Register, import, disable and enable teams; new passwords.",
        ),
        LateCommand(
            "referee.cli.testset_command:testset", "Make, import and check test sets."
        ),
        LateCommand(
            "referee.cli.publish_command:verify",
            "Verify a copy of a published site.",
        ),
    )
}
