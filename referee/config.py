"""The contest folder's `contest.toml`, read once into one frozen value; unknown keys and odd values are refused."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from referee.errors import RefereeError
from referee.places import network

CONFIG_NAME = "contest.toml"
LONGEST_WINDOW_S = 24 * 3600
LARGEST_FIGURE = 1e6  # volts, amperes, seconds


@dataclass(frozen=True)
class Station:
    """One place for a board: its meter's address and fixed ranges (volts and amperes; absent: automatic).

    `clients` are the networks (192.168.1.0/24) or addresses that its board may ask from; empty: any.
    """

    name: str
    meter: str
    voltage_range_v: float | None = None
    current_range_a: float | None = None
    update_interval_s: float = 0.25
    mode: str = "rms"
    clients: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContestConfig:
    """A contest: its rules and its stations. `window_s` whole seconds; `testset` a path relative to the folder.

    `live_score` computes a provisional score each second of an open run, for the operator; `teams_see_score` tells it
    to the team as well.
    """

    name: str
    stations: tuple[Station, ...]
    window_s: int = 600
    metric: str = "lpirc"
    testset: str = "testset"
    shuffle: bool = True
    auto_arm: bool = False
    live_score: bool = True
    teams_see_score: bool = False


def read_config(folder: Path) -> ContestConfig:
    """The configuration of the contest in `folder`.

    Raises RefereeError `contest-missing` or `bad-config`, the latter naming file, key and value.
    """
    path = folder / CONFIG_NAME
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RefereeError(
            "contest-missing",
            f"{folder} is not a contest folder: it has no {CONFIG_NAME}. Make one with: referee init {folder}",
        ) from None
    except (
        OSError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: no TOML, no UTF-8, or a monstrous number
        raise RefereeError("bad-config", f"{path} cannot be read: {error}.") from error
    return _contest(path, table)


def _contest(path: Path, table: dict[str, Any]) -> ContestConfig:
    stations = table.pop("stations", [])
    if not isinstance(stations, list) or not all(isinstance(station, dict) for station in stations):
        raise RefereeError("bad-config", f"{path}: stations must be written as [[stations]] tables.")
    checked = [_checked(Station, f"{path}, station {i}", row) for i, row in enumerate(stations, start=1)]
    config = ContestConfig(
        stations=tuple(Station(**row) for row in checked),
        **_checked(ContestConfig, str(path), table, given=("stations",)),
    )
    for problem in _problems(config):
        raise RefereeError("bad-config", f"{path}: {problem}")
    return config


def _checked(
    kind: type[Station | ContestConfig], where: str, table: dict[str, Any], given: tuple[str, ...] = ()
) -> dict[str, Any]:
    known = {field.name: field for field in fields(kind) if field.name not in given}
    for key in table:
        if key not in known:
            names = ", ".join(sorted((*known, *given)))
            raise RefereeError("bad-config", f"{where}: unknown key {key!r}; the keys are {names}.")
    for name, field in known.items():
        if name not in table and field.default is MISSING:
            raise RefereeError("bad-config", f"{where}: the key {name!r} is missing.")
    return {key: _typed(where, key, value, str(known[key].type)) for key, value in table.items()}


def _typed(where: str, key: str, value: object, kind: str) -> object:
    if kind.startswith("tuple"):
        return _networks(where, key, value)
    accepted = {"str": str, "bool": bool, "int": int}.get(kind, (int, float))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind != "bool"):
        words = {"str": "a text", "bool": "true or false", "int": "a whole number"}.get(kind, "a number")
        raise RefereeError("bad-config", f"{where}: {key} = {value!r} must be {words}.")
    if not (kind.startswith("float") and isinstance(value, int | float)):
        return value
    if not 0 < value <= LARGEST_FIGURE:  # false for NaN
        raise RefereeError("bad-config", f"{where}: {key} = {value!r} must be a number above 0.")
    return float(value)


def _networks(where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise RefereeError(
            "bad-config", f'{where}: {key} = {value!r} must be a list of networks: ["192.168.1.0/24"].'
        )
    for one in value:
        try:
            network(one)
        except ValueError as error:
            raise RefereeError(
                "bad-config",
                f"{where}: {key} has {one!r}, which is neither a network nor an address ({error}).",
            ) from error
    return tuple(value)


def _problems(config: ContestConfig) -> list[str]:
    problems = []
    if not 1 <= config.window_s <= LONGEST_WINDOW_S:
        problems.append(f"window_s = {config.window_s} must lie between 1 and {LONGEST_WINDOW_S} seconds.")
    if not config.stations:
        problems.append("there is no station; add one [[stations]] table with name and meter.")
    problems += ["a station's name is blank." for station in config.stations if not station.name.strip()]
    names = Counter(station.name for station in config.stations)
    problems += [f"the station name {name!r} is given twice." for name, uses in names.items() if uses > 1]
    meters = Counter(station.meter for station in config.stations if not station.meter.startswith("sim"))
    problems += [
        f"the meter {meter!r} is given to two stations." for meter, uses in meters.items() if uses > 1
    ]
    return problems
