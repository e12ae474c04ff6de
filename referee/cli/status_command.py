"""`referee status`: the state of the contest as in the console, from one request to the server."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from referee.cli.ask_server import NoServer, ask
from referee.cli.shared_options import as_json, contest_folder
from referee.clock import Clock
from referee.errors import RefereeError
from referee.pages.figure_text import (
    clock_text,
    map_text,
    score_text,
    state_text,
    time_text,
    watt_text,
    wh_text,
)

WATCH_S = 1.0
REFUSALS_SHOWN = 5
TO_SEE_TO: dict[str, Callable[[dict[str, Any]], bool]] = {
    "to judge": lambda run: run["state"] == "closed",
    "in review": lambda run: (
        run["state"] == "judged" and run["needs_review"] and run["review"] is None
    ),
    "being judged": lambda run: run["judging"],
    "to confirm": lambda run: run["waits_for"] == "confirmation",
    "to publish": lambda run: run["waits_for"] == "publication",
}


@click.command()
@click.option("--watch", is_flag=True, help="Show it again each second, until Ctrl-C.")
@contest_folder
@as_json
def status(folder: Path, *, watch: bool, as_json: bool) -> None:
    """Show stations, queue, refusals and runs that need attention."""
    clock = Clock()
    never = threading.Event()
    with suppress(KeyboardInterrupt):
        while True:
            text = _text(folder, as_json=as_json)
            if watch:
                click.clear()
            click.echo(text)
            if not watch:
                return
            clock.wait(never, clock.monotonic_s() + WATCH_S)


def _text(folder: Path, *, as_json: bool) -> str:
    try:
        found = ask(folder, "/status")
    except NoServer as error:
        found = json.loads(_stored(folder))
        click.echo(
            f"{error.sentence}\nAll other values are those stored in this folder.",
            err=True,
        )
    return json.dumps(found) if as_json else "\n".join(_lines(found))


def _stored(folder: Path) -> str:
    # Importing the store and numpy takes half a second of a processor, which a request to a server need not spend.
    import orjson

    from referee.contest import open_contest
    from referee.judging.contest_status import Known, StatusReader
    from referee.web.journal_watch import require_not_superseded

    with open_contest(folder, only_looks=True) as contest:
        trouble: str | None = None
        try:
            require_not_superseded(folder)
        except RefereeError as error:
            trouble = error.sentence
        found = StatusReader(contest).read(
            Clock().utc(), Known(journal_trouble=trouble)
        )
        stored: bytes = orjson.dumps(found)
        return stored.decode()


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['contest']}, {time_text(found['utc'])} UTC, window {found['window_s']} s, {found['metric']}"
    for one in found["attention"]:
        yield f"! {one['sentence']}"
        commands = [act["command"] for act in one["acts"] if act["command"]]
        if commands:
            yield f"    {'; or: '.join(commands)}"
    for station in found["stations"]:
        use = active_line(station["run"], found) if station["run"] else "free"
        yield f"{station['name']}: meter {station['meter_state']}, {use}"
        yield from (f"  ! {sentence}" for sentence in _to_say(station))
    for heat in found["heats"]:
        yield from _heat_lines(heat)
    yield "next: " + (
        ", ".join(one["team"] for one in found["queue"]) or "no team is queued"
    )
    for advice, is_such in TO_SEE_TO.items():
        if numbers := [str(run["run"]) for run in found["runs"] if is_such(run)]:
            yield f"{advice}: run {', '.join(numbers)}"
    yield from (
        f"announced by {one['operator']}: {one['text']}"
        for one in found["announcements"]
    )
    for one in found["refusals"][:REFUSALS_SHOWN]:
        who = repr(one["team"]) if one["team"] else "no team"
        times = f" ({one['count']} times)" if one["count"] > 1 else ""
        yield f"refused {time_text(one['utc'])}{times}: {who} from {one['address']}: {one['sentence']}"


def _heat_lines(heat: dict[str, Any]) -> Iterator[str]:
    """Yield a heat that has not started, each side with its lights, and the command or what is missing for it."""
    round_ = f", round {heat['round']}" if heat["round"] else ""
    ready = "ready" if heat["is_ready"] else "not ready"
    yield f"heat {heat['heat']}{round_}: {ready}"
    for side in heat["sides"]:
        lights = ", ".join(
            f"{light['what']} {'on' if light['is_on'] else 'off'} ({light['says']})"
            for light in side["lights"]
        )
        yield f"  {side['team']} at {side['station']}: {lights}"
    if heat["is_ready"]:
        yield f"    referee run start {shlex.quote(heat['heat'])}"
    yield from (f"  ! {sentence}" for sentence in heat["missing"])


def _to_say(station: dict[str, Any]) -> list[str]:
    """Return the problems of a station, without repetitions."""
    run = station["run"]
    sentences = [
        station["meter_sentence"],
        *(run["warnings"] if run else []),
    ]
    return list(dict.fromkeys(one for one in sentences if one))


def active_line(run: dict[str, Any], found: dict[str, Any]) -> str:
    """Return one line about an armed or open run of the status `found`, in the words of its task."""
    begun = f"run {run['run']} of {run['team']} is {run['state']}"
    if run["state"] == "armed":
        heat = f" for heat {run['heat']}" if run["heat"] else ""
        return f"{begun}{heat}{', waiting' if run['waiting'] else ''}"
    left = (
        "" if run["remaining_s"] is None else f", {clock_text(run['remaining_s'])} left"
    )
    return (
        f"{begun}{left}, {run['images_answered']} of {run['images']} images answered, {run['rows']} {found['rows']}, "
        f"{watt_text(run['power_w'])} W, {wh_text(run['energy_wh'])} Wh{_reading_age(run)}, "
        f"so far {found['accuracy']} {map_text(run['map'])} and score {score_text(run['score'])} "
        f"({state_text(run['figure_state'])}{_age(run)})"
    )


def _reading_age(run: dict[str, Any]) -> str:
    """Return the age of power and energy as text; empty if they are current."""
    age_s = run["reading_age_s"]
    return (
        ""
        if run["figure_state"] == "fresh" or age_s is None
        else f" ({age_s:.0f} s old)"
    )


def _age(run: dict[str, Any]) -> str:
    age_s = run["provisional_age_s"]
    return "" if age_s is None else f", {age_s:.0f} s old"
