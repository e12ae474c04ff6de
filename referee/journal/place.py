"""Location of a contest's journal, and whether other hosts can reach it."""

from __future__ import annotations

from pathlib import Path

from referee.config import ContestConfig

JOURNAL_NAME = "journal"


def journal_folder(folder: Path, config: ContestConfig) -> Path:
    """Return the folder of the contest's journal: `[journal] path`, or the default in the contest folder."""
    return folder / (config.journal.path or JOURNAL_NAME)


def behind_text(journal: Path, since_utc: str) -> str:
    """Return a clause that says that a journal is behind, and since when; the caller completes the sentence."""
    return (
        f"The journal at {journal} lacks the data accepted since {since_utc[:19]} UTC"
    )


def is_shared(config: ContestConfig) -> bool:
    """Return True if the journal lies outside the contest folder; epochs then decide which host may write."""
    return bool(config.journal.path)
