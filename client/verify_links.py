"""Compares links of the log that people kept with the published log. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from verify_formats import NotChecked, Wrong, about, lines, need, sha256
from verify_records import NO_LINK, Bundle, digest_of_event

LINK_BYTES = 32
LINK = "[0-9a-f]{64}"


@dataclass
class Kept:
    """A link that somebody was shown: of which event, by whom it was kept, and when."""

    event: int
    link: str
    who: str
    when: str


@dataclass
class Log:
    """A published log: its links by the number of the event, and when backups were restored."""

    name: str
    links: dict[int, str]
    restores: dict[int, str] = field(default_factory=dict)


def has_links(receipts: bytes) -> bool:
    """Tell whether a file of receipts has links beside them. A line that is no JSON has none."""
    for line in receipts.split(b"\n"):
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(one, dict) and one.get("log") is not None:
            return True
    return False


def read_kept(text: bytes, name: str) -> list[Kept]:
    """Read a file of kept links. Raises Wrong."""
    found = []
    written = text.decode("utf-8-sig").split("\n")
    for place, line in enumerate(written, start=1):
        if not line.strip():
            continue
        with about(f"line {place} of {name}"):
            one = json.loads(line)
            if one.get("log") is not None:
                found.append(_kept(one, name))
    need(found != [], f"{name} holds no links of the log")
    return found


def _kept(one: dict[str, Any], name: str) -> Kept:
    """Read a line. Raises Wrong and what malformed values cause."""
    event = one["log"]["events"]
    link = one["log"]["link"]
    need(type(event) is int and event >= 0, "`events` is not a number of events")
    need(re.fullmatch(LINK, link) is not None, "`link` is not a link")
    who = str(one.get("by") or name)
    when = str(one.get("seen_utc") or "")
    return Kept(event, link, who, when)


def read_log(data: bytes, name: str) -> Log:
    """Read the published log: a list of links, or a record. Raises Wrong."""
    if data.startswith(b"{"):
        with about(name):
            return _record(data.decode(), name)
    need(
        len(data) % LINK_BYTES == 0,
        f"{name} is not a list of links: they have {LINK_BYTES} bytes each",
    )
    links = {0: NO_LINK}
    for event in range(1, len(data) // LINK_BYTES + 1):
        link = data[(event - 1) * LINK_BYTES : event * LINK_BYTES]
        links[event] = link.hex()
    return Log(name, links)


def _record(text: str, name: str) -> Log:
    """Compute the links of a record."""
    first, *written = text.splitlines()
    begin = json.loads(first)
    number = begin["before"]
    is_link = re.fullmatch(LINK, begin["previous"]) is not None
    need(is_link, "`previous` is not a link")
    log = Log(name, {number: begin["previous"]})
    for line in written:
        one = json.loads(line)
        digest = one["digest"] if "digest" in one else digest_of_event(one)
        previous = log.links[number]
        number += 1
        log.links[number] = sha256(lines("lpirc-log-1", previous, digest))
        if one.get("kind") == "restored" and "backup_utc" in json.loads(one["detail"]):
            log.restores[number] = one["utc"]
    return log


def log_of(bundle: Bundle) -> Log:
    """Return the part of the log that a bundle has."""
    links = dict(enumerate(bundle.log, start=bundle.events_before))
    return Log("the bundle", links)


def check_links(bundle: Bundle, kept: list[Kept], published: list[Log]) -> None:
    """Check that bundle and published logs are one log, and that all kept links lie on it."""
    compare(log_of(bundle), kept, published)


def compare(own: Log, kept: list[Kept], published: list[Log]) -> None:
    """Compare kept links with the log of a bundle, `own`, and the published ones. Raises Wrong, NotChecked."""
    if not kept and not published:
        raise NotChecked(
            "no kept links were given: give --links, or --receipts that have some"
        )
    logs = [own, *published]
    one_log = _united(logs)
    newest = max(one_log)
    unknown: dict[int, Kept] = {}
    for one in sorted(kept, key=_by_event):
        link = one_log.get(one.event)
        if link == one.link or _was_taken_back(one, logs):
            continue
        if link is not None:
            raise Wrong(_not_on_it(one, f"the published log has {link}"))
        if published and one.event > newest:
            raise Wrong(_not_on_it(one, f"the published log ends at event {newest}"))
        other = unknown.setdefault(one.event, one)
        need(
            other.link == one.link,
            f"two histories were shown: of event {one.event}, {other.who} kept another link at {other.when} than "
            f"{one.who} at {one.when}",
        )
    if unknown:
        events = f"{min(unknown)} to {max(unknown)}"
        raise NotChecked(
            f"kept links of events {events} are not in the bundle: give --chain"
        )


def _by_event(one: Kept) -> int:
    return one.event


def _united(logs: list[Log]) -> dict[int, str]:
    """Return the links of all logs by event. Raises Wrong if two of them differ."""
    links: dict[int, str] = {}
    for log in logs:
        for event, link in log.links.items():
            known = links.setdefault(event, link)
            need(
                known == link,
                f"there are two logs: {log.name} has another link of event {event} than the others",
            )
    return links


def _was_taken_back(one: Kept, logs: list[Log]) -> bool:
    """Return True if a restore that is on record took this link back: it is before the link, and after its time."""
    for log in logs:
        for event, utc in log.restores.items():
            if event <= one.event and _is_before(one.when, utc):
                return True
    return False


def _is_before(time: str, other: str) -> bool:
    """Return True if both are times, and the first one is earlier."""
    try:
        return datetime.fromisoformat(time) < datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return False


def _not_on_it(one: Kept, why: str) -> str:
    return f"the link of event {one.event} that {one.who} kept at {one.when} is {one.link}, but {why}"
