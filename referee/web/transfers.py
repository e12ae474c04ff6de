"""What is on its way: bodies that arrive, requests that are being answered, batches that are being sent.

Each of them holds one of the server's threads, so there are bounds on their number: for each address, so that a client
that stalls holds up only itself, and over all. What takes longer than it may is known by its address; `laggards` ends
its connections.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from dataclasses import dataclass
from enum import Enum

from referee.errors import RefereeError

LEAST_BYTES_PER_S = 64 * 2**10
GRACE_S = 10.0  # for a connection to get going
LONG_ANSWER_S = 3.0


class Kind(Enum):
    """What is on its way."""

    UPLOAD = "upload"
    ANSWER = "answer"
    DOWNLOAD = "download"


# Together less than the server has threads: whatever is under way, an image finds one.
OF_AN_ADDRESS = {Kind.UPLOAD: 32, Kind.DOWNLOAD: 16}
AT_ONCE = {Kind.UPLOAD: 160, Kind.DOWNLOAD: 64}


@dataclass(frozen=True)
class _Transfer:
    kind: Kind
    address: str
    due_s: float


class Transfers:
    """Counts transfers and knows which are overdue; times are of the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys = itertools.count()
        self._under_way: dict[int, _Transfer] = {}
        self._counts: Counter[tuple[Kind, str | None]] = Counter()

    def begin(self, kind: Kind, address: str, now_s: float, size: int = 0) -> int:
        """Count one more of `size` bytes; gives what `end` is to be told.

        Raises RefereeError `too-many-uploads`, `too-many-downloads`.
        """
        patience_s = LONG_ANSWER_S if kind is Kind.ANSWER else GRACE_S + size / LEAST_BYTES_PER_S
        with self._lock:
            if kind in AT_ONCE:
                self._require_room(kind, address)
                self._counts[kind, address] += 1
                self._counts[kind, None] += 1
            key = next(self._keys)
            self._under_way[key] = _Transfer(kind, address, now_s + patience_s)
        return key

    def end(self, key: int) -> None:
        """It is over, one way or the other."""
        with self._lock:
            over = self._under_way.pop(key)
            if over.kind not in AT_ONCE:
                return
            self._counts[over.kind, None] -= 1
            self._counts[over.kind, over.address] -= 1
            if not self._counts[over.kind, over.address]:
                del self._counts[over.kind, over.address]

    def is_overdue(self, key: int, now_s: float) -> bool:
        """Whether one that is under way has taken longer than it may."""
        return now_s >= self._under_way[key].due_s

    def overdue(self, now_s: float) -> dict[Kind, set[str]]:
        """The addresses of those that have taken longer than they may."""
        found: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        with self._lock:
            for one in self._under_way.values():
                if now_s >= one.due_s:
                    found[one.kind].add(one.address)
        return found

    def _require_room(self, kind: Kind, address: str) -> None:
        bodies = "bodies are" if kind is Kind.UPLOAD else "batches are"
        if self._counts[kind, address] >= OF_AN_ADDRESS[kind]:
            sentence = (
                f"{OF_AN_ADDRESS[kind]} {bodies} on their way with {address}; finish one of them first."
            )
        elif self._counts[kind, None] >= AT_ONCE[kind]:
            sentence = f"{AT_ONCE[kind]} {bodies} on their way with all clients; try again in a second."
        else:
            return
        raise RefereeError(f"too-many-{kind.value}s", sentence, retry_after_s=1)
