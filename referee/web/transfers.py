"""What is under way, who answers for it, and how much of it there may be: each request of these holds a thread.

Requests that could hold their thread for long are counted: bodies that arrive until they are answered, batches that
are sent, everything else but single images. Each has an account: the open run whose token it bears, verified before
the body is read, or else the address it comes from. Every station has a share of the places for runs, so that no run
can take another's. Strangers share the rest: one address cannot take more than a part, and the second half of it is
for addresses that have nothing else under way. The address from which a team last gave its right password has one place
beyond that, so that its board can log in again whatever others do.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from referee.errors import RefereeError

LEAST_BYTES_PER_S = 64 * 2**10
GRACE_S = 10.0  # for a connection to get going, and to stand still later on
LONG_ANSWER_S = 3.0

Account = int | str
"""The number of an open run, or an address."""
OPERATOR: Account = 0  # no run has this number; the operator has the places of one, whatever strangers do


class Kind(StrEnum):  # a StrEnum hashes as fast as a text, an Enum by a call
    """What there are places for."""

    ANSWER = "answer"
    UPLOAD = "upload"
    LARGE = "large"  # a large body, beside its place as an upload
    DOWNLOAD = "download"
    LOGIN = "login"  # a password that is being checked, beside its place as another request


# Places of one account, and of all of them.
OF_RUNS = {Kind.ANSWER: (24, 48), Kind.UPLOAD: (48, 96), Kind.LARGE: (3, 8), Kind.DOWNLOAD: (16, 48)}
OF_STRANGERS = {Kind.ANSWER: (16, 40), Kind.UPLOAD: (16, 48), Kind.LARGE: (1, 2), Kind.LOGIN: (8, 24)}
FAMILIAR = 32  # teams whose address is remembered
KINDS_OF_FAMILIAR = frozenset({Kind.ANSWER, Kind.UPLOAD, Kind.LOGIN})
# Those that hold a thread, together less than the server has: whatever is under way, an image finds one.
AT_ONCE = {
    Kind.ANSWER: OF_RUNS[Kind.ANSWER][1] + OF_STRANGERS[Kind.ANSWER][1] + FAMILIAR,
    Kind.UPLOAD: OF_RUNS[Kind.UPLOAD][1] + OF_STRANGERS[Kind.UPLOAD][1] + FAMILIAR,
    Kind.DOWNLOAD: OF_RUNS[Kind.DOWNLOAD][1],
}
_REFUSALS = {
    Kind.ANSWER: ("too-many-requests", "requests are being answered"),
    Kind.UPLOAD: ("too-many-uploads", "bodies are on their way"),
    Kind.LARGE: ("too-many-uploads", "large bodies are on their way or wait for their turn"),
    Kind.DOWNLOAD: ("too-many-downloads", "batches are on their way"),
    Kind.LOGIN: ("too-many-logins", "passwords are being checked"),
}


@dataclass(eq=False, slots=True)
class Transfer:
    """One that is under way. `kind` is what it is doing now, `places` is what it holds; overdue from `due_s` on."""

    kind: Kind
    account: Account
    address: str
    due_s: float
    places: tuple[Kind, ...]

    def goes_on(self, size: int, now_s: float) -> None:
        """So many bytes came or went: they buy time, but never more than the grace for standing still."""
        self.due_s = min(self.due_s + size / LEAST_BYTES_PER_S, now_s + GRACE_S)

    def is_arrived(self, now_s: float) -> None:
        """The body is there: the transfer keeps its places and is being answered now."""
        self.kind, self.due_s = Kind.ANSWER, now_s + LONG_ANSWER_S


class Transfers:
    """Counts transfers and knows which are overdue; times are of the monotonic clock, in seconds.

    With more `stations`, each of which can have an open run, the share of each is smaller.
    """

    def __init__(self, stations: int = 1) -> None:
        self._shares = {
            kind: max(min(most, all_together // stations), 1)
            for kind, (most, all_together) in OF_RUNS.items()
        }
        self._lock = threading.Lock()
        self._under_way: set[Transfer] = set()
        self._counts: dict[tuple[Kind, Account], int] = {}
        self._strangers: Counter[Kind] = Counter()
        self._familiar: OrderedDict[str, str] = OrderedDict()

    def remember(self, team: str, address: str) -> None:
        """The team gave its right password from there: a place is kept for it, instead of where it was before."""
        with self._lock:
            self._familiar[team] = address
            self._familiar.move_to_end(team)
            if len(self._familiar) > FAMILIAR:
                self._familiar.popitem(last=False)

    def of_a_run(self, kind: Kind) -> int:
        """How many places a run has."""
        return self._shares[kind]

    def begin(self, kind: Kind, account: Account, address: str, now_s: float) -> Transfer:
        """Count one more; `end` is to be called with it.

        Raises RefereeError `too-many-requests`, `too-many-uploads`, `too-many-downloads`, `too-many-logins`.
        """
        patience_s = GRACE_S if kind in (Kind.UPLOAD, Kind.DOWNLOAD) else LONG_ANSWER_S
        begun = Transfer(kind, account, address, now_s + patience_s, (kind,))
        with self._lock:
            self._require_room(kind, account)
            self._take(begun)
            self._under_way.add(begun)
        return begun

    def turn_into(self, one: Transfer, account: Account, *places: Kind, now_s: float) -> None:
        """Give up its places for others, of this account; the first of them is what it does from now on.

        Raises what `begin` raises; then it has none, and is still to be ended.
        """
        self._move(one, account, places)
        one.kind, one.due_s = places[0], now_s + GRACE_S

    def charge(self, one: Transfer, account: Account) -> None:
        """Let it hold its places on another account. Raises what `begin` raises."""
        if one.account != account:
            self._move(one, account, one.places)

    def end(self, one: Transfer) -> None:
        """It is over, one way or the other."""
        with self._lock:
            self._under_way.discard(one)
            self._leave(one)

    @contextmanager
    def counted(self, kind: Kind, account: Account, address: str, now_s: float) -> Iterator[None]:
        """Count one more meanwhile. Raises what `begin` raises."""
        begun = self.begin(kind, account, address, now_s)
        try:
            yield
        finally:
            self.end(begun)

    def overdue(self, now_s: float) -> dict[Kind, set[str]]:
        """The addresses of those that have taken longer than they may."""
        found: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        with self._lock:
            for one in self._under_way:
                if now_s >= one.due_s:
                    found[one.kind].add(one.address)
        return found

    def _move(self, one: Transfer, account: Account, places: tuple[Kind, ...]) -> None:
        with self._lock:
            self._leave(one)
            for place in places:
                self._require_room(place, account)
            one.account, one.places = account, places
            self._take(one)

    def _take(self, one: Transfer) -> None:
        for place in one.places:
            key = place, one.account
            self._counts[key] = self._counts.get(key, 0) + 1
            if isinstance(one.account, str):
                self._strangers[place] += 1

    def _leave(self, one: Transfer) -> None:
        for place in one.places:
            key = place, one.account
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
            if isinstance(one.account, str):
                self._strangers[place] -= 1
        one.places = ()

    def _require_room(self, kind: Kind, account: Account) -> None:
        held = self._counts.get((kind, account), 0)
        if isinstance(account, int):
            room = self.of_a_run(kind)
            if held < room:
                return
            code, what = _REFUSALS[kind]
            whose = "the operator" if account == OPERATOR else f"run {account}"
            sentence = f"{room} {what} for {whose}; finish one of them first."
        else:
            room, all_together = OF_STRANGERS[kind]
            strangers = self._strangers[kind]
            if held < room and strangers < all_together // 2:
                return
            is_familiar = kind in KINDS_OF_FAMILIAR and account in self._familiar.values()
            if held == 0 and (strangers < all_together or is_familiar):
                return
            code, what = _REFUSALS[kind]
            sentence = (
                f"{strangers} {what} that bear no open run's token, {held} of them from {account}; "
                "try again in a second."
            )
        raise RefereeError(code, sentence, retry_after_s=1)
