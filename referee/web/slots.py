"""The concurrency limit: how many requests of one caller may hold a thread at the same time.

A caller is an open run, the operator, or everyone else together. A request that finds no free slot is refused at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from referee.errors import RefereeError
from referee.runs.open_run import OpenRun
from referee.web.answers import Environ
from referee.web.sessions import open_run_of, operator_of
from referee.web.state import AddressSlots, WebState

OPERATOR_PATH = "/operator"
_SLOTS = "referee.slots"


@dataclass(frozen=True)
class OtherSlots:
    """The slots of an address among those of everyone else."""

    all: AddressSlots
    address: str

    def acquire(self, *, blocking: bool) -> bool:
        """Take a slot if one is free; it never waits."""
        return not blocking and self.all.acquire(self.address)

    def release(self) -> None:
        """Give it back."""
        self.all.release(self.address)


Slots = threading.BoundedSemaphore | OtherSlots


def slots_of(state: WebState, environ: Environ) -> Slots:
    """The slots that the request counts on: those of the open run whose token it bears, of the operator, of others."""
    if environ["PATH_INFO"].startswith(OPERATOR_PATH) and operator_of(state, environ) is not None:
        return state.operator_slots
    if "HTTP_AUTHORIZATION" in environ:
        try:
            return open_run_of(state, environ).slots
        except RefereeError:
            pass  # the handler raises it
    return other_slots(state, environ)


def other_slots(state: WebState, environ: Environ) -> OtherSlots:
    """The slots of a request without an open run."""
    return OtherSlots(state.other_slots, environ.get("REMOTE_ADDR", ""))


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


def move_slot(environ: Environ, live: OpenRun) -> None:
    """Hold a slot of this run instead: its token was in the body. Raises RefereeError `too-many-requests`."""
    held = environ.get(_SLOTS)
    if held is not None and held is not live.slots:
        hold_slot(environ, live.slots)
        held.release()


def release_slot(environ: Environ) -> None:
    """Free the slot that the request holds, if any."""
    held = environ.pop(_SLOTS, None)
    if held is not None:
        held.release()
