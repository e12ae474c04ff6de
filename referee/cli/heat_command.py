"""`referee run heat`: makes a heat."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.ask_server import ask
from referee.cli.number_types import WholeNumber
from referee.cli.shared_options import contest_folder
from referee.contest import open_contest
from referee.runs.heat_making import LARGEST_ROUND


@click.command("heat")
@click.argument("name")
@click.argument("sides", metavar="TEAM@STATION...", nargs=-1, required=True)
@click.option(
    "--round",
    "round_",
    type=WholeNumber(1, LARGEST_ROUND),
    help="The round of the knock-out or round robin that the heat is of.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="Arm also teams that have used up their attempts; this is recorded.",
)
@contest_folder
def make_heat(
    name: str,
    sides: tuple[str, ...],
    round_: int | None,
    folder: Path,
    *,
    anyway: bool,
) -> None:
    """Make heat NAME: arm a run for each TEAM at its STATION, all together or none.

    `referee run start NAME` opens them.
    """
    teams = {}
    for side in sides:
        team, _, station = side.rpartition("@")
        if not team or not station:
            raise click.UsageError(f"{side!r} is not TEAM@STATION: ant@station-1")
        if station in teams:
            raise click.UsageError(f"station {station} is named twice.")
        teams[station] = team
    with open_contest(folder, only_looks=True) as contest:
        config = contest.config
    takes_s = max(map(config.arming_at_least_s, config.stations))
    body: dict[str, object] = {"name": name, "sides": teams}
    if round_ is not None:
        body["round"] = str(round_)
    if anyway:
        body["beyond_attempts"] = "yes"
    made = ask(folder, "/heats", body, more_s=takes_s)
    if made["config_changed"]:
        click.echo(f"Warning: {made['config_changed']}", err=True)
    click.echo(made["sentence"])
