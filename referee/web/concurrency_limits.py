"""The concurrency limit: the number of requests of one caller that may hold a thread at the same time.

Callers are: an open run, the operator, a client that logs in, a client that sends an HTML form of the protocol of 2015
(an old form), and everyone else together. A request that finds no free slot is refused at once.
`referee.web.request_slots` chooses the slots of a request.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from referee.errors import RefereeError

UNAUTHENTICATED_AT_ONCE = 128
UNAUTHENTICATED_OF_AN_ADDRESS = 64
FORMS_AT_ONCE = 64
FORMS_OF_AN_ADDRESS = 16
LOG_INS_AT_ONCE = 128
LOG_INS_OF_A_STATION = 32
LOG_INS_OF_AN_ADDRESS = 16
OPERATORS_AT_ONCE = 8
UPLOADS_AT_ONCE = 512
UPLOADS_OF_A_TEAM = 2

OPERATORS_LOG_IN = "/operator/login"
EVERYONE_ELSE = ""
"""Key of the log-ins from addresses that no station lists."""


class Slots(Protocol):
    """A set of slots, of which a request holds one."""

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot if one is free."""
        ...

    def release(self) -> None:
        """Give the slot back."""
        ...


class AddressSlots:
    """Slots shared by several addresses, with a maximum for each, so that no host can exclude the others."""

    def __init__(self, in_all: int, of_one: int) -> None:
        self._in_all = in_all
        self._of_one = of_one
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    def acquire(self, address: str) -> bool:
        """Take a slot if one is free."""
        with self._lock:
            if self._held[address] >= self._of_one:
                return False
            if self._held.total() >= self._in_all:
                return False
            self._held[address] += 1
            return True

    def release(self, address: str) -> None:
        """Give a slot back."""
        with self._lock:
            self._held[address] -= 1
            self._held += Counter()  # drops addresses that hold none


@dataclass(frozen=True)
class OneAddress:
    """The share of one address in the slots that several addresses share."""

    all: AddressSlots
    address: str

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot if one is free, without waiting."""
        return not blocking and self.all.acquire(self.address)

    def release(self) -> None:
        """Give the slot back."""
        self.all.release(self.address)


class FirstFree:
    """The slots of several runs whose teams share one address: the first free slot is taken."""

    def __init__(self, slots: Sequence[threading.BoundedSemaphore]) -> None:
        self._slots = slots
        self._taken: threading.BoundedSemaphore | None = None

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot of the first run that has one free."""
        free = (one for one in self._slots if one.acquire(blocking=blocking))
        self._taken = next(free, None)
        return self._taken is not None

    def release(self) -> None:
        """Give the slot back to its run."""
        if self._taken is not None:
            self._taken.release()


def _slots_of_operators() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(OPERATORS_AT_ONCE)


def _slots_of_unauthenticated() -> AddressSlots:
    return AddressSlots(UNAUTHENTICATED_AT_ONCE, UNAUTHENTICATED_OF_AN_ADDRESS)


def _slots_of_forms() -> AddressSlots:
    return AddressSlots(FORMS_AT_ONCE, FORMS_OF_AN_ADDRESS)


def _slots_of_uploads() -> AddressSlots:
    return AddressSlots(UPLOADS_AT_ONCE, UPLOADS_OF_A_TEAM)


@dataclass(frozen=True)
class ConcurrencyLimits:
    """The slots of all requests that belong to no open run.

    An open run has its own slots for concurrent requests (`OpenRun.slots`). It has further slots for old forms that
    come from the addresses of its log-ins (`OpenRun.form_slots`). The operator has some, and everyone else shares the
    rest. So a run can exhaust only its own slots, and neither a run nor a single host can keep the operator out.
    `forms` are for old forms from other addresses. `log_ins` are keyed by the station that lists the address, by
    OPERATORS_LOG_IN, and by EVERYONE_ELSE. `uploads` are keyed by the team that sends a large file.
    """

    log_ins: dict[str, AddressSlots]
    operators: threading.BoundedSemaphore = field(default_factory=_slots_of_operators)
    unauthenticated: AddressSlots = field(default_factory=_slots_of_unauthenticated)
    forms: AddressSlots = field(default_factory=_slots_of_forms)
    uploads: AddressSlots = field(default_factory=_slots_of_uploads)


def limits_of(stations: Iterable[str]) -> ConcurrencyLimits:
    """Return the limits of a contest, with log-in slots for each of `stations`, the stations that list addresses."""
    log_ins = {
        name: AddressSlots(LOG_INS_OF_A_STATION, LOG_INS_OF_AN_ADDRESS)
        for name in (*stations, OPERATORS_LOG_IN)
    }
    log_ins[EVERYONE_ELSE] = AddressSlots(LOG_INS_AT_ONCE, LOG_INS_OF_AN_ADDRESS)
    return ConcurrencyLimits(log_ins)


def too_many_requests() -> RefereeError:
    """Return the error for a request that finds no free slot."""
    return RefereeError(
        "too-many-requests",
        "Too many requests of this caller are under way; finish one of them first.",
        retry_after_s=1,
    )
