"""What is said of a folder that is no contest: what it is instead, and which contests stand beside it or in it."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path

from lpirc_testsets.close_names import closest
from referee.errors import ContestMissing, RefereeError
from referee.presence import entries, is_file, is_folder, is_there

MOST_NAMED = 3
MOST_LOOKED_AT = 200
"""Entries of a folder among which contests are looked for."""


def missing_contest(folder: Path, file: str) -> ContestMissing:
    """Return the error for a folder without the `file` that makes it a contest."""
    if not is_there(folder):
        return ContestMissing(folder, _nothing_at(folder, file))
    if (test_set := _test_set_of(folder)) is not None:
        given = shlex.quote(str(test_set))
        is_itself = test_set == folder
        what = "is a test set" if is_itself else f"is in the test set {test_set}"
        said = f"{folder} {what}, and no contest."
        make = f"referee init NEW_FOLDER --testset {given}"
        return ContestMissing(folder, said, f"For a contest with it: {make}")
    said = f"{folder} is not a contest folder: it has no {file}."
    if inside := contests_in(folder, file):
        return ContestMissing(folder, f"{said} {_named(inside, 'in it')}")
    quoted = shlex.quote(str(folder))
    make = f"referee init {quoted}, or in the browser: referee setup {quoted}"
    return ContestMissing(folder, said, f"Make one with: {make}")


def contests_in(folder: Path, file: str) -> list[str]:
    """Return the names of the contest folders in a folder; none if it cannot be read."""
    with suppress(RefereeError, OSError):
        looked_at = entries(folder)[:MOST_LOOKED_AT]
        return [one.name for one in looked_at if is_file(one / file)]
    return []


def near_contest(folder: Path, file: str) -> str:
    """Return " Did you mean 'DAY'?" for the contest beside a missing folder whose name is like its; else ""."""
    meant = closest(folder.name, contests_in(folder.parent, file))
    return "" if meant is None else f" Did you mean {str(folder.parent / meant)!r}?"


def _nothing_at(folder: Path, file: str) -> str:
    if re.search(r"[*?\[]", str(folder)):
        return f"Nothing matches {folder}; name contest folders that exist."
    said = f"There is no folder {folder}."
    if near := near_contest(folder, file):
        return said + near
    if beside := contests_in(folder.parent, file):
        return f"{said} {_named(beside, 'beside it')}"
    return f"There is no folder {folder}; check the path."


def _named(names: list[str], where: str) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    one = "contest" if len(names) == 1 else "contests"
    verb = "is" if len(names) == 1 else "are"
    return f"The {one} {where} {verb} {', '.join(names[:MOST_NAMED])}{more}."


def _test_set_of(folder: Path) -> Path | None:
    # Imported late: it needs numpy, and a contest is rarely missing.
    from lpirc_testsets.folder import IMAGES, MANIFEST

    for one in (folder, *folder.absolute().parents):
        with suppress(RefereeError):
            if is_file(one / MANIFEST) and is_folder(one / IMAGES):
                return one
    return None
