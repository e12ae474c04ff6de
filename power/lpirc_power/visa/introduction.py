"""Identification of an instrument: sends `*IDN?` until the answer matches, since older answers may be queued.

This never clears the meter's status registers, since a run on another link reads updates and errors from them.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from lpirc_power.errors import MeterAnswerError, MeterTimeout

TRIES: Final = 4
"""Largest number of attempts: more than the old answers that an instrument may hold."""
_PARTS: Final = (4, 5)
_NO_NAMES: Final = re.compile(r"[\s:+-]|\d|NAN\b|INF\b|.*;", re.IGNORECASE)


class Asked(Protocol):
    """Protocol of a link that can be queried: a `lpirc_power.visa.link.Link`."""

    address: str

    def query(self, message: str) -> str:
        """Send a message and return its answer."""

    def read(self) -> str:
        """Return one more answer."""

    def clear(self) -> bool:
        """Clear this link's messages and answers in the meter."""


def introduction(link: Asked, *, keeps_answers: bool) -> str:
    """Return the answer to `*IDN?`, or the last answer if none of them is an identity.

    A link that `keeps_answers` (USB, GPIB, RS-232) outlives the program that used it: an answer that a killed program
    left unread would be taken for the next one, and every later answer would be one behind. Over the network each link
    begins empty. MeterError `meter-timeout` if no answer comes, `meter-answer` if the answers stay out of step.
    """
    answer, asked = _named(link, keeps_answers)
    if is_introduction(answer) and (asked > 1 or keeps_answers):
        _fall_into_step(link)
    return answer


def _named(link: Asked, keeps_answers: bool) -> tuple[str, int]:
    answer = ""
    for number in range(1, TRIES + 1):
        try:
            answer = link.query("*IDN?")
        except MeterTimeout:
            # The query may have been appended to an unfinished message of a killed program.
            if number > 1 or not (keeps_answers and link.clear()):
                raise
            continue
        if is_introduction(answer):
            return answer, number
    return answer, 1


def is_introduction(answer: str) -> bool:
    """Return True if an answer can be one to `*IDN?`: maker, model, serial number, firmware."""
    return len(answer.split(",")) in _PARTS and _NO_NAMES.match(answer) is None


def _fall_into_step(link: Asked) -> None:
    """Send a query with the answer 1 and read until it comes, so that no older answer is left."""
    answer = link.query("*OPC?")
    for _ in range(TRIES):
        if answer.strip().lstrip("+") == "1":
            return
        answer = link.read()
    raise MeterAnswerError(
        f"The meter at {link.address} answers {answer!r} to '*OPC?' and still has earlier answers queued; switch the "
        "meter off and on again."
    )
