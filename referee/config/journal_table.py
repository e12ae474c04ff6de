"""The table [journal] of contest.toml: where the second copy of all acknowledged writes is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_DEADLINE_S = 30.0

Problem = tuple[str, int, str, str]


@dataclass(frozen=True)
class Journal:
    """The journal, a second copy of all acknowledged writes, in the folder `path`; blank: inside the contest folder.

    `path` is relative to the contest folder. A journal on another disk or a mounted host has `deadline_s` seconds to
    answer. After that, nothing is accepted if the journal is `required`; otherwise the contest goes on without it and
    records that.
    """

    path: str = ""
    required: bool = True
    deadline_s: float = 2.0


DEFAULT = Journal()
"""The journal's default folder, inside the contest folder."""


def journal_problems(journal: Journal) -> Iterator[Problem]:
    """Yield the problems of [journal]: table, index, key, sentence."""
    if journal.deadline_s > LONGEST_DEADLINE_S:
        words = f"deadline_s = {journal.deadline_s:g} must be at most {LONGEST_DEADLINE_S:g} seconds."
        yield "journal", 0, "deadline_s", f"journal: {words}"
