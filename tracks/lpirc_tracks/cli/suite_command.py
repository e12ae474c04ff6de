"""`referee suite init|status|run|score`: AIoTBench's models in several implementations, scored by device."""

from __future__ import annotations

import click

from lpirc_tracks.cli.suite_run_command import run_command
from lpirc_tracks.cli.suite_score_command import score_command
from lpirc_tracks.cli.suite_status_command import init_command, status_command


@click.group()
def suite() -> None:
    """AIoTBench: models in several implementations, scored by device."""


for command in (init_command, status_command, run_command, score_command):
    suite.add_command(command)
