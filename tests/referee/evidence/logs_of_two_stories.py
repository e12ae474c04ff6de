"""Logs as an honest organizer writes them, as one shows two of them, and what people keep of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from referee.store.hash_links import LOG_START, event_digest, log_link

Chance = np.random.Generator
START = datetime(2027, 6, 20, 9, tzinfo=UTC)
MOST_EVENTS = 60


@dataclass(frozen=True)
class LogEvent:
    """An event, in which nothing is known of what it says but its kind."""

    utc: str
    kind: str
    detail: str

    @property
    def digest(self) -> bytes:
        return event_digest(self.utc, None, self.kind, self.detail)

    @property
    def line(self) -> dict[str, Any]:
        if self.kind != "restored":
            return {"digest": self.digest.hex()}
        return {
            "utc": self.utc,
            "run": None,
            "kind": self.kind,
            "detail": self.detail,
        }


Log = list[LogEvent]


def at(minute: float) -> str:
    return (START + timedelta(minutes=minute)).isoformat()


def event(minute: float, chance: Chance, kind: str = "odd", **more: str) -> LogEvent:
    detail = {"number": int(chance.integers(2**62)), **more}
    return LogEvent(at(minute), kind, json.dumps(detail))


def events(count: int, chance: Chance, minute: int = 0) -> Log:
    return [event(minute + number, chance) for number in range(count)]


def links(log: Log) -> list[bytes]:
    """The link before the first event, then one for each."""
    found = [LOG_START]
    for one in log:
        found.append(log_link(found[-1], one.digest))
    return found


def as_list(log: Log) -> bytes:
    return b"".join(links(log)[1:])


def as_record(log: Log) -> bytes:
    first = {"previous": LOG_START.hex(), "before": 0}
    lines = [first, *(one.line for one in log)]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def kept(log: Log, events_seen: int, minute: float, by: str) -> bytes:
    """A line of a file of kept links."""
    link = links(log)[events_seen].hex()
    seen = {"events": events_seen, "link": link}
    line = {"log": seen, "seen_utc": at(minute), "by": by}
    return f"{json.dumps(line)}\n".encode()


# What a dishonest organizer does from event `fork` on (0: the first one)


def altered(log: Log, fork: int, chance: Chance) -> Log:
    other = event(fork, chance)
    return [*log[:fork], other, *log[fork + 1 :]]


def dropped(log: Log, fork: int, chance: Chance) -> Log:
    return [*log[:fork], *log[fork + 1 :]]


def added(log: Log, fork: int, chance: Chance) -> Log:
    return [*log[:fork], event(fork, chance), *log[fork:]]


def reordered(log: Log, fork: int, chance: Chance) -> Log:
    return [*log[:fork], log[fork + 1], log[fork], *log[fork + 2 :]]


def gone_on_from_a_backup(log: Log, fork: int, chance: Chance) -> Log:
    count = int(chance.integers(1, MOST_EVENTS))
    return [*log[:fork], *events(count, chance, minute=fork)]


def cut(log: Log, fork: int, chance: Chance) -> Log:
    return log[:fork]


FORKS: tuple[Callable[[Log, int, Chance], Log], ...] = (
    altered,
    dropped,
    added,
    reordered,
    gone_on_from_a_backup,
    cut,
)


@dataclass(frozen=True)
class TwoStories:
    """Two logs that part after `fork` events, and which of them was published."""

    shown: tuple[Log, Log]
    fork: int
    published: Log


def two_stories(number: int, chance: Chance) -> TwoStories:
    """A history and what it is replaced by; the published one may be either, but of a cut log the cut one."""
    log = events(int(chance.integers(3, MOST_EVENTS)), chance)
    fork = int(chance.integers(0, len(log) - 2))
    change = FORKS[number % len(FORKS)]
    other = change(log, fork, chance)
    is_cut = change is cut
    published = other if is_cut or chance.random() < 0.5 else log
    return TwoStories((log, other), fork, published)


def kept_by(log: Log, fork: int, by: str, chance: Chance) -> bytes:
    """What a party kept of the log that it was shown: some links, one of them after the fork, if there is anything."""
    places = chance.integers(0, len(log) + 1, 3).tolist()
    if len(log) > fork:
        places.append(int(chance.integers(fork + 1, len(log) + 1)))
    lines = [kept(log, place, place, by) for place in sorted(places)]
    return b"".join(lines)


# What happens to an honest one


@dataclass
class Honest:
    """A log that goes on, with all that anybody kept of it on the way."""

    log: Log
    kept: bytes = b""
    minute: int = 0

    def go_on(self, chance: Chance) -> None:
        """Some events, and somebody looks after some of them."""
        for _ in range(int(chance.integers(1, 9))):
            self.minute += 1
            self.log = [*self.log, event(self.minute, chance)]
            if chance.random() < 0.5:
                self.look(chance)

    def look(self, chance: Chance) -> None:
        by = f"onlooker {chance.integers(3)}"
        self.kept += kept(self.log, len(self.log), self.minute + 0.3, by)

    def restart(self, chance: Chance) -> None:
        self._tell("server-start", chance)

    def take_over(self, chance: Chance) -> None:
        """The standby has read the journal to its end."""
        self._tell("taken-over", chance)

    def restore_journal(self, chance: Chance) -> None:
        self._tell("restored", chance, journal="journal")

    def restore_backup(self, chance: Chance) -> None:
        """Whatever came after the backup is lost; the restore is on record."""
        self.log = self.log[: int(chance.integers(0, len(self.log) + 1))]
        self._tell("restored", chance, backup_utc=at(0))

    def _tell(self, kind: str, chance: Chance, **more: str) -> None:
        self.minute += 1
        self.log = [*self.log, event(self.minute, chance, kind, **more)]


ACCIDENTS: tuple[Callable[[Honest, Chance], None], ...] = (
    Honest.restart,
    Honest.take_over,
    Honest.restore_journal,
    Honest.restore_backup,
)


def honest(chance: Chance) -> Honest:
    """A day with up to five accidents."""
    found = Honest(events(int(chance.integers(1, 9)), chance))
    found.minute = len(found.log)
    found.look(chance)
    for _ in range(int(chance.integers(0, 6))):
        found.go_on(chance)
        ACCIDENTS[int(chance.integers(len(ACCIDENTS)))](found, chance)
    found.go_on(chance)
    found.look(chance)
    return found
