"""`referee heat standings`: the results of the heats, and the standings of their rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.cli.shared_options import as_json, contest_folder
from referee.contest import open_contest
from referee.judging.heat_documents import KNOCK_OUT, heats_document
from referee.judging.heat_results import Outcome

WORDS = {
    Outcome.NOT_STARTED: "has not started",
    Outcome.RUNNING: "is running",
    Outcome.TIED: "is tied, nobody wins it",
    Outcome.NO_SCORE: "has no winner, since no side has a score",
}


@click.group()
def heat() -> None:
    """Show the results of heats."""


@heat.command(epilog="It always shows all heats and rounds.")
@contest_folder
@as_json
def standings(folder: Path, *, as_json: bool) -> None:
    """Show every heat with its points, and the standings of their rounds.

    What the rounds are is the key `heats` of contest.toml: "knock-out" or "round-robin".
    """
    with open_contest(folder, only_looks=True, as_served=True) as contest:
        found = heats_document(contest)
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found["heats"]:
        click.echo("No heat has been made yet; see: referee run heat --help", err=True)
    for one in found["heats"]:
        click.echo(_heat(one))
    if found["standings"] is not None:
        _print_standings(found["standings"])


def _heat(one: dict[str, Any]) -> str:
    of_round = "" if one["round"] is None else f", round {one['round']}"
    sides = " : ".join(map(_side, one["sides"]))
    said = WORDS.get(one["outcome"])
    if one["winner"] is not None:
        said = f"is won by {one['winner']}"
    elif said is None:
        said = f"is not decided: {'; '.join(one['undecided'])}"
    return f"Heat {one['name']}{of_round}: {sides}. It {said}."


def _side(side: dict[str, Any]) -> str:
    points = "-" if side["points"] is None else side["points"]
    return f"{side['team']} {points}"


def _print_standings(found: dict[str, Any]) -> None:
    click.echo()
    if found["kind"] == KNOCK_OUT:
        for line in _knock_out(found):
            click.echo(line)
        return
    for row in found["table"]:
        tally = f"{row['won']} won, {row['tied']} tied, {row['lost']} lost"
        click.echo(f"{row['rank']:>3}  {row['points']:>3}  {row['team']}  ({tally})")
    meetings = found["played"] + len(found["to_play"])
    click.echo(f"{found['played']} of {meetings} meetings are played.")
    for one, other in found["to_play"]:
        click.echo(f"to play: {one} - {other}")


def _knock_out(found: dict[str, Any]) -> list[str]:
    lines = [f"out in round {one['round']}: {one['team']}" for one in found["out"]]
    if found["winner"] is not None:
        return [*lines, f"winner: {found['winner']}", *_doubts(found)]
    lines += [f"still in: {team}" for team in found["still_in"]]
    for teams in found["next"]:
        against = " - ".join(teams) if len(teams) > 1 else f"{teams[0]} (no opponent)"
        lines.append(f"next: {against}")
    return [*lines, *_doubts(found)]


def _doubts(found: dict[str, Any]) -> list[str]:
    return [f"! {one}" for one in found["doubts"]]
