"""`referee doctor`: finds all problems of a contest folder, its stations and this host in one pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from lpirc_testsets import TestSetError
from referee.auth.signing import SIGNING_KEY_NAME, ContestKey
from referee.cli.doctor_plugins import look_at_plugins
from referee.cli.number_types import WholeNumber
from referee.cli.recorded_acts import act, optional_reason
from referee.cli.shared_options import as_json, contest_argument
from referee.config import CONFIG_NAME, read_config
from referee.contest import (
    Contest,
    contest_id,
    open_contest,
    read_secrets,
)
from referee.errors import RefereeError
from referee.findings.host_findings import (
    failure_of,
    look_at_backup_folder,
    look_at_clock,
    look_at_freeze,
    look_at_journal,
    look_whether_behind,
    require_free_space,
    require_sound_database,
    require_sound_test_set,
)
from referee.findings.meter_findings import TRIAL_S, look_at_meter, trial_run
from referee.findings.plugin_findings import findings_of_plugins
from referee.findings.rule_findings import look_at_rules
from referee.installed import require_tracks
from referee.presence import is_there
from referee.seams import Finding
from referee.served import is_served
from referee.store import DATABASE_NAME, Store


@click.command()
@contest_argument()
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
    type=WholeNumber(1, 65535),
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
    if not is_there(folder / CONFIG_NAME):  # nothing else can be told
        yield from failure_of(read_config, folder)
        return
    for look in (
        read_config,
        read_secrets,
        require_sound_database,
        require_sound_test_set,
        require_free_space,
    ):
        yield from failure_of(look, folder)
    yield from look_at_journal(folder)
    yield from look_at_plugins()
    if port is not None and not served:
        yield from failure_of(_require_port, port)
    try:
        with open_contest(folder) as contest:
            yield from failure_of(ContestKey.require, contest.key)
            yield from look_at_clock(contest.store)
            yield from look_at_freeze(contest)
            yield from look_whether_behind(contest)
            yield from look_at_backup_folder(contest.folder, contest.config)
            yield from look_at_rules(contest)
            yield from failure_of(require_tracks, contest.config)
            yield from findings_of_plugins(contest)
            yield from _look_at_stations(contest, trial=trial, served=served)
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, error.sentence)


def _require_port(port: int) -> None:
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.listener import Listen, with_free_port

    with_free_port(Listen(port=port))


def _look_at_stations(
    contest: Contest, *, trial: bool, served: bool
) -> Iterator[Finding]:
    if served:
        if trial:
            sentence = (
                f"{contest.folder} is being served; stop it before a trial run, or press Trial run on the page "
                "/operator/settings/stations."
            )
            yield Finding("contest-busy", sentence)
        return
    for station in contest.config.stations:
        found = list(look_at_meter(contest.config, contest.store, station))
        yield from found
        if trial and all(one.is_advice for one in found):
            yield from trial_run(contest, station).findings
