"""The items of a verification, with their outcomes: ok, failed or not checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "failed", "not checked"]


@dataclass(frozen=True)
class Item:
    """A verified item: its name, the outcome, and a sentence; `part` is the part that failed."""

    name: str
    outcome: Outcome
    sentence: str
    part: str | None = None


class Failure(Exception):
    """An item failed; `part` is the part of the bundle with the problem."""

    def __init__(self, part: str, sentence: str) -> None:
        super().__init__(sentence)
        self.part = part


class NotChecked(Exception):
    """An item cannot be checked; the message says why."""


def require_same(part: str, what: str, stated: object, found: object) -> None:
    """Raise Failure unless both values have the same JSON text; floats are therefore compared bit by bit."""
    if (
        isinstance(stated, dict)
        and isinstance(found, dict)
        and stated.keys() == found.keys()
    ):
        for name, value in stated.items():  # only the first difference is reported
            require_same(part, f"{what}: {name}", value, found[name])
    if json.dumps(stated) != json.dumps(found):
        stated = f"{json.dumps(stated):.200}"
        found = f"{json.dumps(found):.200}"
        raise Failure(part, f"{what} is stated as {stated}, but it is {found}.")
