"""Where the journal of a contest lies, and whether other hosts may reach it."""

from __future__ import annotations

from pathlib import Path

from referee.config import ContestConfig

JOURNAL_NAME = "journal"


def journal_folder(folder: Path, config: ContestConfig) -> Path:
    """The folder of the contest's journal: `[journal] path`, or the one in the contest folder."""
    return folder / (config.journal.path or JOURNAL_NAME)


def behind_text(journal: Path, since_utc: str) -> str:
    """Return the beginning of a sentence that says since when a journal lacks something."""
    return f"The journal at {journal} lacks what was taken since {since_utc[:19]} UTC"


def is_shared(config: ContestConfig) -> bool:
    """Whether the journal lies elsewhere, where another host may reach it: then epochs say who writes."""
    return bool(config.journal.path)
