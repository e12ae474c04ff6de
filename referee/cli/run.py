"""`referee run ...`: looking at runs reads the database, acting on them asks the server that serves it."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import requests
from rich.console import Console
from rich.table import Table

from referee.cli.options import as_json, contest_folder, run_number
from referee.cli.report import print_score, score_document
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.leaderboard import head_to_head
from referee.records import Run, RunState

TIMEOUT_S = 60.0
INTERNAL = ("start_s", "boot_id")  # what only the server can make something of


@click.group()
def run() -> None:
    """Arm, close, void and look at runs."""


@run.command()
@click.argument("team")
@click.option("--station", help="Needed only where there is more than one.")
@click.option("--heat", help="Open it with the others of this heat, by: referee run start HEAT")
@contest_folder
def arm(team: str, station: str | None, heat: str | None, folder: Path) -> None:
    """Prepare a run for TEAM: set up its meter; its first log-in then opens the window."""
    with open_contest(folder) as contest:
        idle_s = contest.config.idle_baseline_s
    if idle_s is not None:
        click.echo(f"The idle board is measured for {idle_s:g} s.", err=True)
    given = {"station": station, "heat": heat}
    armed = _ask(
        folder, "/runs", {"team": team} | {key: value for key, value in given.items() if value is not None}
    )
    within = f" in heat {heat}" if heat else ""
    click.echo(
        f"Run {armed['id']} is armed for {team} at {armed['station']}, meter {armed['meter_identity']}{within}"
        + ("." if armed["idle_power_w"] is None else f", idle at {armed['idle_power_w']:.3f} W.")
    )


@run.command()
@click.argument("heat")
@click.option("--anyway", is_flag=True, help="Also when a team has not logged in yet.")
@contest_folder
def start(heat: str, folder: Path, *, anyway: bool) -> None:
    """Give the start signal of HEAT: its runs open together, with one start and one deadline.

    If one of the meters does not start, nothing opens and the runs stay armed.
    """
    opened = _ask(folder, "/heats/start", {"heat": heat} | ({"absent": "start"} if anyway else {}))
    runs = " and ".join(f"run {one['id']} of {one['team']}" for one in opened)
    click.echo(f"Heat {heat} is open: {runs}, {opened[0]['window_s']:g} s each.")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@contest_folder
def close(number: int, folder: Path) -> None:
    """Close RUN now, before its deadline."""
    closed = _ask(folder, f"/runs/{number}/close", {})
    elapsed_s, energy_wh = closed["elapsed_s"], closed["energy_wh"]
    after = "" if elapsed_s is None else f" after {elapsed_s:.1f} s"
    energy = "no energy of record" if energy_wh is None else f"{energy_wh} Wh"
    click.echo(f"Run {number} is {closed['state']}{after}, {energy}.")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--reason", required=True, help="Kept with the run.")
@contest_folder
def void(number: int, reason: str, folder: Path) -> None:
    """Take RUN out of the contest; what is stored of it stays."""
    if not reason.strip():
        raise click.UsageError("--reason is blank; say why, it is kept with the run.")
    _ask(folder, f"/runs/{number}/void", {"reason": reason})
    click.echo(f"Run {number} is void: {reason}")


@run.command("list")
@contest_folder
@as_json
def list_runs(folder: Path, *, as_json: bool) -> None:
    """List the runs, oldest first."""
    with open_contest(folder) as contest:
        runs = contest.store.runs()
        scores = {one.id: _figures(contest, one) for one in runs}
    if as_json:
        click.echo(json.dumps([asdict(one) | {"official": one.official} | scores[one.id] for one in runs]))
        return
    heats = any(one.heat for one in runs)
    table = Table(
        *("run", "team", "station", *(["heat"] if heats else []), "state"),
        *("elapsed s", "energy Wh", "mAP", "score"),
        caption="~ so far   ! needs review   u unofficial meter",
    )
    for one in runs:
        told = scores[one.id]
        mark = "~" if one.state is RunState.OPEN else "! " if told["needs_review"] else ""
        figures = [_figure(told[name]) for name in ("energy_wh", "map", "score")]
        marked = [value and mark + value for value in figures]
        if marked[0] and not one.official:
            marked[0] += " u"
        heat = [one.heat or ""] if heats else []
        table.add_row(
            *(str(one.id), one.team, one.station, *heat, one.state), *(_figure(one.elapsed_s), *marked)
        )
    Console().print(table)


@run.command()
@click.argument("first", metavar="RUN", type=run_number)
@click.argument("second", metavar="RUN", type=run_number)
@contest_folder
def versus(first: int, second: int, folder: Path) -> None:
    """Tell the points of two judged runs that met: 2 for the higher score, 1 each for a tie."""
    with open_contest(folder) as contest:
        runs = [contest.store.run(number) for number in (first, second)]
        scores = [_judged_score(contest, one) for one in runs]
    points = head_to_head(*scores)
    for one, score, won in zip(runs, scores, points, strict=True):
        click.echo(f"{won}  run {one.id} of {one.team}: {_figure(score) or 'no score'}")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@contest_folder
@as_json
def show(number: int, folder: Path, *, as_json: bool) -> None:
    """Show one run with its score, checks and events."""
    with open_contest(folder) as contest:
        one = contest.store.run(number)
        score = contest.store.latest_score(number)
        events = contest.store.events(number)
    if as_json:
        judged = None if score is None else score_document(one, score)
        click.echo(json.dumps(asdict(one) | {"official": one.official, "judged": judged, "events": events}))
        return
    if score is not None:
        print_score(one, score)
    else:
        _print_run(one)
    for event in events:
        details = ", ".join(
            f"{key} {_told(value)}" for key, value in event.items() if key not in ("utc", "kind")
        )
        click.echo(f"{event['utc']}  {event['kind']}  {details}")


def _print_run(one: Run) -> None:
    values = asdict(one)
    setup, changes = values.pop("setup"), values.pop("meter_changes")
    for name, value in values.items():
        if value is not None and name not in INTERNAL:
            click.echo(f"{name:>18}  {_told(value)}")
    click.echo(f"{'setup':>18}  {', '.join(f'{name} {value}' for name, value in setup.items())}")
    if changes:
        click.echo(f"{'meter changed':>18}  {'; '.join(changes)}")
    if not one.official:
        click.echo(f"{'meter':>18}  unofficial: simulated, or for rehearsing")


def _told(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _judged_score(contest: Contest, run: Run) -> float | None:
    judged = contest.store.latest_score(run.id)
    if judged is None or run.state is not RunState.JUDGED:
        raise RefereeError(
            "run-state", f"Run {run.id} is {run.state}, not judged; see: referee judge {run.id}"
        )
    return judged.score


def _figures(contest: Contest, run: Run) -> dict[str, Any]:
    """Energy, mAP and score: as judged, else as they stand so far."""
    judged = contest.store.latest_score(run.id)
    found = judged or contest.store.provisional(run.id)
    return {
        "energy_wh": run.energy_wh if found is None else found.energy_wh,
        "map": None if found is None else found.map,
        "score": None if found is None else found.score,
        "needs_review": None if judged is None else judged.needs_review,
    }


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _ask(folder: Path, path: str, body: dict[str, str]) -> Any:
    with open_contest(folder) as contest:
        url, key = contest.server_url, contest.operator_key
    if url is None:
        raise _not_served(folder)
    try:
        response = _post(f"{url}/operator{path}", body, key)
        document: Any = response.json()
    except requests.Timeout as error:
        raise RefereeError(
            "no-answer",
            f"The server at {url} has not answered in {TIMEOUT_S:.0f} s; see its log, and: referee run list",
        ) from error
    except requests.RequestException as error:
        raise _not_served(folder) from error
    if not response.ok:
        raise RefereeError(document.get("code", "failed"), document.get("detail", response.text))
    return document


def _post(url: str, body: dict[str, str], key: str) -> requests.Response:
    with requests.Session() as session, warnings.catch_warnings():
        session.trust_env = False  # the key is for our own server, not for a proxy
        # The certificate may be the server's own; that it goes unchecked is not worth a line each time.
        warnings.simplefilter("ignore")
        return session.post(
            url,
            json=body,
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            verify=False,
        )


def _not_served(folder: Path) -> RefereeError:
    return RefereeError("not-served", f"{folder} is not being served; start: referee serve {folder}")
