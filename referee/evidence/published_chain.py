"""The published log of a contest: the list of its links, or its record, from which the same links follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from referee.errors import RefereeError
from referee.store import Store
from referee.store.event_chain import BACKUP_UTC, RESTORED
from referee.store.hash_links import LINK_BYTES, LOG_START, event_digest, log_link

_RECORD_BEGINS = b"{"


@dataclass(frozen=True)
class PublishedChain:
    """Links of the log, hexadecimal: `links[0]` is the link after `before` events.

    `restores` are the restored backups that a record shows, each as (number of the event, its time).
    """

    name: str
    before: int
    links: Sequence[str]
    restores: Sequence[tuple[int, str]] = ()

    @property
    def last(self) -> int:
        """Return the number of events up to the newest link."""
        return self.before + len(self.links) - 1

    def link(self, events: int) -> str | None:
        """Return the link after so many events; None if it is not among these."""
        if not self.before <= events <= self.last:
            return None
        return self.links[events - self.before]


def read_chain(data: bytes, name: str) -> PublishedChain:
    """Read a list of links (32 bytes each), or a record (JSON lines). Raises RefereeError `bad-chain`."""
    if data.startswith(_RECORD_BEGINS):
        try:
            return _read_record(data, name)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _bad_chain(name, f"it is not a record of the log ({error})") from None
    if len(data) % LINK_BYTES:
        sentence = f"it has {len(data)} bytes, which is no multiple of {LINK_BYTES}"
        raise _bad_chain(name, sentence)
    starts = range(0, len(data), LINK_BYTES)
    links = [data[at : at + LINK_BYTES].hex() for at in starts]
    return PublishedChain(name, 0, [LOG_START.hex(), *links])


def log_record(store: Store, upto: int) -> bytes:
    """Return the record of the log up to event `upto`: digests alone, and in clear each backup that was restored."""
    lines: list[dict[str, Any]] = [{"previous": LOG_START.hex(), "before": 0}]
    for event in store.log.after(0):
        if event.id > upto:
            break
        is_shown = event.kind == RESTORED and BACKUP_UTC in event.values
        line = {"digest": event.digest.hex()}
        if is_shown:
            shown = ("utc", "run", "kind", "detail")
            line = {name: getattr(event, name) for name in shown}
        lines.append(line)
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def _read_record(data: bytes, name: str) -> PublishedChain:
    first, *events = (json.loads(line) for line in data.splitlines())
    link = bytes.fromhex(first["previous"])
    before = int(first["before"])
    links = [link.hex()]
    restores = []
    for number, event in enumerate(events, start=before + 1):
        link = log_link(link, _digest_of(event))
        links.append(link.hex())
        if event.get("kind") == RESTORED and BACKUP_UTC in json.loads(event["detail"]):
            restores.append((number, str(event["utc"])))
    return PublishedChain(name, before, links, restores)


def _digest_of(event: dict[str, Any]) -> bytes:
    if "digest" in event:
        return bytes.fromhex(event["digest"])
    return event_digest(event["utc"], event["run"], event["kind"], event["detail"])


def _bad_chain(name: str, why: str) -> RefereeError:
    sentence = f"{name} is not the published log: {why}. Get it from /log/links of the referee, or from its site."
    return RefereeError("bad-chain", sentence)
