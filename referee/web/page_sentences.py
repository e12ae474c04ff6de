"""Sentences of failures as pages show them: without what only the command line has. Pure."""

from __future__ import annotations

import re
from typing import Any

COMMAND = re.compile(r": referee [a-z]+.*?(?=[.;](?:\s|$)|$)")
WITHOUT_COMMAND = re.compile(
    r"[;,] (?:or )?(?:see|run|use|write|for [^;.,'\u201c\u201d]*)(?=[.;]|$)"
)

REFUSALS = {
    "team-exists": "“New password” beside it gives one.",
    "attempts-used": "To allow it here, tick “Even if a team has used its attempts”.",
}
"""What to do about a refusal on the pages, by its code."""


def refusal_in_page_words(failure: Any) -> str:
    """Return the sentence of a refusal with a way out that the pages have."""
    said = without_commands(failure.sentence)
    advice = REFUSALS.get(failure.code)
    return said if advice is None else f"{said} {advice}"


def without_commands(sentence: str) -> str:
    """Return a sentence for a page: without the commands of a shell that it offers."""
    said = WITHOUT_COMMAND.sub("", COMMAND.sub("", sentence))
    return said if said == sentence or said.endswith((".", "?", "!")) else f"{said}."
