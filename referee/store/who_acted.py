"""Who made a change, and when: from the operators' acts on record, for the person who came second."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

QUEUE_ACTS = (
    *("arm", "heat", "draw", "undo-draw"),
    *("queue-add", "queue-absent", "queue-remove"),
)
_OF_RUN = (
    "SELECT utc, json_extract(detail, '$.operator') AS operator FROM events WHERE run = ? AND kind = 'operator'"
    " AND json_extract(detail, '$.action') = ? ORDER BY id DESC LIMIT 1"
)
_OF_HEAT = (
    "SELECT utc, json_extract(detail, '$.operator') AS operator FROM events WHERE kind = 'operator'"
    " AND json_extract(detail, '$.action') = 'start' AND json_extract(detail, '$.heat') = ? ORDER BY id DESC LIMIT 1"
)
_MARKS = ", ".join("?" * len(QUEUE_ACTS))
_OF_QUEUE = (
    "SELECT utc, json_extract(detail, '$.operator') AS operator, json_extract(detail, '$.action') AS action"  # noqa: S608 - only marks
    f" FROM events WHERE kind = 'operator' AND json_extract(detail, '$.action') IN ({_MARKS}) ORDER BY id DESC LIMIT 1"
)

Rows = Callable[..., Sequence[sqlite3.Row]]


def who_acted(rows: Rows, run: int, action: str) -> str:
    """Return who did something to a run last, and when, as text; "someone" if no act is on record."""
    return _said(rows(_OF_RUN, run, action))


def who_started(rows: Rows, heat: str) -> str:
    """Return who gave a heat's start signal, and when."""
    return _said(rows(_OF_HEAT, heat))


def who_changed_queue(rows: Rows) -> str:
    """Return who changed the queue last, how, and when."""
    found = rows(_OF_QUEUE, *QUEUE_ACTS)
    return f"{_said(found)} ({found[0]['action']})" if found else _said(found)


def said_at(operator: str, utc: str) -> str:
    """Return a name with a time of the day."""
    return f"{operator} at {utc[11:19]} UTC"


def _said(rows: Sequence[Any]) -> str:
    if not rows:
        return "someone"
    return said_at(rows[0]["operator"] or "someone", rows[0]["utc"])
