"""Links of the contest's log that people kept, as they were shown them."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from referee.errors import RefereeError

LOG = "log"
_LINK = re.compile("[0-9a-f]{64}")
MOST_SHOWN = 60  # characters of a name


@dataclass(frozen=True)
class KeptLink:
    """A link of the log with the number of events that it covers, who kept it, and when by that one's clock."""

    events: int
    link: str
    by: str
    seen_utc: str | None

    @property
    def whose(self) -> str:
        """Return who kept it and when."""
        when = self.seen_utc or "a time that was not kept"
        return f"{self.by} at {when}"

    def is_before(self, utc: str) -> bool:
        """Return True if it was certainly kept before this time."""
        try:
            kept = datetime.fromisoformat(self.seen_utc or "")
            return kept < datetime.fromisoformat(utc)
        except (ValueError, TypeError):
            return False


def read_kept(text: bytes, name: str) -> list[KeptLink]:
    """Read the links of a file of JSON lines: kept by `lpirc-client links`, or beside receipts.

    Raises RefereeError `bad-links` that names the line, or if there is no link.
    """
    found = links_beside(text, name)
    if not found:
        sentence = f"{name} holds no links of the log. Keep them with: lpirc-client links URL >> FILE"
        raise RefereeError("bad-links", sentence)
    return found


def links_beside(text: bytes, name: str) -> list[KeptLink]:
    """Read the links of JSON lines, and skip lines without `log`, such as receipts that an earlier client kept.

    Raises RefereeError `bad-links` that names the line.
    """
    found = []
    for number, line in enumerate(text.removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if value.get(LOG) is not None:
                found.append(_read(value, name))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            sentence = (
                f"{name}, line {number}: this is not a kept link; see docs/receipts.md."
            )
            raise RefereeError("bad-links", sentence) from None
    return found


def _read(value: Mapping[str, Any], name: str) -> KeptLink:
    events = value[LOG]["events"]
    link = value[LOG]["link"]
    seen_utc = value.get("seen_utc")
    if type(events) is not int or events < 0 or not _LINK.fullmatch(link):
        raise ValueError(LOG)
    by = str(value.get("by") or name)[:MOST_SHOWN]
    return KeptLink(events, link, by, None if seen_utc is None else str(seen_utc))
