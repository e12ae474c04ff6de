"""The board's document as pages show it now: from the published row alone, without figures that are outdated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from referee.judging.freeze import NOT_KNOWN, public_view
from referee.store.records import Published
from referee.web.published_board import PublishedBoard

OLD_S = 10.0
"""Age at which live figures are outdated: while a run is open the board is published each second.

Older figures are from a process that has ended.
"""

BAR_WIDTH = 200  # of the picture of an interval, in its own units


def is_old(board: PublishedBoard, row: Published) -> bool:
    """Return True if the published figures of open runs are outdated."""
    if not row.utc:
        return False
    age = board.clock.utc() - datetime.fromisoformat(row.utc)
    return age.total_seconds() > OLD_S


def document_of(row: Published, *, is_old: bool) -> dict[str, Any]:
    """Return the board's document; of an open run it has no figures if they are outdated."""
    board = public_view(row)
    if is_old:
        board["now"] = [run | NOT_KNOWN for run in board["now"]]
    return board


def page_of(row: Published, *, is_old: bool) -> dict[str, Any]:
    """Return the board's document with what pages draw: each open run's `remaining_s`, each place's `bar`."""
    board = document_of(row, is_old=is_old)
    for run in board["now"]:
        run["remaining_s"] = remaining_s(run, board["utc"])
    highest = (place["score_high"] or place["score"] for place in board["ranking"])
    most = max(highest, default=0.0) or 1.0
    for place in board["ranking"]:
        place["bar"] = _bar_of(place, most)
    return board


def remaining_s(run: dict[str, Any], utc: str) -> float | None:
    """Return the seconds that were left of a run's window at `utc`; None before the window has opened."""
    if run["ends_utc"] is None:
        return None
    left = datetime.fromisoformat(run["ends_utc"]) - datetime.fromisoformat(utc)
    return max(0.0, left.total_seconds())


def _bar_of(place: dict[str, Any], most: float) -> tuple[float, ...] | None:
    """Return the positions of the low, score and high values on a bar; `most` is at its end."""
    if place["score_low"] is None:
        return None
    figures = (place["score_low"], place["score"], place["score_high"])
    return tuple(round(BAR_WIDTH * one / most, 1) for one in figures)
