"""The contest's log on its site: all public links, and the record from which they follow."""

from __future__ import annotations

from referee.evidence.published_chain import log_record
from referee.store import Store

LINKS = "log/links"
RECORD = "log/record.jsonl"


def log_files(store: Store, events: int) -> dict[str, bytes]:
    """Return the files by their path in the site, up to event `events`; none of an empty log."""
    if events == 0:
        return {}
    links = store.log.links(0, events)
    return {LINKS: links, RECORD: log_record(store, events)}
