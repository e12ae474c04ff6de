"""`referee doctor`: finds all problems of a contest folder, its stations and this host in one pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from lpirc_testsets import TestSetError, load_test_set
from referee.auth.signing import SIGNING_KEY_NAME, ContestKey
from referee.cli.doctor_meters import TRIAL_S, look_at_meter, trial_run
from referee.cli.doctor_plugins import findings_of_plugins, look_at_plugins
from referee.cli.doctor_rules import look_at_rules
from referee.cli.recorded_acts import act, optional_reason
from referee.cli.shared_options import any_path, as_json
from referee.clock import Clock
from referee.config import read_config
from referee.contest import (
    Contest,
    contest_id,
    open_contest,
    read_secrets,
    require_unchanged,
)
from referee.errors import RefereeError
from referee.installed import require_tracks
from referee.journal.disk import JournalDisk
from referee.journal.epochs import newest_epoch, own_claim, require_own
from referee.journal.place import behind_text, is_shared, journal_folder
from referee.presence import is_there
from referee.seams import Finding
from referee.served import is_served
from referee.store import DATABASE_NAME, Store

LEAST_FREE_BYTES = 2**30
SLACK = timedelta(
    seconds=2
)  # a clock that is being synchronized may step back by this much


@click.command()
@click.argument("folder", type=any_path)
@click.option(
    "--accept",
    is_flag=True,
    help="First accept the present database, even if it has fewer records than before, or other secrets.",
)
@click.option(
    "--run",
    "trial",
    is_flag=True,
    help=f"Also measure the idle boards, {TRIAL_S} s at each station; the readings are not kept.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Also check whether `serve` can use this port.",
)
@optional_reason
@as_json
def doctor(
    folder: Path,
    port: int | None,
    reason: str | None,
    *,
    trial: bool,
    accept: bool,
    as_json: bool,
) -> None:
    """List everything wrong with the contest in FOLDER, its meters and this host; exit code 1 if there is anything.

    Ranges that are not fixed, missing rules, and settings that reveal too much are reported as advice, not as failures.

    While FOLDER is served, the command does not ask the meters. It changes nothing without --accept.
    """
    if accept:
        with closing(Store.open(folder / DATABASE_NAME)) as store:
            store.integrity.require_sound()
            own = contest_id(folder)
            with act(store, "accept", contest=own, reason=reason) as under_way:
                if not is_there(folder / SIGNING_KEY_NAME):
                    store.identity.forget_public_key(under_way)
                store.identity.accept(own, under_way)
    served = is_served(folder)
    if served:
        click.echo(f"{folder} is being served: its meters are not asked.", err=True)
    found = [*dict.fromkeys(_findings(folder, port, trial=trial, served=served))]
    failures = [one for one in found if not one.is_advice]
    if as_json:
        shown = (
            {"code": one.code, "sentence": one.sentence, "advice": one.is_advice}
            for one in found
        )
        click.echo(json.dumps([*shown]))
    else:
        _print(folder, found)
    sys.exit(1 if failures else 0)


def _print(folder: Path, found: Sequence[Finding]) -> None:
    """Print the failures, then the advice; if there is no failure, print that."""
    for one in found:
        if not one.is_advice:
            click.echo(f"{one.code}: {one.sentence}")
    if all(one.is_advice for one in found):
        click.echo(f"Nothing is wrong with {folder}.")
    for one in found:
        if one.is_advice:
            click.echo(f"advice, {one.code}: {one.sentence}")


def _findings(
    folder: Path, port: int | None, *, trial: bool, served: bool
) -> Iterator[Finding]:
    for look in (
        read_config,
        read_secrets,
        _look_at_database,
        _look_at_test_set,
        _look_at_disk,
    ):
        yield from _failure(look, folder)
    yield from _look_at_journal(folder)
    yield from look_at_plugins()
    if port is not None and not served:
        yield from _failure(_require_port, port)
    try:
        with open_contest(folder) as contest:
            yield from _failure(ContestKey.require, contest.key)
            yield from _look_at_clock(contest)
            yield from _look_whether_behind(contest)
            copies = folder / contest.config.backup.folder
            if contest.config.backup.folder and not os.access(
                copies, os.W_OK | os.X_OK
            ):
                sentence = (
                    f"No scheduled backup can be written into {copies}: make the folder, or name another one in "
                    "[backup]."
                )
                yield Finding("backup-folder", sentence)
            yield from look_at_rules(contest)
            yield from _failure(require_tracks, contest.config)
            yield from findings_of_plugins(contest)
            yield from _look_at_stations(contest, trial=trial, served=served)
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, error.sentence)


def _failure(look: Callable[[Any], object], at: object) -> Iterator[Finding]:
    try:
        look(at)
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, error.sentence)


def _look_at_database(folder: Path) -> None:
    with closing(Store.open(folder / DATABASE_NAME)) as store:
        store.integrity.require_sound()


def _look_at_test_set(folder: Path) -> None:
    require_unchanged(load_test_set(folder / read_config(folder).testset))


def _look_at_disk(folder: Path) -> None:
    free_bytes = shutil.disk_usage(folder if is_there(folder) else Path()).free
    if free_bytes < LEAST_FREE_BYTES:
        sentence = f"The disk of {folder} has only {free_bytes / 1e6:.0f} MB left; make room before the day."
        raise RefereeError("no-room", sentence)


def _look_at_journal(folder: Path) -> Iterator[Finding]:
    """Check the disk of an external journal.

    The disk must answer and differ from the contest's disk, and this contest must own the journal.
    """
    with suppress(RefereeError):  # errors in contest.toml are findings already
        config = read_config(folder)
        if not is_shared(config):
            return
        journal = journal_folder(folder, config)
        disk = JournalDisk(journal, config.journal.deadline_s)
        try:
            is_same_disk = disk.do(
                lambda: journal.stat().st_dev == folder.stat().st_dev
            )
            if own_claim(folder) is not None or disk.do(lambda: newest_epoch(journal)):
                disk.do(lambda: require_own(journal, folder))
        except OSError as error:
            sentence = f"The journal's folder {journal} cannot be used ({error.strerror}); mount its disk, or make it."
            yield Finding("journal-missing", sentence)
        except RefereeError as error:
            yield Finding(error.code, error.sentence)
        else:
            if is_same_disk:
                sentence = f"The journal at {journal} is on the disk of the contest itself: both are lost with it."
                yield Finding("journal-same-disk", sentence, is_advice=True)


def _look_whether_behind(contest: Contest) -> Iterator[Finding]:
    since = contest.store.database.journal_behind_since()
    if since is not None:
        journal = journal_folder(contest.folder, contest.config)
        words = (
            "its disk did not answer. The journal restarts, with a copy of the whole database, once that "
            "disk answers and no run is open."
        )
        yield Finding("journal-behind", f"{behind_text(journal, since)}: {words}")


def _require_port(port: int) -> None:
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.listener import Listen, with_free_port

    with_free_port(Listen(port=port))


def _look_at_clock(contest: Contest) -> Iterator[Finding]:
    now = Clock().utc()
    newest = contest.store.log.newest_after(0, 1)[1]
    last = datetime.fromisoformat(newest[0]["utc"]) if newest else now
    if now < last - SLACK:
        yield Finding(
            "clock-behind",
            f"The host's clock says {now:%Y-%m-%d %H:%M:%S} UTC, but the contest's last record is of "
            f"{last:%Y-%m-%d %H:%M:%S}; set the clock.",
        )
    with suppress(OSError, subprocess.TimeoutExpired):  # only systemd can answer
        asked = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
        answer = subprocess.run(  # noqa: S603
            asked, capture_output=True, text=True, timeout=2, check=False
        )
        if answer.stdout.strip() == "no":
            click.echo(
                "The host's clock is not synchronized (NTP): recorded times may be wrong.",
                err=True,
            )


def _look_at_stations(
    contest: Contest, *, trial: bool, served: bool
) -> Iterator[Finding]:
    if served:
        if trial:
            sentence = f"{contest.folder} is being served; stop it before a trial run."
            yield Finding("contest-busy", sentence)
        return
    for station in contest.config.stations:
        found = list(look_at_meter(contest, station))
        yield from found
        if trial and all(one.is_advice for one in found):
            yield from trial_run(contest, station)
