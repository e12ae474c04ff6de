"""The instrument's error codes (IM WT310-17EN, list of messages) and the exception that carries one."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[int, str]] = {
    0: "No error",
    102: "Syntax error",
    104: "Data type error",
    108: "Parameter not allowed",
    109: "Missing parameter",
    113: "Undefined header",
    114: "Header suffix out of range",
    120: "Numeric data error",
    123: "Exponent too large",
    131: "Invalid suffix",
    141: "Invalid character data",
    222: "Data out of range",
    350: "Queue overflow",
    410: "Query interrupted",
    813: "Invalid operation while integrating",
    842: "Attempted to start integration while in progress",
    844: "Attempted to stop integration while not in progress",
    845: "Attempted to reset integration while in progress",
}


class RefusedError(Exception):
    """What the instrument refuses: `code` goes to its error queue, and the rest of the message is dropped."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{code} {TEXTS[code]}")
        self.code = code
