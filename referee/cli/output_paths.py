"""Where commands may write: never into a test set, never into a contest's own files, no format under another's name.

The files of a test set are checked by their hashes.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Any

import click

from lpirc_score.cli.score_options import AnyPath
from lpirc_testsets.folder import is_test_set, no_place
from referee.config import CONFIG_NAME
from referee.config.tracks import MODELS
from referee.journal.place import JOURNAL_NAME
from referee.presence import is_file, is_folder, is_there

OWN_SUFFIXES = (".toml", ".db", ".db-wal", ".db-shm", ".db-count")
OWN_NAMES = ("secret", "operator-key", "signing-key")
OWN_FOLDERS = (JOURNAL_NAME, MODELS)
ZIP = ".zip"
HTML = ".html"
OTHER_FORMATS = (
    *(".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar"),
    *(HTML, ".pdf", ".csv", ".json", ".txt", ".parquet"),
)
"""Endings of names by which programs take a zip for something else."""
FILE_FORMATS = (ZIP, *OTHER_FORMATS)
"""Endings of names of files, by which people ask for a file where a command makes a folder."""
ELSEWHERE = "name another place"


class Place(AnyPath):
    """A path that a command writes to; it is refused inside a test set."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path. Fails for a path in a test set. Raises RefereeError `not-accessible`."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if problem := self.problem_of(path):
            self.fail(f"{path} {problem}.", param, ctx)
        return path

    def problem_of(self, path: Path) -> str:
        """Return why nothing may be written there, as the end of a sentence that begins with the path, or ""."""
        problem = no_place(path)
        return f"{problem}; {ELSEWHERE}" if problem else ""


class FolderToMake(Place):
    """A folder that a command makes or continues; a file is refused."""

    def problem_of(self, path: Path) -> str:
        """Return why it is no such folder, as the end of a sentence that begins with the path, or ""."""
        if is_there(path) and not is_folder(path):
            return f"is a file, and a folder is needed; {ELSEWHERE}"
        return _called_like_file(path) or super().problem_of(path)


class ContestToMake(FolderToMake):
    """The folder of a contest that a command makes of the test set that its --testset names."""

    def problem_of(self, path: Path) -> str:
        """Return why it is no such folder, as the end of a sentence that begins with the path, or ""."""
        if is_folder(path) and is_test_set(path):
            return f"is a test set; write --testset {quote(str(path))}, and for the contest another folder"
        return super().problem_of(path)


class OutputPath(Place):
    """A file or folder that a command writes; it is refused if that would damage a test set or a contest."""

    def problem_of(self, path: Path) -> str:
        """Return why nothing may be written there, as the end of a sentence that begins with the path, or ""."""
        return super().problem_of(path) or _problem_in_contest(path.absolute())


class ResultsFolder(OutputPath):
    """A folder into which a command writes several files; a path that is a file or is called like one is refused."""

    def problem_of(self, path: Path) -> str:
        """Return why it is no such folder, as the end of a sentence that begins with the path, or ""."""
        if is_file(path):
            return f"is a file, and a folder is needed; {ELSEWHERE}"
        return _called_like_file(path) or super().problem_of(path)


class PageFile(OutputPath):
    """A page in HTML that a command writes; a path with another format's ending is refused."""

    def problem_of(self, path: Path) -> str:
        """Return why no page may be written there, as the end of a sentence that begins with the path, or ""."""
        if path.suffix.lower() in FILE_FORMATS and path.suffix.lower() != HTML:
            return f"ends in {path.suffix}, but HTML is written; end it in {HTML}"
        return super().problem_of(path)


class ZipFile(OutputPath):
    """A zip that a command writes: a path that is no folder, and has no other format's ending."""

    def problem_of(self, path: Path) -> str:
        """Return why no zip may be written there, as the end of a sentence that begins with the path, or ""."""
        if is_folder(path):
            return f"is a folder, and a file is needed, such as {path}.zip"
        if path.suffix.lower() in OTHER_FORMATS:
            return f"ends in {path.suffix}, but a zip is written; end it in {ZIP}"
        return super().problem_of(path)


def _called_like_file(path: Path) -> str:
    if path.suffix.lower() in FILE_FORMATS and not is_folder(path):
        better = path.with_suffix("")
        return f"is called like a file, and a folder is made; write {better}"
    return ""


def _problem_in_contest(place: Path) -> str:
    if is_file(place / CONFIG_NAME):
        return f"is the folder of a contest; {ELSEWHERE}"
    for own, contest in zip((place, *place.parents), place.parents, strict=False):
        if own.name in OWN_FOLDERS and is_file(contest / CONFIG_NAME):
            return f"is in the {own.name} of the contest {contest}; {ELSEWHERE}"
    is_own = place.suffix in OWN_SUFFIXES or place.name in OWN_NAMES
    if is_own and is_file(place.parent / CONFIG_NAME):
        return f"is a file of the contest {place.parent}; {ELSEWHERE}"
    return ""


folder_to_make = FolderToMake()
contest_to_make = ContestToMake()
output_path = OutputPath()
zip_file = ZipFile()
results_folder = ResultsFolder()
page_file = PageFile()
