"""Reads from a contest's log what it claims about the runs, and whether its chain is intact. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from referee.store.event_chain import LoggedEvent
from referee.store.hash_links import LOG_START
from referee.store.records import ENERGY_READ, JUDGED, RUN_CLOSED

OPERATOR = "operator"
VOID = "void"
UNVOID = "unvoid"
READ = (JUDGED, RUN_CLOSED, ENERGY_READ, OPERATOR, VOID)


@dataclass
class Record:
    """The claims of a log, by run: judgements, close, energy read, and whether the run is void.

    `runs` are all runs that the log names. `broken_at` is the first event with a link that does not match its content,
    None if the chain is intact. `is_linked` is False if no event has a link, as in a log of an earlier version.
    `events` is the number of events, `link` (hexadecimal) the link of the last one; `link_then` is the link of the
    event that was asked for.
    """

    judged: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    closed: dict[int, dict[str, Any]] = field(default_factory=dict)
    energies_wh: dict[int, Any] = field(default_factory=dict)
    is_void: dict[int, bool] = field(default_factory=dict)
    runs: set[int] = field(default_factory=set)
    broken_at: int | None = None
    is_linked: bool = False
    events: int = 0
    link: str = LOG_START.hex()
    link_then: str | None = None


def read_record(events: Iterable[LoggedEvent], asked: int = 0) -> Record:
    """Read a log from its first event on; `asked` is the number, from 1, of the event to report in `link_then`."""
    found = Record()
    link = LOG_START
    unlinked = 0
    for place, event in enumerate(events, start=1):
        link = event.link_after(link)
        if not event.link:
            unlinked += 1
        if event.link != link and found.broken_at is None:
            found.broken_at = place
        if place == asked:
            found.link_then = event.link.hex()
        found.events = place
        _note(found, event)
    found.is_linked = unlinked < found.events
    found.link = link.hex()
    return found


def _note(found: Record, event: LoggedEvent) -> None:
    run = event.run
    if run is None:
        return
    found.runs.add(run)
    if event.kind not in READ:
        return
    said = event.values
    if event.kind == JUDGED:
        found.judged.setdefault(run, []).append(said)
    elif event.kind == RUN_CLOSED:
        found.closed[run] = said
    if event.kind in (RUN_CLOSED, ENERGY_READ) and "energy_wh" in said:
        found.energies_wh[run] = said["energy_wh"]
    action = said.get("action") if event.kind == OPERATOR else event.kind
    if action in (VOID, UNVOID):
        found.is_void[run] = action == VOID
