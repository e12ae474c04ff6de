"""Sentences of failures as pages show them: without what only the command line has. Pure."""

from __future__ import annotations

import re

COMMAND = re.compile(r": referee [a-z]+.*?(?=[.;](?:\s|$)|$)")
WITHOUT_COMMAND = re.compile(
    r"[;,] (?:or )?(?:see|run|use|write|for [^;.,'\u201c\u201d]*)(?=[.;]|$)"
)


def without_commands(sentence: str) -> str:
    """Return a sentence for a page: without the commands of a shell that it offers."""
    said = WITHOUT_COMMAND.sub("", COMMAND.sub("", sentence))
    return said if said == sentence or said.endswith((".", "?", "!")) else f"{said}."
