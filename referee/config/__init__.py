"""Reads `contest.toml` of a contest folder into one frozen value; unknown keys and invalid values are refused.

Start with `ContestConfig`; `tracks` has the keys of model tracks. Knows nothing of what the values are used for.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lpirc_power.meter import (
    CREST_FACTORS,
    ELEMENTS,
    MODES,
    SYNCHRONIZE,
    UNOFFICIAL,
    Setup,
)
from lpirc_power.sampling.polling import settling_at_least_s
from lpirc_power.standing import OFFICIAL_MAKERS
from referee.config.journal_table import DEFAULT, Journal, journal_problems
from referee.config.tracks import ModelTrack, track_problems
from referee.errors import RefereeError
from referee.networks import network
from referee.presence import not_accessible

CONFIG_NAME = "contest.toml"
LONGEST_WINDOW_S = 24 * 3600
LARGEST_INTEGER = 2**63
LARGEST_FIGURE = 1e6  # volts, amperes, seconds
LONGEST_IDLE_S = 30.0  # arming takes that much longer, and by settle_s
MAY_BE_0 = ("settle_s", "zero_max_age_min", "ambient_change_c")
STATION_CHOICES: dict[str, tuple[object, ...]] = {
    "mode": MODES,
    "crest_factor": CREST_FACTORS,
    "synchronize": SYNCHRONIZE,
    "element": ELEMENTS,
}


@dataclass(frozen=True)
class Station:
    """A station for one board: the address of its meter and how the meter measures (see lpirc_power.meter.Setup).

    Ranges are fixed, in volts and amperes; None means automatic. The meter is started `settle_s` after its ranges are
    set at the earliest; arming compensates its zero level if that was done more than `zero_max_age_min` ago, 0: never.
    `clients` are the networks (192.168.1.0/24) or addresses from which its board may send requests; empty means any.
    `loopback_meter` says that the meter counts although its address leads back to this machine, as that of a tunnel
    does.
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
    ambient_change_c: float = 5.0
    settle_s: float = 0.0
    zero_max_age_min: float = 60.0
    clients: tuple[str, ...] = ()
    loopback_meter: bool = False

    @property
    def is_simulated(self) -> bool:
        """Whether its meter is a simulator that is started for it."""
        return self.meter.partition(":")[0] == "sim"

    def setup(self, window_s: int) -> Setup:
        """The meter's setup for a run: its integrator stops by itself after `window_s` seconds."""
        names = {one.name for one in fields(Setup)} & vars(self).keys()
        return Setup(
            integrator_timer_s=window_s, **{name: getattr(self, name) for name in names}
        )


@dataclass(frozen=True)
class Prize:
    """A prize, by its name, for the best team by one of PRIZE_RULES."""

    name: str
    rule: str


PRIZE_RULES = ("best-score", "least-energy", "highest-map")


@dataclass(frozen=True)
class Images:
    """Which images a run gets: `per_attempt` of the test set's, fresh ones as long as they last; 0: all of them."""

    per_attempt: int = 0


@dataclass(frozen=True)
class Backup:
    """While served, a copy into `folder`, relative to the contest folder, every so many minutes; blank: no copies."""

    folder: str = ""
    every_min: float = 10.0


@dataclass(frozen=True)
class ContestConfig:
    """A contest: its rules and its stations. `testset` is a path relative to the contest folder.

    Arming measures the power of the idle board for `idle_baseline_s` seconds; None skips that. `live_score` computes a
    provisional score each second of an open run, which the team sees with `teams_see_score` and everyone with
    `public_score`. `trusted_proxy` lists the networks or addresses of the proxies whose X-Forwarded-For is believed.
    With `count_unserved` detections count also for images that the run was not served. `id` is in database and secrets,
    too; blank in folders of earlier versions. A run below `least_map` is shown and not ranked. A team has `attempts`;
    0: any number. The public board shows nothing newer than `freeze_at` until it is unveiled.
    Bundles hold the ground truth once `ground_truth_secret_until` has passed. Meters of the `official_makers` count.
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
    trusted_proxy: tuple[str, ...] = ()
    count_unserved: bool = False
    images: Images = Images()
    tracks: tuple[ModelTrack, ...] = ()
    id: str = ""
    least_map: float | None = None
    attempts: int = 0
    freeze_at: datetime | None = None
    public_score: bool = False
    backup: Backup = Backup()
    journal: Journal = DEFAULT
    ground_truth_secret_until: datetime | None = None
    prizes: tuple[Prize, ...] = tuple(
        map(Prize, ("Best score", "Least energy", "Highest accuracy"), PRIZE_RULES)
    )
    official_makers: tuple[str, ...] = OFFICIAL_MAKERS

    def arming_at_least_s(self, station: Station) -> float:
        """Return how many seconds arming a run there takes: the meter settles, the idle board is measured."""
        settling_s = settling_at_least_s(station.settle_s, station.update_interval_s)
        return settling_s + (self.idle_baseline_s or 0.0)

    def setup(self, station: str, window_s: int) -> Setup:
        """The setup of a station's meter; the default setup for a station that is no longer configured."""
        found = next(
            (one for one in self.stations if one.name == station), Station(station, "")
        )
        return found.setup(window_s)


def read_config(folder: Path) -> ContestConfig:
    """Read the configuration of the contest in `folder`.

    Raises RefereeError `contest-missing`, `not-accessible` or `bad-config`; the last names the file, the line, the key
    and the value.
    """
    path = folder / CONFIG_NAME
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = toml_table(text)
    except FileNotFoundError:
        sentence = f"{folder} is not a contest folder: it has no {CONFIG_NAME}. Make one with: referee init {folder}"
        raise RefereeError("contest-missing", sentence) from None
    except PermissionError as error:
        raise not_accessible(path, error) from error
    except (
        OSError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: not TOML, not UTF-8, a huge number
        raise RefereeError("bad-config", f"{path} cannot be read: {error}.") from error
    return _contest(_Table(path, text), table)


@dataclass(frozen=True)
class _Table:
    """A table of the file, the `number`th of its name, whose keys are found in the text: tomllib gives no lines."""

    path: Path
    text: str
    name: str = ""
    number: int = 0

    def refused(self, key: str, words: str) -> RefereeError:
        """The refusal of a key or its value."""
        one = (
            f"{self.name.removesuffix('s')} {self.number}" if self.number else self.name
        )
        where = [str(self.path), *self.line(key), *([one] if one else [])]
        return RefereeError("bad-config", f"{', '.join(where)}: {words}")

    def line(self, key: str) -> list[str]:
        """The line of the key, or else of its table; none for one that is written inline."""
        table = ""
        seen = Counter[str]()
        at = 0
        for number, line in enumerate(self.text.split("\n"), start=1):
            if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
                table = header[1]
                seen[table] += 1
            if table != self.name or (seen[table] != self.number and self.number):
                continue
            if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
                return [f"line {number}"]
            if header and not at:
                at = number
        return [f"line {at}"] if at else []


def _contest(top: _Table, table: dict[str, Any]) -> ContestConfig:
    stations = [Station(**row) for row in _rows(top, table, "stations", Station)]
    tracks = [ModelTrack(**row) for row in _rows(top, table, "tracks", ModelTrack)]
    prizes = (
        [Prize(**row) for row in _rows(top, table, "prizes", Prize)]
        if "prizes" in table
        else None
    )
    single: dict[str, Any] = {}
    for key, kind in (("images", Images), ("backup", Backup), ("journal", Journal)):
        if not isinstance(found := table.pop(key, {}), dict):
            raise top.refused(key, f"{key} must be written as an [{key}] table.")
        single[key] = kind(**_checked(kind, replace(top, name=key), found))
    rest = single | _checked(
        ContestConfig, top, table, given=("stations", "tracks", "prizes", *single)
    )
    if prizes is not None:
        rest["prizes"] = tuple(prizes)
    config = ContestConfig(stations=tuple(stations), tracks=tuple(tracks), **rest)
    for name, number, key, words in _problems(config):
        where = [str(top.path), *replace(top, name=name, number=number).line(key)]
        raise RefereeError("bad-config", f"{', '.join(where)}: {words}")
    return config


def _rows(
    top: _Table, table: dict[str, Any], key: str, kind: type[Any]
) -> list[dict[str, Any]]:
    rows = table.pop(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise top.refused(key, f"{key} must be written as [[{key}]] tables.")
    return [
        _checked(kind, replace(top, name=key, number=i), row)
        for i, row in enumerate(rows, start=1)
    ]


def _checked(
    kind: type[Any], where: _Table, table: dict[str, Any], given: tuple[str, ...] = ()
) -> dict[str, Any]:
    known = {field.name: field for field in fields(kind) if field.name not in given}
    for key in table:
        if key not in known:
            names = ", ".join(sorted((*known, *given)))
            raise where.refused(key, f"unknown key {key!r}; the keys are {names}.")
    for name, one in known.items():
        if (
            name not in table
            and one.default is MISSING
            and one.default_factory is MISSING
        ):
            raise where.refused(name, f"the key {name!r} is missing.")
    return {
        key: _typed(where, key, value, str(known[key].type))
        for key, value in table.items()
    }


def _typed(where: _Table, key: str, value: object, kind: str) -> object:
    if key in ("devices", "official_makers"):
        return _names(where, key, value)
    if kind.startswith("tuple"):
        return _networks(where, key, value)
    if kind.startswith("Mapping"):  # the rule itself checks names and values
        if isinstance(value, dict):
            return value
        raise where.refused(
            key, f"{key} = {value!r} must be written as [tracks.{key}]."
        )
    if kind.startswith("datetime"):
        return _moment(where, key, value)
    accepted = {"str": str, "bool": bool, "int": int}.get(kind, (int, float))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind != "bool"):
        words = {
            "str": "a string",
            "bool": "true or false",
            "int": "a whole number",
        }.get(kind, "a number")
        raise where.refused(key, f"{key} = {value!r} must be {words}.")
    if not (kind.startswith("float") and isinstance(value, int | float)):
        return value
    if not 0 <= value <= LARGEST_FIGURE or (
        value == 0 and key not in MAY_BE_0
    ):  # the first is false for NaN
        least = "of 0 or more" if key in MAY_BE_0 else "above 0"
        raise where.refused(key, f"{key} = {value!r} must be a number {least}.")
    return float(value)


def _moment(where: _Table, key: str, value: object) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        form = "a time with its offset, unquoted: 2027-06-20T15:30:00+02:00."
        raise where.refused(key, f"{key} = {str(value)!r} must be {form}")
    return value


def _names(where: _Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise where.refused(key, f"{key} = {value!r} must be a list of names.")
    return tuple(value)


def _networks(where: _Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise where.refused(
            key, f'{key} = {value!r} must be a list of networks: ["192.168.1.0/24"].'
        )
    for one in value:
        try:
            network(one)
        except ValueError as error:
            words = f"{key} has {one!r}, which is neither a network nor an address ({error})."
            raise where.refused(key, words) from error
    return tuple(value)


Problem = tuple[str, int, str, str]
"""Where a value is wrong, as the table's name, its number and the key, and what is wrong."""


def _problems(config: ContestConfig) -> Iterator[Problem]:
    for key, words in _top_problems(config):
        yield "", 0, key, words
    if (drawn := config.images.per_attempt) < 0:
        yield (
            "images",
            0,
            "per_attempt",
            f"images: per_attempt = {drawn} must be 0 (all images) or more.",
        )
    yield from journal_problems(config.journal)
    yield from _station_problems(config.stations)
    for number, prize in enumerate(config.prizes, start=1):
        if prize.rule not in PRIZE_RULES:
            words = f"rule = {prize.rule!r} must be one of {', '.join(map(repr, PRIZE_RULES))}."
            yield "prizes", number, "rule", f"prize {prize.name!r}: {words}"
    for number, track in enumerate(config.tracks, start=1):
        yield from (
            ("tracks", number, key, words) for key, words in track_problems(track)
        )
    for kind, rows in (
        ("track", config.tracks),
        ("station", config.stations),
        ("prize", config.prizes),
    ):
        names = [one.name for one in rows]
        for number, name in enumerate(names, start=1):
            if not name.strip():
                yield f"{kind}s", number, "name", f"a {kind}'s name is blank."
            if name in names[: number - 1]:
                yield (
                    f"{kind}s",
                    number,
                    "name",
                    f"the {kind} name {name!r} is given twice.",
                )


def _top_problems(config: ContestConfig) -> Iterator[tuple[str, str]]:
    if not 1 <= config.window_s <= LONGEST_WINDOW_S:
        yield (
            "window_s",
            f"window_s = {config.window_s} must lie between 1 and {LONGEST_WINDOW_S} seconds.",
        )
    if config.attempts < 0:
        yield "attempts", f"attempts = {config.attempts} must be 0 (no limit) or more."
    if config.least_map is not None and config.least_map > 1:
        yield (
            "least_map",
            f"least_map = {config.least_map:g} must be an mAP, at most 1.",
        )
    if not config.stations:
        yield (
            "stations",
            "there is no station; add a [[stations]] table with name and meter.",
        )
    if (idle_s := config.idle_baseline_s) is not None and config.auto_arm:
        words = "idle_baseline_s needs auto_arm = false: a log-in cannot wait for the measurement."
        yield "idle_baseline_s", words
    elif idle_s is not None and idle_s > LONGEST_IDLE_S:
        yield (
            "idle_baseline_s",
            f"idle_baseline_s = {idle_s:g} must be at most {LONGEST_IDLE_S:g} seconds.",
        )
    if problem := _makers_problem(config.official_makers):
        yield "official_makers", problem
    for one in config.trusted_proxy:
        if network(one).prefixlen == 0:
            words = "which is every address: anyone could forge theirs; name the proxy's own."
            yield "trusted_proxy", f"trusted_proxy has {one!r}, {words}"


def _makers_problem(makers: tuple[str, ...]) -> str | None:
    """Return what is wrong with the makers whose meters count; None if nothing is."""
    if not makers:
        return 'official_makers = [] must name a maker: ["YOKOGAWA"].'
    for one in makers:
        name = one.strip()
        if not name:
            return f"official_makers has {one!r}, which is blank; it takes names as *IDN? answers them."
        if name.upper() == UNOFFICIAL:
            return f"official_makers has {one!r}: meters for rehearsals count in no contest."
    return None


def _station_problems(stations: tuple[Station, ...]) -> Iterator[Problem]:
    meters = set()
    for number, station in enumerate(stations, start=1):
        for key, choices in STATION_CHOICES.items():
            if (given := getattr(station, key)) not in choices:
                words = (
                    f"{key} = {given!r} must be one of {', '.join(map(repr, choices))}."
                )
                yield "stations", number, key, f"station {station.name!r}: {words}"
        if (settle_s := station.settle_s) > LONGEST_IDLE_S:
            words = f"settle_s = {settle_s:g} must be at most {LONGEST_IDLE_S:g} seconds: arming takes that long."
            yield "stations", number, "settle_s", f"station {station.name!r}: {words}"
        meter = station.meter.partition("@")[
            0
        ].upper()  # whichever VISA library reaches it
        if meter in meters and not station.is_simulated:
            yield (
                "stations",
                number,
                "meter",
                f"the meter {meter!r} is given to two stations.",
            )
        meters.add(meter)


def toml_table(text: str) -> dict[str, Any]:
    """Read a text as TOML.

    Raises ValueError if it is not TOML, or has a whole number beyond 64 bits: one written in hexadecimal may have more
    digits than Python prints. Raises RecursionError if it is nested too deeply.
    """
    table = tomllib.loads(text)
    _require_range(table)
    return table


def _require_range(value: object) -> None:
    if isinstance(value, int) and not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
        raise ValueError("it has a whole number beyond 64 bits")
    for one in (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    ):
        _require_range(one)
