"""Chooses the concurrency slots for a request; a log-in from an address no station admits gets none.

See docs/decisions/0020.
"""

from __future__ import annotations

from contextlib import suppress

from referee.auth.client_addresses import admits, require_admitted
from referee.errors import RefereeError
from referee.web.callers import Callers, open_run_of, operator_of
from referee.web.concurrency_limits import (
    EVERYONE_ELSE,
    OPERATORS_LOG_IN,
    ConcurrencyLimits,
    FirstFree,
    OneAddress,
    Slots,
    too_many_requests,
)
from referee.web.web_request import WebRequest

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
"""Routes of 2015 to 2019 whose token is in a form; until the form is read, the run of the request is unknown."""


def slots_of(limits: ConcurrencyLimits, callers: Callers, asked: WebRequest) -> Slots:
    """Return the slots that a request is counted against.

    The slots belong to the open run whose token is in the request's header, to the operator, to log-ins, to old forms
    (with separate slots for addresses where a run's team has logged in), or to all other requests. Raises
    WrongAddress for a log-in or an old form from an address that no station admits.
    """
    environ = asked.environ
    path = environ["PATH_INFO"]
    address = environ.get("REMOTE_ADDR", "")
    if path.startswith(OPERATOR_PATH) and operator_of(callers, asked) is not None:
        return limits.operators
    if "HTTP_AUTHORIZATION" in environ:
        try:
            return open_run_of(callers, asked).slots
        except RefereeError:
            pass  # the handler raises it
    if path in OLD_LOG_INS or (path == LOG_IN and environ["REQUEST_METHOD"] == "POST"):
        admitting = _admitting(callers, address)
        return OneAddress(limits.log_ins[admitting], address)
    if path == OPERATORS_LOG_IN:
        return OneAddress(limits.log_ins[OPERATORS_LOG_IN], address)
    if path in FORMS:
        return _slots_of_form(limits, callers, address)
    return OneAddress(limits.unauthenticated, address)


def _slots_of_form(limits: ConcurrencyLimits, callers: Callers, address: str) -> Slots:
    _admitting(callers, address)
    known = [
        one.form_slots
        for one in callers.control.live_runs().values()
        if address in one.addresses
    ]
    return FirstFree(known) if known else OneAddress(limits.forms, address)


def hold_slot(asked: WebRequest, slots: Slots) -> None:
    """Take a slot until the end of the request. Raises RefereeError `too-many-requests`."""
    if not slots.acquire(blocking=False):
        raise too_many_requests()
    asked.slot = slots


def move_slot(asked: WebRequest, slots: Slots) -> None:
    """Replace the request's slot by one of these, once it is known whose request it is.

    Raises RefereeError `too-many-requests`.
    """
    held = asked.slot
    if held is not None and held is not slots:
        hold_slot(asked, slots)
        held.release()


def prefer_slot(asked: WebRequest, slots: Slots) -> None:
    """Replace the request's slot by one of these if one is free.

    So a log-in that waits for its start signal does not occupy a slot that other log-ins need.
    """
    with suppress(RefereeError):
        move_slot(asked, slots)


def release_slot(asked: WebRequest) -> None:
    """Free the slot that the request holds, if any."""
    held = asked.slot
    asked.slot = None
    if held is not None:
        held.release()


def _admitting(callers: Callers, address: str) -> str:
    """Return the name of the first station that lists the address; EVERYONE_ELSE if a station without a list admits it.

    Raises WrongAddress if no station admits it.
    """
    stations = callers.contest.config.stations
    for one in stations:
        if one.clients and admits(one.clients, address):
            return one.name
    if all(one.clients for one in stations):
        require_admitted(stations[0], address)
    return EVERYONE_ELSE
