"""Refused requests: counted in memory when they happen, then stored and logged once a second by another thread."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace

from referee.clock import Clock
from referee.store import Store
from referee.store.records import Refusal

ALIKE_S = 60.0  # within this time, similar refusals count as one
# Most kinds kept per minute; further refusals are counted without team and run.
MOST_ALIKE = 500
MOST_OF_ADDRESS = 25
OTHERS = "other addresses"
MOST_LINES = 20  # per look, written into the log
LONGEST_NAME = 100
LONGEST_SENTENCE = 400

logger = logging.getLogger(__name__)
Key = tuple[str, str | None, int | None, str]


@dataclass
class _Alike:
    refusal: Refusal
    began_s: float
    row: int | None = None
    stored: int = 0  # how many of `count`


@dataclass
class Refusals:
    """The refusals of the last minute. `note` never waits for the disk; one thread alone calls `store_new`."""

    store: Store
    clock: Clock
    _found: dict[Key, _Alike] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(
        self,
        status: int,
        code: str,
        sentence: str,
        team: str | None,
        run: int | None,
        address: str,
    ) -> None:
        """Count a refused request."""
        now_s = self.clock.monotonic_s()
        utc = self.clock.utc().isoformat()
        key: Key = (code, team and _stored(team, LONGEST_NAME), run, address)
        with self._lock:
            if (
                key not in self._found
                and sum(one[3] == address for one in self._found) >= MOST_OF_ADDRESS
            ):
                key = (code, None, None, address)
            if key not in self._found and len(self._found) >= MOST_ALIKE:
                key = (code, None, None, OTHERS)
            found = self._found.get(key)
            if found is None:
                new = Refusal(
                    utc,
                    utc,
                    1,
                    code,
                    status,
                    *key[1:],
                    _stored(sentence, LONGEST_SENTENCE),
                )
                self._found[key] = _Alike(new, now_s)
            else:
                found.refusal = replace(
                    found.refusal, utc=utc, count=found.refusal.count + 1
                )

    def store_new(self) -> None:
        """Store and log what was noted since the last call.

        Raises StorageFailed; what could not be stored is kept for the next call.
        """
        with self._lock:
            changed = [
                one for one in self._found.values() if one.refusal.count > one.stored
            ]
            states = [one.refusal for one in changed]
        if changed:
            rows = self.store.refusals.keep(
                zip([one.row for one in changed], states, strict=True)
            )
            self._log(
                [
                    state
                    for one, state in zip(changed, states, strict=True)
                    if one.row is None
                ]
            )
            for one, row, state in zip(changed, rows, states, strict=True):
                one.row = row
                one.stored = state.count
        over_s = self.clock.monotonic_s() - ALIKE_S
        with self._lock:
            for key, one in list(self._found.items()):
                if one.began_s <= over_s and one.refusal.count == one.stored:
                    del self._found[key]

    def _log(self, new: list[Refusal]) -> None:
        for one in new[:MOST_LINES]:
            who = (
                ""
                if one.team is None
                else f" (team {one.team!r}{f', run {one.run}' if one.run else ''})"
            )
            logger.warning(
                "refused %s%s: %d %s: %s",
                one.address,
                who,
                one.status,
                one.code,
                one.sentence.strip(),
            )
        if len(new) > MOST_LINES:
            logger.warning(
                "refused: %d more kinds of requests, see: referee status",
                len(new) - MOST_LINES,
            )


def _stored(text: str, longest: int) -> str:
    """Return the text in a form that SQLite accepts: JSON can contain half of a surrogate pair, SQLite cannot."""
    return text[:longest].encode("utf-8", "replace").decode()
