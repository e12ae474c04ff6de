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
JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner, which Persian, Indic scripts and emoji of several parts need."""
JOINED = ("L", "S")
"""First letters of the Unicode categories between which a joiner may stand: letters, emoji; marks only before it."""
VIRAMA = 9
"""Combining class of the marks after which a joiner is right anywhere, as in IDNA (RFC 5892)."""


def question_text(given: str, what: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text with its lines ended by a newline, without blank space around it.

    Raises RefereeError `bad-request` if it is blank, has more than `longest` characters, or characters that cannot be
    shown; `what` it is, is named in the sentence.
    """
    text = given.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").strip()
    lines = text.split("\n")
    is_printable = all(_is_printable(line) for line in lines)
    is_blank = not text.strip(BLANK_LETTERS + " \n")
    if is_blank or len(text) > longest or not is_printable or _is_piled(text):
        raise RefereeError(
            "bad-request",
            f"The {what} must have 1 to {longest} printable characters and newlines, and at most {MOST_MARKS} "
            f"marks on a letter; it has {len(text)} characters. A zero-width joiner may stand only within a word or an "
            "emoji.",
        )
    return text


def teams_named(text: str, teams: Iterable[str]) -> list[str]:
    """Return the teams whose names occur in a text as words, in any case, width, and with joiners between letters."""
    folded = _folded(text)
    return [
        team
        for team in teams
        if re.search(rf"(?<!\w){re.escape(_folded(team))}(?!\w)", folded)
    ]


def _folded(text: str) -> str:
    shown = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", shown).casefold().split())


def _is_printable(line: str) -> bool:
    """Return True if each character is printable, or a joiner that stands within a word or an emoji."""
    for before, letter, after in zip(f" {line}", line, f"{line[1:]} ", strict=False):
        is_joiner = letter in JOINERS
        if is_joiner and not _joins(before, after):
            return False
        if not is_joiner and not letter.isprintable():
            return False
    return True


def _joins(before: str, after: str) -> bool:
    """Return True if a joiner may stand between these characters. A mark after it would escape `_is_piled`."""
    if unicodedata.combining(before) == VIRAMA:
        return unicodedata.category(after) not in MARKS and after not in JOINERS
    is_shown = before not in BLANK_LETTERS and after not in BLANK_LETTERS
    kinds = unicodedata.category(before)[0], unicodedata.category(after)[0]
    return is_shown and kinds[0] in (*JOINED, "M") and kinds[1] in JOINED


def _is_piled(text: str) -> bool:
    """Return True if a letter bears more than MOST_MARKS marks."""
    marks = 0
    for letter in text:
        is_mark = unicodedata.category(letter) in MARKS
        marks = marks + 1 if is_mark else 0
        if marks > MOST_MARKS:
            return True
    return False
