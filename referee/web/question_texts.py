"""What a text that a person types may contain: a question, an answer, a note, a reason, an announcement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from referee.errors import RefereeError

LONGEST_TEXT = 2000
MOST_MARKS = 4
"""Marks on one letter; more would be drawn over other lines of the page."""
MARKS = ("Mn", "Me")
BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that are printable and show nothing."""


def question_text(given: str, what: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text with its lines ended by a newline, without blank space around it.

    Raises RefereeError `bad-request` if it is blank, has more than `longest` characters, or characters that cannot be
    shown; `what` it is, is named in the sentence.
    """
    text = given.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").strip()
    lines = text.split("\n")
    is_printable = all(line.isprintable() for line in lines)
    is_blank = not text.strip(BLANK_LETTERS + " \n")
    if is_blank or len(text) > longest or not is_printable or _is_piled(text):
        raise RefereeError(
            "bad-request",
            f"The {what} must have 1 to {longest} printable characters and newlines, and at most {MOST_MARKS} "
            f"marks on a letter; it has {len(text)} characters.",
        )
    return text


def teams_named(text: str, teams: Iterable[str]) -> list[str]:
    """Return the teams whose names occur in a text as words, in any case."""
    folded = text.casefold()
    return [
        team
        for team in teams
        if re.search(rf"(?<!\w){re.escape(team.casefold())}(?!\w)", folded)
    ]


def _is_piled(text: str) -> bool:
    """Return True if a letter bears more than MOST_MARKS marks."""
    marks = 0
    for letter in text:
        is_mark = unicodedata.category(letter) in MARKS
        marks = marks + 1 if is_mark else 0
        if marks > MOST_MARKS:
            return True
    return False
