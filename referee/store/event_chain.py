"""The contest's hash-chained event log. Every process appends to it through this module only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from referee.store.hash_links import LOG_START, event_digest, log_link
from referee.store.schema import insert

RESTORED = "restored"
"""Kind of the event of a restored contest; its detail has BACKUP_UTC if a backup was restored."""
BACKUP_UTC = "backup_utc"
SALT = "salt"
"""Key of random bits in an event's detail, without which somebody could guess the event and check it by its link."""


class Event(NamedTuple):
    """An event with its time and its run; the run is None for an event of the whole contest."""

    utc: str
    run: int | None
    kind: str
    detail: Mapping[str, object]


class LoggedEvent(NamedTuple):
    """An event as stored; `detail` is JSON text."""

    id: int
    utc: str
    run: int | None
    kind: str
    detail: str
    link: bytes

    @property
    def values(self) -> dict[str, Any]:
        """The detail as an object; text that is not a JSON object is returned as {"detail": text}."""
        try:
            found = json.loads(self.detail)
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {"detail": self.detail}

    @property
    def digest(self) -> bytes:
        """The digest that replaces the event where the event itself is not shown."""
        return event_digest(self.utc, self.run, self.kind, self.detail)

    def link_after(self, previous: bytes) -> bytes:
        """Return the link that this event must have if the link before it is `previous`."""
        return log_link(previous, self.digest)

    def document(self) -> dict[str, Any]:
        """Return the event as a JSON document for other programs."""
        return self._asdict() | {"detail": self.values, "link": self.link.hex()}


_LAST = "SELECT link FROM events ORDER BY id DESC LIMIT 1"


def append_event(
    connection: sqlite3.Connection,
    utc: str,
    run: int | None,
    kind: str,
    detail: Mapping[str, object],
) -> bytes:
    """Append an event in the connection's transaction, and return its link.

    The transaction holds the only write lock of the database, so no other process can append between the read of the
    last link and this write.
    """
    text = json.dumps(detail)
    last = connection.execute(_LAST).fetchone()
    link = log_link(
        last["link"] if last else LOG_START, event_digest(utc, run, kind, text)
    )
    event = {
        "id": None,
        "utc": utc,
        "run": run,
        "kind": kind,
        "detail": text,
        "link": link,
    }
    connection.execute(insert("events"), event)
    return link
