"""What teams were told of their entries against the contest folder and the board: pure functions on lines and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

Line = Mapping[str, Any]
RECEIPT = ("team", "track", "file", "size", "sha256", "received_utc")
MUST_BE_NONE = (
    "entries acknowledged and lost or altered",
    "entries dated otherwise than by their last byte",
    "entries refused for a deadline that had not passed",
    "entries taken after the deadline",
    "entries stored twice",
    "entries judged twice",
    "entries in time without score or sentence",
    "scored entries whose team the board lacks",
    "teams without a final answer",
)


def entries_kept(
    journal: Sequence[Line],
    stored: Sequence[Line],
    board: Iterable[str],
    deadline_s: float,
) -> dict[str, int]:
    """Compare journals with stored entries: their receipts, id, state, whether `file_is_there`, how often `judged`.

    `board` has the teams of the public board; `deadline_s` is in seconds of the wall clock.
    """
    received = [line for line in journal if line["what"] == "received"]
    refused = [line for line in journal if line["what"] == "refused"]
    sent = {line["team"] for line in journal if line["what"] == "sent"}
    there = {row["id"]: row for row in stored}
    on_board = set(board)
    answered = {line["team"] for line in [*received, *refused]}
    early = [
        line
        for line in refused
        if line["code"] == "track-closed" and line["told_s"] < deadline_s
    ]
    late = [row for row in stored if _seconds(row["received_utc"]) >= deadline_s]
    twice = Counter((row["team"], row["sha256"]) for row in stored)
    scored = [row for row in stored if row["state"] == "scored"]
    found = (
        sum(
            not _is_kept(line["entry"], there.get(line["entry"]["id"]))
            for line in received
        ),
        sum(not _is_dated(line) for line in received),
        len(early),
        len(late),
        sum(count - 1 for count in twice.values()),
        sum(row["judged"] > 1 for row in stored),
        sum(
            row["state"] not in ("scored", "failed", "refused", "review")
            for row in stored
        ),
        sum(row["team"] not in on_board for row in scored),
        len(sent - answered),
    )
    counted = {"teams that handed in": len(sent), "entries acknowledged": len(received)}
    counted["entries refused after the deadline"] = len(refused) - len(early)
    return counted | dict(zip(MUST_BE_NONE, found, strict=True))


def longest_waits_s(
    journal: Sequence[Line],
    away_s: tuple[float, float],
) -> tuple[float, float]:
    """The longest time to a final answer, of teams that never met the dead host, and of the others.

    `away_s`: from when the host was off until its standby answered.
    """
    waits = [[0.0], [0.0]]
    for line in journal:
        if line["what"] in ("received", "refused"):
            met = line["first_s"] < away_s[1] and line["told_s"] > away_s[0]
            waits[met].append(line["told_s"] - line["first_s"])
    return max(waits[0]), max(waits[1])


def _is_kept(told: Line, row: Line | None) -> bool:
    receipt = told["receipt"]
    return (
        row is not None
        and row["file_is_there"]
        and all(row[name] == receipt[name] for name in RECEIPT)
    )


def _is_dated(line: Line) -> bool:
    """Whether the date lies within one of the requests that sent the last byte."""
    date_s = _seconds(line["entry"]["receipt"]["received_utc"])
    return any(asked_s <= date_s <= told_s for asked_s, told_s in line["attempts"])


def _seconds(utc: str) -> float:
    return datetime.fromisoformat(utc).timestamp()
