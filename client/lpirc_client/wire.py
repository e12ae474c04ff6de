"""Parses the documents of HTTP version 1: a login and a receipt."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Mapping

DETECTIONS = "detections"
"""What the answers of a contest of boxes are called."""


@dataclass(frozen=True)
class Category:
    """A category of the contest: the id that detections carry, and its name."""

    id: int
    name: str


@dataclass(frozen=True)
class Login:
    """An open run with images 1..`images`; `remaining_s` are left of its window of `window_s`.

    `rules` and their SHA-256 are fixed for the run (docs/receipts.md of the project), or None if none are. `task` says
    what is answered instead of boxes, or None.
    """

    token: str
    run: str
    images: int
    window_s: float
    remaining_s: float
    categories: tuple[Category, ...]
    rules: Mapping[str, Any] | None = None
    rules_sha256: str | None = None
    task: Mapping[str, Any] | None = None

    @property
    def answers(self) -> str:
        """Return what the run's answers are called: detections, or the word of its task."""
        if self.task is None:
            return DETECTIONS
        return str(self.task.get("answers", "answers"))

    @property
    def task_name(self) -> str | None:
        """Return the name of the task; None for boxes."""
        return None if self.task is None else str(self.task["name"])


@dataclass(frozen=True)
class Receipt:
    """The answer to a POST: `accepted` rows of it, `received_total` rows in the run, and the body's SHA-256.

    `warnings` name likely mistakes in rows that count all the same. `chain` is the receipt's link in the run's hash
    chain (docs/receipts.md of the project), as the referee gave it; None if the referee has no chain. `log` is the
    newest public link of the contest's log, with the number of its events; None if the referee gave none.
    """

    accepted: int
    received_total: int
    sha256: str
    warnings: tuple[str, ...] = ()
    chain: Mapping[str, Any] | None = None
    log: Mapping[str, Any] | None = None


def login_from(document: Mapping[str, Any]) -> Login:
    """Read the answer to a login. Raises KeyError, TypeError or ValueError for anything else."""
    rules = document.get("rules")
    rules_sha256 = document.get("rules_sha256")
    return Login(
        token=str(document["token"]),
        run=str(document["run"]),
        images=int(document["images"]),
        window_s=_seconds(document["window_s"]),
        remaining_s=_seconds(document["remaining_s"]),
        categories=tuple(
            Category(int(c["id"]), str(c["name"])) for c in document["categories"]
        ),
        rules=rules if isinstance(rules, dict) else None,
        rules_sha256=rules_sha256 if isinstance(rules_sha256, str) else None,
        task=task_from(document),
    )


def task_from(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the task of a login or of the referee's description of itself; None for boxes."""
    task = document.get("task")
    return task if isinstance(task, dict) and "name" in task else None


def receipt_from(document: Mapping[str, Any]) -> Receipt:
    """Read the answer to a POST. Raises KeyError, TypeError or ValueError for anything else."""
    warnings = tuple(map(str, document.get("warnings", ())))
    chain = document.get("receipt")
    log = document.get("log")
    return Receipt(
        int(document["accepted"]),
        int(document["received_total"]),
        str(document["sha256"]),
        warnings,
        chain if isinstance(chain, dict) else None,
        log if isinstance(log, dict) else None,
    )


def elapsed_from(document: Mapping[str, Any]) -> float | None:
    """Read the run's length from the answer to a logout; None if the answer lacks it, as the run is closed anyway."""
    try:
        return _seconds(document.get("elapsed_s"))
    except ValueError:
        return None


def _seconds(value: object) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not abs(value) <= sys.float_info.max
    ):
        raise ValueError(f"a number of seconds: {value!r:.40}")
    return float(value)
