"""Formats of published data sets that a test set can be imported from: the entry points of `lpirc.formats`.

A format is an importer with the files that it needs. `referee testset import NAME` turns these into options and passes
their paths to the importer as keywords, with three more that every importer takes:

    images: Path        the folder of images
    out: Path           the new test-set folder
    reports: Reports    receives problems and progress

`reports.notes` takes sentences about what is no problem, such as files that were left out.

The importer returns the new TestSet and raises TestSetError, usually through `importing.build_annotated`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lpirc_testsets.folder import TestSet
from lpirc_testsets.plugins import Seam

FORMATS = Seam("lpirc.formats", "format", "lpirc-testsets")


class OptionsConflict(Exception):
    """Paths were given that exclude each other, or one is missing; the sentence says which."""


@dataclass(frozen=True)
class FileOption:
    """A file or folder that an importer takes: the option `--name`, with a line of help.

    `parameter` is the importer's keyword, by default `name`.
    """

    name: str
    help: str
    required: bool = True
    parameter: str = ""

    @property
    def keyword(self) -> str:
        """The importer's keyword for this path."""
        return self.parameter or self.name.replace("-", "_")


@dataclass(frozen=True)
class NumbersOption(FileOption):
    """Whole numbers that an importer takes as a tuple: the option `--name 0,255`; empty if it is not given."""


@dataclass(frozen=True)
class Format:
    """A format: its importer, the help of its command, and the files and numbers that the importer takes."""

    importer: Callable[..., TestSet]
    help: str
    options: tuple[FileOption, ...]


def format_names() -> list[str]:
    """Return the names of the installed formats, sorted."""
    return FORMATS.names()


def format_named(name: str) -> Format:
    """Return the format with that name. Raises PluginError."""
    found = FORMATS.load(name)
    if not isinstance(found.value, Format):
        problem = f"it is of the type {type(found.value).__name__}, not a Format"
        raise found.broken(problem)
    return found.value
