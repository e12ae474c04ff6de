"""A heat as a race: its sides beside each other on one clock, with charts. Pure: from published or status documents.

`race_of_board` is what everyone sees, `race_of_status` what operators see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from referee.judging.freeze import NO_COURSE, NO_POWER
from referee.judging.heat_courses import Course
from referee.judging.heat_results import DECIDED, Outcome
from referee.store.records import BoardState, RunState

Document = dict[str, Any]
NO_FIGURES = dict.fromkeys(
    (
        *("power_w", "figure_state", "as_of_utc", "map", "energy_wh", "score"),
        *("images_answered", "images"),
    )
)
NEW_HEAT: Document = {
    "round": None,
    "outcome": None,
    "winner": None,
    "undecided": [],
    "sides": [],
}
NEW_SIDE: Document = {"run": None, "points": None, "pending": None, "not_ranked": None}


class Phase(StrEnum):
    """What a page about a heat is about."""

    READY = "ready"
    RUNNING = "running"
    HIDDEN = "hidden"
    UNDECIDED = "undecided"
    DECIDED = "decided"


def race_of_board(board: Document, name: str) -> Document | None:
    """Return a heat as the public board has it, or None if there is no such heat.

    `board` is the public view. While the board hides results, a heat that was not decided before has none, and who runs
    is that of the hall.
    """
    made = {heat["name"]: heat for heat in board["heats"]}
    live = {run["team"]: run for run in board["now"] if run["heat"] == name}
    if name not in made and not live:
        return None
    heat = made.get(name, NEW_HEAT)
    is_hidden = board["state"] != BoardState.LIVE and heat["outcome"] not in DECIDED
    courses = {side["run"]: side["course"] for side in heat["sides"]}
    return _race(name, heat, live, courses, is_hidden=is_hidden)


def race_of_status(
    status: Document,
    heats: Iterable[Document],
    courses: Mapping[int, Course],
    name: str,
) -> Document | None:
    """Return a heat for operators, or None; `heats` are the documents of all heats, `courses` are by run."""
    made = {heat["name"]: heat for heat in heats}
    if name not in made:
        return None
    live = {}
    for station in status["stations"]:
        run = station["run"]
        if run is not None and run["heat"] == name:
            live[run["team"]] = run | {"station": station["name"]}
    return _race(name, made[name], live, courses, is_hidden=False)


def _race(
    name: str,
    heat: Document,
    live: Mapping[str, Document],
    courses: Mapping[int, Course],
    *,
    is_hidden: bool,
) -> Document:
    sides = []
    for side in heat["sides"]:
        if is_hidden:  # what has become of a run since the freeze is not known to all
            side = side | {"state": None}
        sides.append(_side(side, live.get(side["team"]), courses, heat["winner"]))
    known = {side["team"] for side in sides}
    for team, run in live.items():
        if team not in known:
            sides.append(_side(NEW_SIDE | {"team": team}, run, courses, None))
    return {
        "name": name,
        "round": heat["round"],
        "phase": _phase(heat, live, is_hidden=is_hidden),
        "outcome": heat["outcome"],
        "winner": heat["winner"],
        "undecided": heat["undecided"],
        "sides": sides,
        "charts": _charts(sides),
    }


def _side(
    side: Document,
    run: Document | None,
    courses: Mapping[int, Course],
    winner: str | None,
) -> Document:
    """Return a side: with the figures so far while its run is armed or open, else with those of its judgement."""
    course = courses.get(side["run"], NO_COURSE)
    more: Document = {"course": course, "is_winner": side["team"] == winner}
    if run is not None:
        live = {"power": NO_POWER} | NO_FIGURES | run
        return {"affiliation": None} | side | live | more | {"is_final": False}
    over: Document = {"affiliation": None, "power": NO_POWER}
    return over | NO_FIGURES | side | more | {"is_final": side["score"] is not None}


def _phase(
    heat: Document,
    live: Mapping[str, Document],
    *,
    is_hidden: bool,
) -> Phase:
    states = {run["state"] for run in live.values()}
    if RunState.OPEN in states:
        return Phase.RUNNING
    if states:
        return Phase.READY
    if is_hidden:
        return Phase.HIDDEN
    if heat["outcome"] in DECIDED:
        return Phase.DECIDED
    started = heat["outcome"] not in (None, Outcome.NOT_STARTED)
    return Phase.UNDECIDED if started else Phase.READY


def _charts(sides: Sequence[Document]) -> list[Document]:
    """Return the charts that have lines; each line has the number of its side."""
    courses = [side["course"] for side in sides]
    powers = [side["power"] for side in sides]
    charts = [
        _chart("score-time", "Score over time", " s", "", courses, "elapsed_s", "score"),
        _chart("score-energy", "Score over energy", " Wh", "", courses, "energy_wh", "score"),
        _chart("power-time", "Power over time", " s", " W", powers, "elapsed_s", "power_w"),
    ]  # fmt: skip
    return [chart for chart in charts if chart["lines"]]


def _chart(
    key: str,
    title: str,
    x_unit: str,
    y_unit: str,
    series: Sequence[Document],
    x: str,
    y: str,
) -> Document:
    lines = [
        {"side": number, "x": one[x], "y": one[y]}
        for number, one in enumerate(series)
        if len(one[x]) > 1
    ]
    return {
        "key": key,
        "title": title,
        "x_unit": x_unit,
        "y_unit": y_unit,
        "lines": lines,
    }
