"""`referee device add|list|remove`."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import click

from referee.cli.acts import act, line_of_text
from referee.cli.shared_options import contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.store.model_records import JobKind
from referee.tracks.submissions.submitting import expected_devices


@click.group()
def device() -> None:
    """Register, list and remove devices, which measure models that wait: lpirc-client work."""


@device.command()
@click.argument("name", callback=line_of_text)
@contest_folder
def add(name: str, folder: Path) -> None:
    """Register device NAME, as boards show it, and print its key, which is not kept; again: another key."""
    key = secrets.token_urlsafe(32)
    with open_contest(folder) as contest, act(contest.store, "device-add", name=name):
        contest.store.add_device(name, hashlib.sha256(key.encode()).hexdigest(), Clock().utc())
    click.echo(key)


@device.command("list")
@contest_folder
def list_devices(folder: Path) -> None:
    """List the devices, when each was seen last, and the meter of one that measures energy."""
    with open_contest(folder) as contest:
        meters = contest.store.meters()
        for name, seen_utc in contest.store.devices().items():
            meter = f"  {meters[name]}" if name in meters else ""
            click.echo(f"{name}  {seen_utc or 'never seen'}{meter}")


@device.command()
@click.argument("name")
@contest_folder
def remove(name: str, folder: Path) -> None:
    """Remove device NAME; what it is at waits for another one."""
    with open_contest(folder) as contest:
        with act(contest.store, "device-remove", name=name):
            contest.store.remove_device(name)
        waiting = contest.store.queued_submissions(JobKind.MEASURING)
        tracks = {one.track for one in waiting} & {one.name for one in contest.config.tracks}
        only_here = [track for track in tracks if expected_devices(contest, track) == (name,)]
    for track in sorted(only_here):
        words = f"models of the track {track} wait, and only {name} may measure them: add it again, or cancel them."
        click.echo(f"referee: warning: {words}", err=True)
