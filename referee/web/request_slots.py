"""The concurrency limit: how many requests of one caller may hold a thread at the same time.

A caller is an open run, the operator, who logs in, who sends an old form, or everyone else together. A request that
finds no free slot is refused at once. Who may not log in from where it is gets none (docs/decisions/0020).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from referee.auth.client_addresses import admits, require_admitted
from referee.errors import RefereeError
from referee.web.callers import open_run_of, operator_of
from referee.web.http_answers import Environ
from referee.web.state import OPERATORS_LOG_IN, AddressSlots, WebState

OPERATOR_PATH = "/operator"
LOG_IN = "/v1/session"
OLD_LOG_INS = frozenset({"/login", "/get_token"})
FORMS = frozenset(
    {
        "/verify",
        "/no_of_images",
        "/image",
        "/zipimages",
        "/image_camera",
        "/result",
        "/logout",
    }
)
"""The routes of 2015 to 2019 that bear their token in a form: until it is read, no one knows whose they are."""
_SLOTS = "referee.slots"


class Slots(Protocol):
    """Something of which a request holds one."""

    def acquire(self, *, blocking: bool) -> bool:
        """Take one if one is free."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


@dataclass(frozen=True)
class OneAddress:
    """The slots of an address among those that several share."""

    all: AddressSlots
    address: str

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot if one is free; it never waits."""
        return not blocking and self.all.acquire(self.address)

    def release(self) -> None:
        """Give it back."""
        self.all.release(self.address)


class FirstFree:
    """The slots of several runs whose teams are at one address: the first that is free is taken."""

    def __init__(self, slots: Sequence[threading.BoundedSemaphore]) -> None:
        self._slots = slots
        self._taken: threading.BoundedSemaphore | None = None

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot if one is free."""
        self._taken = next(
            (one for one in self._slots if one.acquire(blocking=blocking)), None
        )
        return self._taken is not None

    def release(self) -> None:
        """Give it back."""
        if self._taken is not None:
            self._taken.release()


def slots_of(state: WebState, environ: Environ) -> Slots:
    """The slots that the request counts on. Raises WrongAddress for a log-in or an old form that no station admits.

    They are those of the open run whose token it bears in its header, of the operator, of log-ins, of old forms from
    where a run's team has logged in or from elsewhere, and of everyone else.
    """
    path, address = environ["PATH_INFO"], environ.get("REMOTE_ADDR", "")
    if path.startswith(OPERATOR_PATH) and operator_of(state, environ) is not None:
        return state.operator_slots
    if "HTTP_AUTHORIZATION" in environ:
        try:
            return open_run_of(state, environ).slots
        except RefereeError:
            pass  # the handler raises it
    if path in OLD_LOG_INS or (path == LOG_IN and environ["REQUEST_METHOD"] == "POST"):
        return OneAddress(state.log_in_slots[_admitting(state, address)], address)
    if path == OPERATORS_LOG_IN:
        return OneAddress(state.log_in_slots[OPERATORS_LOG_IN], address)
    if path in FORMS:
        _admitting(state, address)
        known = [
            one.form_slots
            for one in state.control.live_runs().values()
            if address in one.addresses
        ]
        return FirstFree(known) if known else OneAddress(state.form_slots, address)
    return other_slots(state, environ)


def other_slots(state: WebState, environ: Environ) -> OneAddress:
    """The slots of a request without an open run."""
    return OneAddress(state.other_slots, environ.get("REMOTE_ADDR", ""))


def too_many_requests() -> RefereeError:
    """The refusal of a request that finds no free slot."""
    return RefereeError(
        "too-many-requests",
        "Too many requests of this caller are under way; finish one of them first.",
        retry_after_s=1,
    )


def hold_slot(environ: Environ, slots: Slots) -> None:
    """Take a slot for the length of the request. Raises RefereeError `too-many-requests`."""
    if not slots.acquire(blocking=False):
        raise too_many_requests()
    environ[_SLOTS] = slots


def move_slot(environ: Environ, slots: Slots) -> None:
    """Hold one of these slots instead: now it is known whose request it is. Raises RefereeError `too-many-requests`."""
    held = environ.get(_SLOTS)
    if held is not None and held is not slots:
        hold_slot(environ, slots)
        held.release()


def prefer_slot(environ: Environ, slots: Slots) -> None:
    """Hold one of these slots instead, if one is free: a log-in that waits for its start takes none from other ones."""
    with suppress(RefereeError):
        move_slot(environ, slots)


def release_slot(environ: Environ) -> None:
    """Free the slot that the request holds, if any."""
    held = environ.pop(_SLOTS, None)
    if held is not None:
        held.release()


def _admitting(state: WebState, address: str) -> str:
    """The name of the first station that names the address; blank if only one that names none admits it.

    Raises WrongAddress if none does.
    """
    stations = state.contest.config.stations
    for one in stations:
        if one.clients and admits(one.clients, address):
            return one.name
    if all(one.clients for one in stations):
        require_admitted(stations[0], address)
    return ""
