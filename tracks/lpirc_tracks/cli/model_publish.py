"""`referee model publish`: an operator inspects a final board, then publishes exactly that board."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.publishing import FinalBoard, final_board, publish
from referee.cli.recorded_acts import act, user
from referee.cli.shared_options import as_json, contest_folder
from referee.clock import Clock
from referee.contest import open_contest


@click.command("publish")
@click.argument("track")
@click.option(
    "--as-listed",
    "code",
    metavar="CODE",
    help="Publish the board only if it still has this code, which was printed when the board was listed.",
)
@contest_folder
@as_json
def publish_command(
    track: str, code: str | None, folder: Path, *, as_json: bool
) -> None:
    """List the final board of TRACK and what looks odd; with the code that this prints, publish it.

    Nothing is published if the board or the list has changed since.
    """
    with open_contest(folder) as contest:
        config = configured_track(contest, track)
        now = Clock().utc()
        newest = None
        if code is None:
            found = final_board(contest, config, now)
            newest = contest.store.publications.newest(track)
        else:
            with act(
                contest.store, "model-publish", track=track, code=code
            ) as under_way:
                found = publish(contest, config, code, user(), now, under_way)
    if as_json:
        odd = [asdict(one) for one in found.oddities]
        document = {
            "published": code is not None,
            "code": found.code,
            "oddities": odd,
            "board": found.document,
        }
        click.echo(json.dumps(document))
        return
    _print(found)
    if code is not None:
        click.echo(f"The final board of the track {track} is published.")
    elif newest is not None and newest.taken_back is None and newest.code == found.code:
        click.echo(f"This board is published, by {newest.by} at {newest.utc[:19]}.")
    else:
        command = f"referee model publish {shlex.quote(track)} --as-listed {found.code}"
        click.echo(f"This board is not published; publish it with: {command}")


def _print(found: FinalBoard) -> None:
    places = found.document["places"]
    rows = [
        (
            str(one["rank"]),
            one["team"],
            f"{one['score']:.4f}",
            _shown(one["public_score"]),
        )
        for one in places
    ]
    columns = [
        Column(""),
        Column("team"),
        Column("score", is_figure=True),
        Column("public score", is_figure=True),
    ]
    print_table(columns, rows, "")
    if not found.oddities:
        click.echo("Nothing looks odd.")
    for one in found.oddities:
        click.echo(f"{one.code}: {one.sentence}")


def _shown(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"
