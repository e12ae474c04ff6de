"""What the text of a question or an answer may contain."""

from __future__ import annotations

from referee.errors import RefereeError

LONGEST_TEXT = 2000


def question_text(given: str, what: str) -> str:
    """Return a text with its lines ended by a newline, without blank space around it.

    Raises RefereeError `bad-request` if it is blank, has more than LONGEST_TEXT characters, or characters that cannot
    be shown; `what` it is, is named in the sentence.
    """
    text = given.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").strip()
    lines = text.split("\n")
    is_printable = all(line.isprintable() for line in lines)
    if not text or len(text) > LONGEST_TEXT or not is_printable:
        raise RefereeError(
            "bad-request",
            f"The {what} must have 1 to {LONGEST_TEXT} printable characters and newlines; it has {len(text)}.",
        )
    return text
