"""The problems of a contest.toml whose keys and types are valid: values out of range, names used twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lpirc_power.meter import (
    CREST_FACTORS,
    ELEMENTS,
    MODES,
    SYNCHRONIZE,
    UNOFFICIAL,
)
from lpirc_testsets.close_names import did_you_mean
from referee.config.contest_values import (
    PRIZE_RULES,
    TOURNAMENTS,
    ContestConfig,
    Prize,
    Station,
    plain_address,
)
from referee.config.journal_table import journal_problems
from referee.config.name_rule import name_problem, shown_name
from referee.config.rule_table import rule_problems
from referee.config.tracks import track_problems
from referee.given_units import per_cent
from referee.networks import has_host, network

LONGEST_WINDOW_S = 24 * 3600


MOST_WHO_PUBLISH = 2
PUBLISH_BY = "must be 0 (at once), 1 (one person confirms and publishes) or 2 (another one publishes)."


LONGEST_IDLE_S = 30.0  # arming takes longer by this and by settle_s


STATION_CHOICES: dict[str, tuple[object, ...]] = {
    "mode": MODES,
    "crest_factor": CREST_FACTORS,
    "synchronize": SYNCHRONIZE,
    "element": ELEMENTS,
}


NUL = "\0"


Problem = tuple[str, int, str, str]
"""The location of a wrong value (the table's name, its index and the key), and a sentence about it."""


def one_of(given: object, choices: Sequence[object]) -> str:
    """Return what a value must be, with the choice of which it may be a slip."""
    words = f"must be one of {', '.join(map(repr, choices))}."
    return words + did_you_mean(str(given), map(str, choices))


def contest_problems(config: ContestConfig) -> Iterator[Problem]:
    """Yield the problems of a configuration, in the order of its keys."""
    for key, words in _top_problems(config):
        yield "", 0, key, words
    for key, words in _day_problems(config):
        yield "", 0, key, f"{key} = {getattr(config, key)!r} {words}"
    if (drawn := config.images.per_attempt) < 0:
        yield (
            "images",
            0,
            "per_attempt",
            f"images: per_attempt = {drawn} must be 0 (all images) or more.",
        )
    yield from _path_problems(config)
    yield from journal_problems(config.journal)
    yield from rule_problems(config.rule, config.idle_baseline_s)
    yield from _station_problems(config.stations)
    yield from _prize_problems(config.prizes)
    for number, track in enumerate(config.tracks, start=1):
        yield from (
            ("tracks", number, key, words) for key, words in track_problems(track)
        )
    yield from _name_problems(config)


def _path_problems(config: ContestConfig) -> Iterator[Problem]:
    """Yield each path with the character NUL, which no path can have, and each path of Windows."""
    paths = [
        ("", 0, "testset", config.testset),
        ("backup", 0, "folder", config.backup.folder),
        ("journal", 0, "path", config.journal.path),
    ]
    for number, track in enumerate(config.tracks, start=1):
        paths.append(("tracks", number, "testset", track.testset))
        paths.append(("tracks", number, "holdout", track.holdout))
    if not config.testset.strip():
        words = "testset is blank; give the folder of the test set."
        yield "", 0, "testset", words
    for table, number, key, path in paths:
        if NUL in path:
            words = f"{key} = {path!r} has the character NUL, which no path can have."
            yield table, number, key, words
        if words := foreign_path(path):
            yield table, number, key, f"{key} = {path!r} {words}."


def foreign_path(path: str) -> str:
    """Return what is wrong with a path as another system writes it, as the end of a sentence, or ""."""
    if re.match(r"[A-Za-z]:[\\/]", path):
        return "is a path of Windows; write it as this system does, such as /mnt/d/day"
    return "has a \\; write / between folders" if "\\" in path else ""


def _name_problems(config: ContestConfig) -> Iterator[Problem]:
    if not config.name.strip():
        yield "", 0, "name", "the contest's name is blank."
    if odd := name_problem(config.name):
        yield "", 0, "name", f"the contest's name {shown_name(config.name)} {odd}."
    for kind, rows in (
        ("track", config.tracks),
        ("station", config.stations),
        ("prize", config.prizes),
    ):
        names = [one.name for one in rows]
        for number, name in enumerate(names, start=1):
            if not name.strip():
                yield f"{kind}s", number, "name", f"a {kind}'s name is blank."
            odd = name_problem(name, in_address=kind == "station")
            if odd is not None:
                words = f"the {kind} name {shown_name(name)} {odd}."
                yield f"{kind}s", number, "name", words
            if name in names[: number - 1]:
                words = f"the {kind} name {name!r} is given twice."
                yield f"{kind}s", number, "name", words
            elif name.casefold() in map(str.casefold, names[: number - 1]):
                words = f"another {kind}'s name differs from {name!r} only in capitals, which a hall cannot tell apart."
                yield f"{kind}s", number, "name", words


def _day_problems(config: ContestConfig) -> Iterator[tuple[str, str]]:
    """Yield wrong values of the contest day's keys, each with what it must be."""
    if not 0 <= config.publish_by <= MOST_WHO_PUBLISH:
        yield "publish_by", PUBLISH_BY
    if config.board_url and (words := _url_problem(config.board_url)):
        yield "board_url", words
    if config.heats not in TOURNAMENTS:
        yield "heats", one_of(config.heats, TOURNAMENTS)


def _url_problem(url: str) -> str:
    """Return what is wrong with the address of the board, as the end of a sentence, or ""."""
    if not url.startswith(("http://", "https://")):
        return "must begin with http:// or https://, as a phone opens it."
    if len(url.split()) > 1 or not url.isprintable():
        return "has a blank or a line break, which no address can have."
    if not has_host(url):
        return "has no host or port that can be, as http://192.168.1.10:8080/ has."
    return ""


def _prize_problems(prizes: tuple[Prize, ...]) -> Iterator[Problem]:
    for number, prize in enumerate(prizes, start=1):
        if prize.rule not in PRIZE_RULES:
            words = f"rule = {prize.rule!r} {one_of(prize.rule, PRIZE_RULES)}"
            yield "prizes", number, "rule", f"prize {prize.name!r}: {words}"


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
            f"least_map = {config.least_map:g} must be an accuracy, at most 1{per_cent(config.least_map)}.",
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
            words = "which is every address: anyone could forge a client's address; name the proxy's own address."
            yield "trusted_proxy", f"trusted_proxy has {one!r}, {words}"


def _makers_problem(makers: tuple[str, ...]) -> str | None:
    """Return the problem in the list of official meter makers, or None."""
    if not makers:
        return 'official_makers = [] must name a maker: ["YOKOGAWA"].'
    for one in makers:
        name = one.strip()
        if not name:
            return (
                f"official_makers has {one!r}, which is blank; write a maker's name as its meter's answer to *IDN? has "
                "it."
            )
        if ";" in name:
            return f"official_makers has {one!r}; a comma stands between makers, not a semicolon."
        if name.upper() == UNOFFICIAL:
            return f"official_makers has {one!r}: meters for rehearsals are never official."
    return None


def _station_problems(stations: tuple[Station, ...]) -> Iterator[Problem]:
    meters = set()
    for number, station in enumerate(stations, start=1):
        for key, choices in STATION_CHOICES.items():
            if (given := getattr(station, key)) not in choices:
                words = f"{key} = {given!r} {one_of(given, choices)}"
                yield "stations", number, key, f"station {station.name!r}: {words}"
        if (settle_s := station.settle_s) > LONGEST_IDLE_S:
            words = f"settle_s = {settle_s:g} must be at most {LONGEST_IDLE_S:g} seconds: arming takes that long."
            yield "stations", number, "settle_s", f"station {station.name!r}: {words}"
        meter = plain_address(station.meter)
        if meter in meters and not station.is_simulated:
            yield (
                "stations",
                number,
                "meter",
                f"the meter {meter!r} is given to two stations.",
            )
        meters.add(meter)
