"""Links of the contest's log: what a client is shown of it, kept with the time, and compared with all links.

The newest link stands for everything that the log holds. Whoever keeps links can show later that it was altered, or
that somebody else was shown another one (docs/receipts.md of the project).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Mapping

from lpirc_client.errors import ClientError

LINK_BYTES = 32
LINK = re.compile("[0-9a-f]{64}")
SHOWN = 60
"""Characters of a wrong line that are shown."""


@dataclass(frozen=True)
class LogLink:
    """A link of the log, and the number of events that it stands for."""

    events: int
    link: str

    @property
    def values(self) -> dict[str, Any]:
        """Return it as it is kept."""
        return {"events": self.events, "link": self.link}


def link_from(value: object) -> LogLink | None:
    """Read a link as the referee or a file of kept links has it; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    events = value.get("events")
    link = value.get("link")
    is_number = isinstance(events, int) and not isinstance(events, bool)
    if not is_number or not isinstance(link, str) or not LINK.fullmatch(link):
        return None
    return LogLink(int(str(events)), link)


def now_utc() -> str:
    """Return the time of this device, with which a link is kept."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


class SeenLinks:
    """The newest link that was seen; what contradicts it is told in a sentence."""

    def __init__(self, last: LogLink | None = None) -> None:
        self.last = last

    def see(self, found: LogLink) -> str | None:
        """Take a link, and return what is wrong with it, if anything is."""
        last = self.last
        self.last = found
        if last is None:
            return None
        if found.events < last.events:
            return f"it has {found.events} events, and had {last.events} before"
        if found.events == last.events and found.link != last.link:
            return f"the link of event {found.events} is another one than before"
        return None


def read_kept(path: Path) -> list[tuple[LogLink, str]]:
    """Return the links that a file holds, each with where and when it was kept. Raises ClientError `bad-links`."""
    found = []
    try:
        written = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ClientError("bad-links", f"{path}: cannot be read: {reason}") from error
    for number, line in enumerate(written, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            what = f"this is no kept link, as `lpirc-client links URL` prints it: {line[:SHOWN]!r}"
            raise ClientError("bad-links", f"{path}, line {number}: {what}")
        link = link_from(value.get("log"))
        if link is not None:
            where = f"{path}, line {number}, of {value.get('seen_utc', 'no time')}"
            found.append((link, where))
    if not found:
        raise ClientError("bad-links", f"{path} holds no links of the log")
    return found


def differences(links: bytes, kept: list[tuple[LogLink, str]]) -> list[str]:
    """Return what of the kept links is not in the list of all links, in the order of events."""
    found = []
    for one, where in sorted(kept, key=lambda each: each[0].events):
        if one.events == 0:
            continue
        at = (one.events - 1) * LINK_BYTES
        now = links[at : at + LINK_BYTES].hex()
        if not now:
            found.append(
                f"{where}: the log had {one.events} events, and has {len(links) // LINK_BYTES} now"
            )
        elif now != one.link:
            found.append(
                f"{where}: the link of event {one.events} was {one.link}, and is {now} now"
            )
    return found
