"""Marks of runs in tables, and the caption that explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RARE_MARKS = {
    "r": "reviewed: it stands",
    "x": "extra time",
    "i": "images seen before",
    "b": "below least_map",
    "l": "outside a limit of the rule",
    "p": "not published yet: for operators only",
    "?": "its figures could not be verified",
    "n": "not covered by a log",
}
"""Marks that the caption explains only if a run in the table has them."""


def marks_caption(marks: Mapping[str, str], rows: Sequence[Sequence[str]]) -> str:
    """Return the caption that explains the marks in the last column of the rows."""
    shown = set()
    for row in rows:
        for word in row[-1].split():
            if set(word) <= set(marks):
                shown |= set(word)
    explained = [mark for mark in marks if mark not in RARE_MARKS or mark in shown]
    return "   ".join(f"{mark} {marks[mark]}" for mark in explained)
