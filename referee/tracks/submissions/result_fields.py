"""The fields of a result document: of which type, and in which range. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from referee.errors import RefereeError

LONGEST_TEXT = 1000
LARGEST_NUMBER = 1e12
SHOWN_CHARACTERS = 60

Field = Callable[[str, object], None]
"""Takes the path and the value; raises RefereeError `bad-result`."""


def bad(problem: str) -> RefereeError:
    """The error of a document with this problem."""
    return RefereeError("bad-result", f"The result document cannot be taken: {problem}.")


def field_of(values: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as `latency.mean_ms`. Raises RefereeError `bad-result` where there is none."""
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            raise bad(f"{path} is missing")
        found = found[name]
    return found


def number(least: float) -> Field:
    """A finite number, not below `least`."""

    def check(path: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not _fits(value, least):
            raise bad(f"{path} = {shown(value)} is not a number from {least:g} to {LARGEST_NUMBER:g}")

    return check


def whole(least: int, most: int) -> Field:
    """A whole number in that range."""

    def check(path: str, value: object) -> None:
        if type(value) is not int or not least <= value <= most:
            raise bad(f"{path} = {shown(value)} is not a whole number from {least} to {most}")

    return check


def one_of(*words: str) -> Field:
    """One of those words."""

    def check(path: str, value: object) -> None:
        if value not in words:
            raise bad(f"{path} = {shown(value)} is not one of {', '.join(words)}")

    return check


def optional(field: Field) -> Field:
    """Null, or what `field` takes."""

    def check(path: str, value: object) -> None:
        if value is not None:
            field(path, value)

    return check


def list_of(field: Field) -> Field:
    """A list of what `field` takes."""

    def check(path: str, value: object) -> None:
        if not isinstance(value, list):
            raise bad(f"{path} = {shown(value)} is not a list")
        for place, one in enumerate(value):
            field(f"{path}[{place}]", one)

    return check


def text(path: str, value: object) -> None:
    """Check that it is a printable line of at most a thousand characters, not empty."""
    if not isinstance(value, str) or not value or len(value) > LONGEST_TEXT or not value.isprintable():
        raise bad(f"{path} = {shown(value)} is not a line of text")


def boolean(path: str, value: object) -> None:
    """Check that it is true or false."""
    if not isinstance(value, bool):
        raise bad(f"{path} = {shown(value)} is neither true nor false")


def shown(value: object) -> str:
    """A value for a sentence: one line, not too long."""
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return "a huge number"
    words = repr(value)
    return words if len(words) <= SHOWN_CHARACTERS else words[:SHOWN_CHARACTERS] + "…"


def _fits(value: float, least: float) -> bool:
    return least <= value <= LARGEST_NUMBER and (isinstance(value, int) or math.isfinite(value))
