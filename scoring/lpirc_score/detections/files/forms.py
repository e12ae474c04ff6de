"""Recognises the form of a file or folder of detections, and says by what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lpirc_score.detections.files.findings import refuse
from lpirc_score.detections.files.text import head_of
from lpirc_score.errors import CodedError
from lpirc_testsets.folder_content import (
    CSV,
    JSON,
    TABLE,
    TEXT,
    VOC_RESULTS,
    is_run_export,
    is_voc_results,
    kinds_in,
    listed,
    mixed,
)
from lpirc_testsets.parquet_tables import is_parquet
from lpirc_testsets.presence import is_file, is_folder

OF_EXPORT = ("detections.csv", "detections.parquet", "detections.coco.json")
"""What `referee run export` may write, the first choice first; all hold the same rows."""
_NOTHING = (
    "no detections are in this folder: no YOLO texts, VOC results, "
    "COCO JSON, CSV or Parquet"
)


class Form(StrEnum):
    """The forms of detections, as named in messages."""

    COCO = "COCO results"
    ROWS = "rows"
    PARQUET = "Parquet"
    VOC = "VOC results"
    YOLO = "YOLO's text files"


@dataclass(frozen=True)
class Recognised:
    """The form of a path, why it is this one, and the files to read; their `path` is the folder, if there is one."""

    form: Form
    why: str
    path: Path
    files: tuple[Path, ...]

    def explain(self, error: CodedError) -> None:
        """Add to a sentence the form, and how it was recognised. COCO results and rows have sentences that tell it."""
        if self.form not in (Form.COCO, Form.ROWS):
            read_as = f"{self.path.name}: read as {self.form}, since {self.why}"
            error.sentence = f"{error.sentence} ({read_as})"
            error.args = (error.sentence,)


def recognised(path: Path) -> Recognised:
    """Return the form of a file or folder.

    Raises `CodedError` `unreadable-file` for a folder with no detections in it or with several kinds, and for a file
    that cannot be read.
    """
    try:
        if is_folder(path):
            return _of_folder(path)
        if is_parquet(path):
            why = "its name ends in .parquet or its first bytes are PAR1"
            return Recognised(Form.PARQUET, why, path, (path,))
        if is_file(path) and is_voc_results(path):
            why = "its name is like comp4_det_test_CLASS.txt"
            return Recognised(Form.VOC, why, path, (path,))
    except OSError as error:
        refuse(path, error.strerror or "cannot be read")
    return text_form(path)


def text_form(path: Path) -> Recognised:
    """Return whether a text file holds COCO results or rows. Raises `CodedError` `unreadable-file`."""
    head_of(path)
    if is_json(path):
        why = "its name ends in .json or its content begins with a bracket"
        return Recognised(Form.COCO, why, path, (path,))
    return Recognised(Form.ROWS, "it is text", path, (path,))


def is_json(path: Path) -> bool:
    """Return True if a file is read as COCO results. Raises `CodedError` `unreadable-file`."""
    return path.suffix.lower() == ".json" or head_of(path).lstrip()[:1] in ("[", "{")


def _of_folder(folder: Path) -> Recognised:
    if is_run_export(folder):
        for name in OF_EXPORT:
            if is_file(folder / name):
                return recognised(folder / name)
    kinds = kinds_in(folder)
    if len(kinds) > 1:
        refuse(folder, mixed(folder, kinds).removeprefix(f"{folder}: "))
    if not kinds:
        refuse(folder, _NOTHING)
    ((kind, files),) = kinds.items()
    if kind == VOC_RESULTS:
        why = "its files have names like comp4_det_test_CLASS.txt"
        return Recognised(Form.VOC, why, folder, tuple(files))
    holds = f"it holds {listed(kinds)}"
    if kind in (JSON, CSV, TABLE):
        refuse(folder, f"{holds}: name a file, not its folder")
    if kind != TEXT:
        refuse(folder, f"{holds}, which is ground truth, and no detections")
    why = "it has lines of numbers in .txt files"
    return Recognised(Form.YOLO, why, folder, tuple(files))
