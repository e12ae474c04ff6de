"""Heats that have not started, each side with its lights: meter, board, team. Pure: from the documents of the status.

A heat is ready once all its lights are on. What is missing is said in a sentence for each light.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from referee.store.records import Heat, RunState

Document = dict[str, Any]
METER_READY = "ready"
"""The meter's state from arming on; the start asks the meter again."""


def waiting_heats(
    stations: Sequence[Document],
    made: Iterable[Heat],
) -> list[Document]:
    """Return the heats with armed runs at these stations, documents of the status, in the order of the stations."""
    rounds = {heat.name: heat.round for heat in made}
    sides: dict[str, list[Document]] = {}
    for station in stations:
        run = station["run"]
        if run is not None and run["state"] == RunState.ARMED and run["heat"]:
            sides.setdefault(run["heat"], []).append(_side(station, run))
    return [_heat(name, rounds, its) for name, its in sides.items()]


def _heat(
    name: str,
    rounds: Mapping[str, int | None],
    sides: list[Document],
) -> Document:
    missing = [
        light["missing"]
        for side in sides
        for light in side["lights"]
        if not light["is_on"]
    ]
    if len(sides) == 1:
        missing.append("only one team is armed for it")
    return {
        "heat": name,
        "round": rounds.get(name),
        "sides": sides,
        "missing": missing,
        "is_ready": not missing,
    }


def _side(station: Document, run: Document) -> Document:
    team = run["team"]
    return {
        "run": run["run"],
        "team": team,
        "station": station["name"],
        "lights": [
            _meter_light(station),
            _board_light(run),
            _light(
                "team",
                "waits for the start" if run["waiting"] else "not logged in",
                is_on=run["waiting"],
                missing=f"{team} has not logged in within the last 5 s",
            ),
        ],
    }


def _meter_light(station: Document) -> Document:
    state = station["meter_state"]
    return _light(
        "meter",
        state,
        is_on=state == METER_READY,
        missing=f"the meter at {station['name']} is {state}, not ready",
    )


def _board_light(run: Document) -> Document:
    heard = run["board"]
    says = "not heard from within 10 s"
    if heard is not None:
        by = {"log-in": "its team's log-in", "address": "a request"}[heard["by"]]
        says = f"heard from within 10 s: {by} from {heard['address']}"
    return _light(
        "board",
        says,
        is_on=heard is not None,
        missing=f"the board of {run['team']} has not been heard from within the last 10 s",
    )


def _light(what: str, says: str, *, is_on: bool, missing: str) -> Document:
    return {"what": what, "is_on": is_on, "says": says, "missing": missing}
