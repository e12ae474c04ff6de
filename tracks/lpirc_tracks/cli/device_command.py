"""`referee device add|list|disable|enable|remove`."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from lpirc_tracks.submissions.calibrating import calibrated, why_no_work
from lpirc_tracks.submissions.submitting import expected_devices
from referee.cli.recorded_acts import act, line_of_text, required_reason
from referee.cli.shared_options import as_json, contest_folder
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.store.model_records import Device, JobKind


@click.group()
def device() -> None:
    """Register, list, disable and remove devices. On a device, `lpirc-client work` measures waiting models."""


@device.command()
@click.argument("name", callback=line_of_text)
@contest_folder
def add(name: str, folder: Path) -> None:
    """Register device NAME and print its key, which is not stored. Boards show NAME. A second call makes a new key."""
    key = secrets.token_urlsafe(32)
    with (
        open_contest(folder) as contest,
        act(contest.store, "device-add", name=name) as under_way,
    ):
        is_known = name in contest.store.devices.all()
        contest.store.devices.add(
            name, hashlib.sha256(key.encode()).hexdigest(), Clock().utc(), under_way
        )
    if is_known:
        words = f"{name} was registered already: its former key is refused from now on"
        click.echo(f"{words}; give the device the key below.", err=True)
    click.echo(key)


@device.command("list")
@contest_folder
@as_json
def list_devices(folder: Path, *, as_json: bool) -> None:
    """List the devices: when each was last seen, its meter, and how far its results differ from its pool's."""
    now = Clock().utc()
    with open_contest(folder, only_looks=True) as contest:
        found = [
            _shown(contest, one, now) for one in contest.store.devices.all().values()
        ]
    if as_json:
        click.echo(json.dumps(found))
        return
    for one in found:
        meter = f"  {one['meter']}" if one["meter"] else ""
        click.echo(f"{one['name']}  {one['seen_utc'] or 'never seen'}{meter}")
        if one["disabled"]:
            click.echo(
                f"  disabled since {one['disabled_utc'][:19]}: {one['disabled']}"
            )
        for track in one["tracks"]:
            said = (
                f"no work: {track['no_work']}"
                if track["no_work"]
                else f"calibrated: {track['calibrated']}."
            )
            click.echo(f"  {track['track']}: {said}")


def _shown(contest: Contest, one: Device, now: datetime) -> dict[str, Any]:
    names = [track.name for track in contest.config.tracks if track.calibration]
    tracks = []
    for track in names:
        if one.name in expected_devices(contest, track):
            reason = (
                "it is disabled."
                if one.disabled
                else why_no_work(contest, one.name, track, now)
            )
            where = calibrated(contest, one.name, track)
            tracks.append({"track": track, "no_work": reason, "calibrated": where})
    return asdict(one) | {"tracks": tracks}


@device.command()
@click.argument("name")
@required_reason
@contest_folder
def disable(name: str, reason: str, folder: Path) -> None:
    """Give device NAME no further work. Its present job goes to another device and uses up nobody's submission."""
    with (
        open_contest(folder) as contest,
        act(contest.store, "device-disable", name=name, reason=reason) as under_way,
    ):
        contest.store.devices.disable(name, reason, Clock().utc(), under_way)


@device.command()
@click.argument("name")
@required_reason
@contest_folder
def enable(name: str, reason: str, folder: Path) -> None:
    """Let device NAME measure again. It calibrates first; its earlier calibrations are no longer compared."""
    with (
        open_contest(folder) as contest,
        act(contest.store, "device-enable", name=name, reason=reason) as under_way,
    ):
        contest.store.devices.enable(name, Clock().utc(), under_way)


@device.command()
@click.argument("name")
@contest_folder
def remove(name: str, folder: Path) -> None:
    """Remove device NAME; its present job waits for another device."""
    with open_contest(folder) as contest:
        with act(contest.store, "device-remove", name=name) as under_way:
            contest.store.devices.remove(name, under_way)
        waiting = contest.store.submissions.queued(JobKind.MEASURING)
        tracks = {one.track for one in waiting} & {
            one.name for one in contest.config.tracks
        }
        only_here = [
            track for track in tracks if expected_devices(contest, track) == (name,)
        ]
    for track in sorted(only_here):
        words = (
            f"models of the track {track} are waiting, and only {name} may measure them. "
            "Add the device again, or cancel the models."
        )
        click.echo(f"referee: warning: {words}", err=True)
