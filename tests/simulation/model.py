"""What the teams were told: the model that the referee's records are held against."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sent:
    """One body under one key (None: none), sent once or again."""

    team: str
    key: str | None
    body: bytes
    rows: list[list[float]]
    first_s: float
    tries: int = 0
    receipts: list[dict[str, Any]] = field(default_factory=list)
    is_told_stored: bool = False
    refused: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


@dataclass
class Attempt:
    """A run as its team knows it; moments in the time of the world."""

    run: int
    team: str
    token: str
    opened_by_s: float  # the first answer that told of it
    window_s: float
    order: list[
        int
    ]  # a good detector: it finds what is on an image that the team knows by another number
    sent: list[Sent] = field(default_factory=list)
    asked_for: set[int] = field(default_factory=set)
    served: set[int] = field(default_factory=set)
    closed_at_s: float | None = None  # the first that is known to be over
    logout: dict[str, Any] | None = None


@dataclass
class Model:
    attempts: dict[int, Attempt] = field(default_factory=dict)
    voided: set[int] = field(default_factory=set)  # as answered to the operator
    troubles_s: list[float] = field(
        default_factory=list
    )  # when something was wrong with host, disk or server
    to_be_reviewed: set[int] = field(
        default_factory=set
    )  # a check of these runs must fail
    serial: int = 0

    def all_sent(self) -> Iterator[tuple[Attempt, Sent]]:
        for attempt in self.attempts.values():
            for sent in attempt.sent:
                yield attempt, sent
