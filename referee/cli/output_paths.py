"""Where commands may write: never into a test set, and never over a contest's own files.

The files of a test set are checked by their hashes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from lpirc_testsets.folder import IMAGES, MANIFEST
from referee.config import CONFIG_NAME
from referee.presence import is_file, is_folder

OWN_SUFFIXES = (".toml", ".db", ".db-wal", ".db-shm", ".db-count")
OWN_NAMES = ("secret", "operator-key", "signing-key")


class OutputPath(click.Path):
    """A file or folder that a command writes; it is refused if that would damage a test set or a contest."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path. Fails for a path in a test set, and for a file of a contest.

        Raises RefereeError `not-accessible`.
        """
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if problem := _problem(path):
            self.fail(f"{path} {problem}; name another place.", param, ctx)
        return path


def _problem(path: Path) -> str:
    place = path.absolute()
    for folder in (place, *place.parents):
        if is_file(folder / MANIFEST) and is_folder(folder / IMAGES):
            return f"is in the test set {folder}, where nothing may be added"
    is_own = place.suffix in OWN_SUFFIXES or place.name in OWN_NAMES
    if is_own and is_file(place.parent / CONFIG_NAME):
        return f"is a file of the contest {place.parent}"
    return ""


output_path = OutputPath()
