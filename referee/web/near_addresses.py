"""The address that a mistyped one may mean, for the sentence of a 404."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

LEAST_LIKENESS = 0.75
"""The likeness, from 0 to 1, of a slip to what was meant: one wrong letter of four."""
OTHER_VERSION = 0.9
"""The weight of an address without a version for one that was given with it."""
MOST_SEGMENTS = 6
LONGEST_ADDRESS = 120
"""Characters of an address that is compared: the time grows with their square."""
NOT_FOR_ALL = ("operator", "setup", "static")
"""First parts of addresses that are not suggested to everybody."""
OTHER_NAMES = {
    "login": "session",
    "logout": "session",
    "status": "session",
    "result": "detections",
    "results": "detections",
    "submit": "detections",
    "predictions": "detections",
    "token": "session",
    "auth": "session",
    "signin": "session",
    "signout": "session",
    "close": "session",
}
"""What the protocol of 2015, and other servers, call an address of version 1."""
METHODS = {
    **dict.fromkeys(("login", "token", "auth", "signin"), "POST"),
    **dict.fromkeys(("logout", "signout", "close"), "DELETE"),
    "status": "GET",
}
"""The method by which one of OTHER_NAMES is meant, where its address has several."""
PAGES = {
    "board": "/",
    "scoreboard": "/",
    "leaderboard": "/",
    "ranking": "/",
    "standings": "/",
    "projector": "/?view=projector",
    "admin": "/operator/",
    "console": "/operator/",
    "settings": "/operator/settings/",
    "setup": "/operator/settings/",
    "board.csv": "/board.json",
    "leaderboard.json": "/board.json",
    "standings.json": "/board.json",
    "index.html": "/",
    "index.php": "/",
}
"""What people call a page that has another address."""
LISTS = ("docs", "client")
"""First parts of addresses of whose pages there is a list at the part itself."""
VARIABLE = re.compile(r"<(?:(?P<converter>\w+)[^:>]*:)?\w+>")
VERSION = re.compile(r"v\d+")


def near_address(path: str, rules: Iterable[str]) -> str | None:
    """Return the address that `path` may mean, with its numbers and names, or None.

    `rules` are the addresses as Flask writes them: `/v1/images/<number>`. A part may have one wrong letter of four; a
    missing or another version, `/api` in front, and slashes too many do not count.
    """
    if len(path) > LONGEST_ADDRESS:
        return None
    parts = [part for part in path.split("/") if part]
    has_version = bool(parts) and VERSION.fullmatch(parts[0].casefold()) is not None
    named = parts[1:] if has_version else parts
    if len(named) == 1 and (page := PAGES.get(named[0].casefold())):
        return page
    readings = _readings(parts)
    best: tuple[float, str] = (0.0, "")
    for rule in rules:
        parts = rule.strip("/").split("/")
        if parts[0] in NOT_FOR_ALL or not parts[0]:
            continue
        for given in readings:
            likeness = _likeness(given, parts)
            if has_version and given[0] != "v1":
                likeness *= OTHER_VERSION
            if likeness > best[0]:
                best = likeness, _filled(given, parts, rule)
    return best[1] or _list_of(path)


def near_call(path: str, method: str, near: str, accepted: Iterable[str]) -> str:
    """Return a near address with its methods, unless `method`, of the request, is the one that is meant."""
    last = path.rstrip("/").rpartition("/")[2].casefold()
    meant = METHODS.get(last) if OTHER_NAMES.get(last) in near.split("/") else None
    methods = sorted(accepted) if meant is None else [meant]
    if method in methods or not methods:
        return near
    return " or ".join(f"{one} {near}" for one in methods)


def _list_of(path: str) -> str | None:
    """Return the list of the pages among which an address is one that there is not; None if there is no list."""
    first, _, rest = path.strip("/").partition("/")
    if first == "team" and rest and "/" not in rest:
        return f"/teams/{rest}"
    return f"/{first}/" if first in LISTS and rest else None


def _readings(given: Sequence[str]) -> list[list[str]]:
    """Return the parts of an address with the version as given, added or left out."""
    if not given or len(given) > MOST_SEGMENTS:
        return []
    parts = list(given)
    if parts[0].casefold() == "api" and len(parts) > 1:
        parts = parts[1:]
    has_version = VERSION.fullmatch(parts[0].casefold()) is not None
    rest = parts[1:] if has_version else parts
    readings = [["v1", *rest], rest]
    if has_version and len(rest) == 1 and rest[0] in OTHER_NAMES:
        readings = [["v1", OTHER_NAMES[rest[0]]]]
    return [one for one in readings if one]


def _likeness(given: Sequence[str], parts: Sequence[str]) -> float:
    """Return the mean likeness of the parts that a rule fixes; 0 if one is too unlike, or a variable does not fit."""
    if len(given) != len(parts):
        return 0.0
    fixed = []
    for mine, part in zip(given, parts, strict=True):
        variable = VARIABLE.fullmatch(part)
        if variable is None:
            fixed.append(_likeness_of_part(mine, part))
        elif not _may_be(mine, variable["converter"]):
            return 0.0
    if not fixed or min(fixed) < LEAST_LIKENESS:
        return 0.0
    return sum(fixed) / len(fixed)


def _may_be(given: str, converter: str | None) -> bool:
    """Return False for a value that a variable does not take, and for one that may have slashes."""
    return converter != "path" and (converter != "int" or given.isdecimal())


def _likeness_of_part(given: str, part: str) -> float:
    mine = given.casefold().replace("_", "-")
    known = part.casefold().replace("_", "-")
    if mine == known:
        return 1.0
    stem = known.partition(".")[0]
    matcher = SequenceMatcher(None, "", mine)
    likeness = 0.0
    for one in (known, stem):
        matcher.set_seq1(one)
        if matcher.real_quick_ratio() >= LEAST_LIKENESS:
            likeness = max(likeness, 0.99 * matcher.ratio())
    return likeness


def _filled(given: Sequence[str], parts: Sequence[str], rule: str) -> str:
    """Return a rule's address with the given values of its variables."""
    filled = []
    for mine, part in zip(given, parts, strict=True):
        filled.append(mine if VARIABLE.fullmatch(part) else part)
    end = "/" if rule.endswith("/") else ""
    return f"/{'/'.join(filled)}{end}"
