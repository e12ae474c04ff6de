"""`referee run ...`: commands that show runs read the database; commands that change them ask the server."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from referee.cli.ask_server import NoServer, ask
from referee.cli.heat_command import make_heat
from referee.cli.jury_commands import confirm as confirm_command
from referee.cli.jury_commands import publish as publish_command
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import results_folder
from referee.cli.recorded_acts import optional_reason
from referee.cli.run_list import list_runs
from referee.cli.score_text import print_score, print_standing, rules_text
from referee.cli.shared_options import as_json, contest_folder, run_number
from referee.cli.status_command import active_line
from referee.clock import Clock
from referee.config import LONGEST_WINDOW_S
from referee.contest import open_contest
from referee.judging.lost_energy_notices import lost_energy_of
from referee.judging.meetings import meeting
from referee.judging.run_checks import rows_refused
from referee.judging.run_export import FORMATS, export_run
from referee.judging.run_figures import (
    current_judgement,
    figures_of,
    run_document,
    score_document,
)
from referee.store.records import Run, RunState

WORTH_SAYING_S = 3.0  # somebody who waits longer wants to know for what
INTERNAL = ("start_s", "boot_id", "nonce")  # only the server can interpret these


@click.group()
def run() -> None:
    """Arm, close, void and show runs."""


for command in (list_runs, make_heat, confirm_command, publish_command):
    run.add_command(command)


@run.command()
@click.argument("team")
@click.option("--station", help="The station; needed only if the contest has several.")
@click.option(
    "--heat",
    help="Name of a heat: `referee run start HEAT` opens all its runs together.",
)
@click.option(
    "--extra-time",
    "extra_s",
    type=WholeNumber(1, LONGEST_WINDOW_S),
    help="Extra seconds added to the window.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="Arm even if the team has used up its attempts; this is recorded.",
)
@optional_reason
@contest_folder
def arm(
    team: str,
    station: str | None,
    heat: str | None,
    extra_s: int | None,
    reason: str | None,
    folder: Path,
    *,
    anyway: bool,
) -> None:
    """Prepare a run for TEAM: set up its meter. The team's first log-in then opens the window."""
    for option, given_text in (("--station", station), ("--heat", heat)):
        if given_text is not None and not given_text.strip():
            raise click.UsageError(f"{option} is blank; name one, or leave it out.")
    takes_s = _arming_at_least_s(folder, station)
    if takes_s >= WORTH_SAYING_S:
        click.echo(
            f"First the meter is set up, which takes {takes_s:.0f} s or a little longer.",
            err=True,
        )
    given = {
        "team": team,
        "station": station,
        "heat": heat,
        "extra_s": extra_s and str(extra_s),
    }
    given |= {"beyond_attempts": "yes" if anyway else None, "reason": reason}
    body = {key: value for key, value in given.items() if value is not None}
    armed = ask(folder, "/runs", body, more_s=takes_s)
    if armed["config_changed"]:
        click.echo(f"Warning: {armed['config_changed']}", err=True)
    within = f" in heat {heat}" if heat else ""
    if extra_s:
        within += f" for {armed['window_s']:g} s"
    click.echo(
        f"Run {armed['id']} is armed for {team} at {armed['station']}{within}, meter {armed['meter_identity']}"
        + (
            "."
            if armed["idle_power_w"] is None
            else f", idle at {armed['idle_power_w']:.3f} W."
        )
    )


def _arming_at_least_s(folder: Path, station: str | None) -> float:
    """Return how long arming takes at least, for the slowest station that the command may use."""
    with open_contest(folder, only_looks=True) as contest:
        config = contest.config
    meant = [one for one in config.stations if one.name == station] or config.stations
    return max(map(config.arming_at_least_s, meant))


@run.command()
@click.argument("heat")
@click.option(
    "--anyway", is_flag=True, help="Start although a team has not logged in yet."
)
@contest_folder
def start(heat: str, folder: Path, *, anyway: bool) -> None:
    """Give the start signal of HEAT: its runs open together, with one start and one deadline.

    If one of the meters does not start, nothing opens and the runs stay armed.
    """
    opened = ask(
        folder, "/heats/start", {"heat": heat} | ({"absent": "start"} if anyway else {})
    )
    runs = " and ".join(f"run {one['id']} of {one['team']}" for one in opened)
    click.echo(f"Heat {heat} is open: {runs}, {opened[0]['window_s']:g} s each.")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@optional_reason
@contest_folder
def close(number: int, reason: str | None, folder: Path) -> None:
    """Close RUN now, before its deadline."""
    closed = ask(folder, f"/runs/{number}/close", {"reason": reason} if reason else {})
    elapsed_s = closed["elapsed_s"]
    energy_wh = closed["energy_wh"]
    after = "" if elapsed_s is None else f" after {elapsed_s:.1f} s"
    energy = "no valid energy" if energy_wh is None else f"{energy_wh} Wh"
    click.echo(f"Run {number} is {closed['state']}{after}, {energy}.")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--reason", required=True, help="The reason, stored with the run.")
@contest_folder
def void(number: int, reason: str, folder: Path) -> None:
    """Exclude RUN from the contest; its data are kept."""
    if not reason.strip():
        raise click.UsageError(
            "--reason is blank; write the reason, which is stored with the run."
        )
    ask(folder, f"/runs/{number}/void", {"reason": reason})
    click.echo(f"Run {number} is void: {reason}")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@optional_reason
@contest_folder
def unvoid(number: int, reason: str | None, folder: Path) -> None:
    """Take RUN, which is void, back into the contest."""
    back = ask(folder, f"/runs/{number}/unvoid", {"reason": reason} if reason else {})
    click.echo(f"Run {number} is no longer void: its state is {back['state']}.")


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--note", required=True, help="The reason, stored with the run.")
@contest_folder
def review(number: int, note: str, folder: Path) -> None:
    """Accept RUN, which needs review."""
    kept = ask(folder, f"/runs/{number}/review", {"note": note})
    click.echo(
        f"Run {number} is accepted although {', '.join(kept['codes'])} failed: {note}"
    )
    if kept["score"] is None:
        click.echo(
            f"It has no score, so it still has no rank; see: referee run show {number}"
        )


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@contest_folder
@as_json
def show(number: int, folder: Path, *, as_json: bool) -> None:
    """Show one run with its score, checks and events."""
    with open_contest(folder, only_looks=True) as contest:
        one = contest.store.runs.get(number)
        score = current_judgement(contest, one)
        figures = figures_of(contest, one, Clock().utc())
        events = contest.store.log.of_run(number)
        count = contest.store.posts.count_refused(number)
        refused = contest.store.posts.refused_rows(number)
        lost = lost_energy_of(contest, number)
    live = (
        _live(folder, number) if one.state in (RunState.ARMED, RunState.OPEN) else None
    )
    if as_json:
        judged = None if score is None else score_document(one, score)
        more = {
            "judged": judged,
            "events": events,
            "refused": count,
            "refused_rows": refused,
            "live": live and live[0],
        }
        ranked = figures.remarks | {"energy_lost": lost}
        click.echo(json.dumps(run_document(one) | more | ranked))
        return
    if score is not None:
        print_score(one, score)
        print_standing(figures)
    else:
        _print_run(one)
        if live is not None:
            click.echo(f"{'now':>18}  {active_line(*live)}")
            for sentence in live[0]["warnings"]:
                click.echo(f"{'warning':>18}  {sentence}")
        for check in rows_refused(count, refused):
            click.echo(f"{check.code:>18}  {check.sentence}")
    if lost is not None:
        click.echo(f"! {lost}")
    for event in events:
        click.echo(f"{event['utc']}  {event['kind']}  {_details(event)}")


@run.command()
@click.argument("first", metavar="RUN", type=run_number)
@click.argument("second", metavar="RUN", type=run_number)
@contest_folder
def versus(first: int, second: int, folder: Path) -> None:
    """Show the points of two judged runs that compete: 2 for the higher score, 1 each for a tie.

    While one of the runs is in review, there are no points.
    """
    with open_contest(folder, only_looks=True) as contest:
        met = meeting(contest, first, second)
    for side in met.sides:
        run = side.run
        figures = side.figures
        marks = (
            "  !" if figures.needs_review else "  reviewed" if figures.reviewed else ""
        )
        marks += "" if run.official else "  u"
        shown = "no score" if figures.score is None else f"{figures.score:.4g}"
        shown += (
            f", which is not ranked: {figures.not_ranked}" if figures.not_ranked else ""
        )
        click.echo(f"{side.points}  run {run.id} of {run.team}: {shown}{marks}")
    if not met.one_heat:
        click.echo(
            f"Runs {first} and {second} do not belong to the same heat: they did not start together.",
            err=True,
        )


@run.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option(
    "--out", type=results_folder, help="The folder to write to; default: run-RUN."
)
@click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, "all")),
    default="csv",
    show_default=True,
    help="Format of rows of boxes; readings and events are written, too.",
)
@contest_folder
def export(number: int, out: Path | None, form: str, folder: Path) -> None:
    """Write what RUN's team sent, with the image numbers of both run and test set, and the run's records.

    Boxes are written as rows. In another task the bodies are written as received, with a table of the images that they
    answer.
    """
    formats = tuple(FORMATS) if form == "all" else (form,)
    with open_contest(folder) as contest:
        for file in export_run(contest, number, out or Path(f"run-{number}"), formats):
            click.echo(f"{file}  {file.stat().st_size} bytes")


def _live(
    folder: Path,
    number: int,
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return an armed or open run and the whole status, as the server has them; None if the contest is not served."""
    try:
        found = ask(folder, "/status")
    except NoServer:
        return None
    for station in found["stations"]:
        run = station["run"]
        if run is not None and run["run"] == number:
            return run, found
    return None


def _print_run(one: Run) -> None:
    values = asdict(one)
    setup = values.pop("setup")
    changes = values.pop("meter_changes")
    del values["rules"]
    for name, value in values.items():
        if value is not None and name not in INTERNAL:
            click.echo(f"{name:>18}  {_text(value)}")
    chosen = {name: value for name, value in setup.items() if value is not None}
    by_meter = dict.fromkeys(setup, "auto")
    settings = ", ".join(
        f"{name} {value}" for name, value in (by_meter | chosen).items()
    )
    click.echo(f"{'setup':>18}  {settings}")
    click.echo(f"{'rules':>18}  {rules_text(one)}")
    if changes:
        click.echo(f"{'meter changed':>18}  {'; '.join(changes)}")
    if not one.official:
        why = (
            "simulated, or for rehearsing"
            if one.meter_standing is None
            else one.meter_standing.reason(one.official_makers)
        )
        click.echo(f"{'meter':>18}  unofficial: {why}")
    if one.state in (RunState.CLOSED, RunState.JUDGED):
        click.echo(f"{'checks':>18}  not judged yet; see: referee judge {one.id}")


def _details(event: dict[str, Any]) -> str:
    # The sentence already names the changes.
    left_out = {"utc", "kind"}
    if "sentence" in event:
        left_out.add("changes")
    details = []
    for key, value in event.items():
        if key in left_out or value is None:
            continue
        details.append(str(value) if key == "sentence" else f"{key} {_text(value)}")
    return ", ".join(details)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
