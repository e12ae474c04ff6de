"""The newest link of a contest's log that a client keeps, and the link that a server shows in its place."""

from __future__ import annotations

from typing import Any

from referee.clock import Clock
from tests.contest_day import Day, Server, until


def head_kept(day: Day, token: str) -> dict[str, Any]:
    """The newest link of the log that a client keeps: that of its last 202, which has every act so far."""
    with day.store() as store:
        store.log.append(Clock().utc(), None, "odd")
        events = store.log.head()[0]
    kept: dict[str, Any] = {}

    def has_all() -> bool:
        kept.update(day.post(token).json()["log"])
        return bool(kept["events"] == events)

    until(has_all)
    return kept


def shown_link(server: Server, event: int) -> str:
    """The link after an event in the log that a server shows."""
    links = server.ask("GET", "/log/links").content
    return links[32 * (event - 1) : 32 * event].hex()
