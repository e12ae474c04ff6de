"""Checks for the fields of a result document; each failure is described in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from referee.errors import ModelFault

LONGEST_TEXT = 1000
LARGEST_NUMBER = 1e12
SHOWN_CHARACTERS = 60  # a row of detections, or the end of a bench's sentence

Field = Callable[[str, object], None]
"""Takes the path and the value; raises ModelFault `bad-result`."""


def bad(problem: str) -> ModelFault:
    """Return the error for a document with this problem."""
    return ModelFault("bad-result", f"The result document is refused: {problem}.")


def field_of(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `latency.mean_ms`. Raises ModelFault `bad-result` if it is missing."""
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            raise bad(f"{path} is missing")
        found = found[name]
    return found


def number(least: float) -> Field:
    """Return a check for a finite number that is not below `least`."""

    def check(path: str, value: object) -> None:
        if not is_number(value) or value < least:
            raise bad(
                f"{path} = {shown(value)} is not a number from {least:g} to {LARGEST_NUMBER:g}"
            )

    return check


def whole(least: int, most: int) -> Field:
    """Return a check for an integer in that range."""

    def check(path: str, value: object) -> None:
        if type(value) is not int or not least <= value <= most:
            raise bad(
                f"{path} = {shown(value)} is not a whole number from {least} to {most}"
            )

    return check


def one_of(*words: str) -> Field:
    """Return a check that the value is one of the given words."""

    def check(path: str, value: object) -> None:
        if value not in words:
            raise bad(f"{path} = {shown(value)} is not one of {', '.join(words)}")

    return check


def optional(field: Field) -> Field:
    """Return a check that accepts null or what `field` accepts."""

    def check(path: str, value: object) -> None:
        if value is not None:
            field(path, value)

    return check


def list_of(field: Field) -> Field:
    """Return a check for a list whose items `field` accepts."""

    def check(path: str, value: object) -> None:
        if not isinstance(value, list):
            raise bad(f"{path} = {shown(value)} is not a list")
        for place, one in enumerate(value):
            field(f"{path}[{place}]", one)

    return check


def text(path: str, value: object) -> None:
    """Check that it is a printable line of at most a thousand characters, not empty."""
    if (
        not isinstance(value, str)
        or not value
        or len(value) > LONGEST_TEXT
        or not value.isprintable()
    ):
        raise bad(f"{path} = {shown(value)} is not a line of text")


def boolean(path: str, value: object) -> None:
    """Check that it is true or false."""
    if not isinstance(value, bool):
        raise bad(f"{path} = {shown(value)} is neither true nor false")


def shown(value: object) -> str:
    """Return a value in a form for a sentence: one line, shortened."""
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return "a huge number"
    words = repr(value)
    return words if len(words) <= SHOWN_CHARACTERS else words[:SHOWN_CHARACTERS] + "…"


def is_number(value: object, largest: float = LARGEST_NUMBER) -> TypeGuard[float]:
    """Return True if the value is a finite number not beyond `largest`."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= largest
    )  # not NaN
