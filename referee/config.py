"""The contest folder's `contest.toml`, read once into one frozen value; unknown keys and odd values are refused."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from power.meter import CREST_FACTORS, ELEMENTS, MODES, SYNCHRONIZE, Setup
from referee.errors import RefereeError
from referee.places import network

CONFIG_NAME = "contest.toml"
LONGEST_WINDOW_S = 24 * 3600
LARGEST_FIGURE = 1e6  # volts, amperes, seconds
LONGEST_IDLE_S = 30.0  # an operator's arming waits for it
STATION_CHOICES: dict[str, tuple[object, ...]] = {
    "mode": MODES,
    "crest_factor": CREST_FACTORS,
    "synchronize": SYNCHRONIZE,
    "element": ELEMENTS,
}


@dataclass(frozen=True)
class Station:
    """One place for a board: its meter's address and how it is to measure (power.meter.Setup).

    Ranges are fixed, in volts and amperes; absent, they are automatic. `clients` are the networks (192.168.1.0/24) or
    addresses that its board may ask from; empty: any.
    """

    name: str
    meter: str
    voltage_range_v: float | None = None
    current_range_a: float | None = None
    update_interval_s: float = 0.25
    mode: str = "rms"
    crest_factor: int = 3
    line_filter: bool = False
    frequency_filter: bool = False
    synchronize: str = "voltage"
    element: str = "1"
    clients: tuple[str, ...] = ()

    def setup(self, window_s: int) -> Setup:
        """How the meter is set up for a run: its integrator ends with the window by itself."""
        return Setup(
            voltage_range_v=self.voltage_range_v,
            current_range_a=self.current_range_a,
            update_interval_s=self.update_interval_s,
            integrator_timer_s=window_s,
            mode=self.mode,
            crest_factor=self.crest_factor,
            line_filter=self.line_filter,
            frequency_filter=self.frequency_filter,
            synchronize=self.synchronize,
            element=self.element,
        )


@dataclass(frozen=True)
class ContestConfig:
    """A contest: its rules and its stations. `window_s` whole seconds; `testset` a path relative to the folder.

    `idle_baseline_s` is for how long arming measures the power of the idle board; absent, it does not. `live_score`
    computes a provisional score each second of an open run, for the operator; `teams_see_score` tells it to the team
    as well.
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
    idle_baseline_s: float | None = None

    def setup(self, station: str, window_s: int) -> Setup:
        """The setup of a station's meter; that of its defaults where the station is gone."""
        found = next((one for one in self.stations if one.name == station), Station(station, ""))
        return found.setup(window_s)


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
    problems += _idle_problems(config)
    for station in config.stations:
        problems += _station_problems(station)
    names = Counter(station.name for station in config.stations)
    problems += [f"the station name {name!r} is given twice." for name, uses in names.items() if uses > 1]
    # One meter, whichever library it is reached through.
    meters = Counter(
        station.meter.partition("@")[0].upper()
        for station in config.stations
        if not station.meter.startswith("sim")
    )
    problems += [
        f"the meter {meter!r} is given to two stations." for meter, uses in meters.items() if uses > 1
    ]
    return problems


def _idle_problems(config: ContestConfig) -> list[str]:
    if config.idle_baseline_s is None:
        return []
    if config.auto_arm:
        return ["idle_baseline_s needs auto_arm = false: a team's log-in cannot wait for it."]
    if config.idle_baseline_s > LONGEST_IDLE_S:
        return [f"idle_baseline_s = {config.idle_baseline_s:g} must be at most {LONGEST_IDLE_S:g} seconds."]
    return []


def _station_problems(station: Station) -> list[str]:
    given = {key: getattr(station, key) for key in STATION_CHOICES}
    return [
        f"station {station.name!r}: {key} = {given[key]!r} must be one of {', '.join(map(repr, choices))}."
        for key, choices in STATION_CHOICES.items()
        if given[key] not in choices
    ]
