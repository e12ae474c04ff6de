"""Recognises the form of a file or folder of detections, and says by what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from lpirc_score.detections.files.findings import refuse
from lpirc_score.detections.files.text import are_numbers, bare_cells, head_of
from lpirc_score.errors import CodedError
from lpirc_testsets.file_bytes import IS_BUNDLE
from lpirc_testsets.folder import CONTEST, is_test_set
from lpirc_testsets.folder_content import (
    CSV,
    JSON,
    TABLE,
    TEXT,
    VOC_RESULTS,
    is_bundle,
    is_run_export,
    is_voc_results,
    kinds_in,
    listed,
    mixed,
)
from lpirc_testsets.parquet_tables import is_parquet
from lpirc_testsets.presence import is_file, is_folder
from lpirc_testsets.yolo_layout import OF_BOX, READ_AS_YOLO, texts_below

OF_EXPORT = ("detections.csv", "detections.parquet", "detections.coco.json")
"""What `referee run export` may write, the first choice first; all hold the same rows."""
NAME_OF_VOC = "comp4_det_test_CLASS.txt"
OF_VOC = "IMAGE CONFIDENCE XMIN YMIN XMAX YMAX"
OF_YOLO = "CLASS X Y WIDTH HEIGHT CONFIDENCE"
_SIX = (
    f"six values: VOC results need a name like {NAME_OF_VOC}, YOLO's texts their folder"
)
_FIVE = "five values: YOLO's texts are given by their folder, and without a confidence they are ground truth"
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
    """The form of a path, and the files to read; their `path` is the folder, if there is one.

    `others` are text files in the folder whose name or first line is not that of the form.

    `why` is what a message adds: the form, and how it was recognised. It is empty for text, whose messages tell it.
    """

    form: Form
    why: str
    path: Path
    files: tuple[Path, ...]
    others: tuple[Path, ...] = ()

    def explain(self, error: CodedError) -> None:
        """Add to a sentence how the form was recognised."""
        if self.why:
            error.sentence = f"{error.sentence} ({self.why})"
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
            why = "read as Parquet, since its name ends in .parquet or its first bytes are PAR1"
            return Recognised(Form.PARQUET, why, path, (path,))
        if is_file(path) and is_voc_results(path):
            why = f"read as VOC results, since its name is like {NAME_OF_VOC}"
            return Recognised(Form.VOC, why, path, (path,))
    except OSError as error:
        refuse(Path(error.filename or path), error.strerror or "cannot be read")
    found = text_form(path)
    if found.form is Form.ROWS and _has_six_values(path):
        return replace(found, why=_SIX)
    if found.form is Form.ROWS and _is_of_yolo(path):
        return replace(found, why=_FIVE)
    return found


def text_form(path: Path) -> Recognised:
    """Return whether a text file holds COCO results or rows. Raises `CodedError` `unreadable-file`."""
    head_of(path)
    if is_json(path):
        return Recognised(Form.COCO, "", path, (path,))
    return Recognised(Form.ROWS, "", path, (path,))


def is_json(path: Path) -> bool:
    """Return True if a file is read as COCO results. Raises `CodedError` `unreadable-file`."""
    return path.suffix.lower() == ".json" or head_of(path).lstrip()[:1] in ("[", "{")


def _of_texts(texts: list[Path]) -> str:
    if not texts:
        return ""
    said = f"; the first line of {texts[0].name} does not begin with five numbers"
    if _has_six_values(texts[0]):
        return f"{said}; if they are VOC results, rename them like {NAME_OF_VOC}"
    return said


def _has_six_values(path: Path) -> bool:
    lines = head_of(path).splitlines()
    first = next((line for line in lines if line.strip()), "")
    cells = bare_cells(first)
    return len(cells) == len(OF_VOC.split()) and are_numbers(cells[1:])


def is_of_voc(path: Path) -> bool:
    """Return True if the first line has the six values of VOC results: its corners are no shares."""
    lines = head_of(path).splitlines()
    cells = bare_cells(next((line for line in lines if line.strip()), ""))
    return _has_six_values(path) and any(float(cell) > 1 for cell in cells[2:])


def _is_of_yolo(path: Path) -> bool:
    """Return True if the first line has the five numbers of YOLO's ground truth."""
    first = head_of(path).lstrip().partition("\n")[0]
    cells = bare_cells(first)
    return len(cells) == OF_BOX and are_numbers(cells)


def _of_folder(folder: Path) -> Recognised:
    if is_run_export(folder):
        for name in OF_EXPORT:
            if is_file(folder / name):
                return recognised(folder / name)
    _refuse_others(folder)
    kinds = kinds_in(folder)
    if len(kinds) > 1:
        refuse(folder, mixed(folder, kinds).removeprefix(f"{folder}: "))
    if not kinds:
        texts = [*texts_below(folder)]
        refuse(folder, f"{_NOTHING}{_of_texts(texts)}")
    ((kind, files),) = kinds.items()
    if kind == VOC_RESULTS:
        why = f"the folder is read as VOC results, since its files have names like {NAME_OF_VOC}"
        return _with_others(Recognised(Form.VOC, why, folder, tuple(files)))
    holds = f"it holds {listed(kinds)}"
    if kind in (JSON, CSV, TABLE):
        refuse(folder, f"{holds}: name a file, not its folder")
    if kind != TEXT:
        refuse(folder, f"{holds}, which is ground truth, and no detections")
    why = f"the folder is {READ_AS_YOLO}"
    return _with_others(Recognised(Form.YOLO, why, folder, tuple(files)))


def _refuse_others(folder: Path) -> None:
    """Raise `CodedError` for a test set and for a bundle."""
    if is_test_set(folder):
        refuse(
            folder,
            "it is a test set, which is ground truth, and no detections",
        )
    if is_bundle(folder):
        refuse(folder, IS_BUNDLE)
    if is_file(folder / CONTEST):
        refuse(
            folder,
            "it is a contest; `referee run export RUN --contest FOLDER` writes the detections of a run",
        )


def _with_others(found: Recognised) -> Recognised:
    """Add the text files of a folder that are not recognised."""
    known = {*found.files}
    others = tuple(one for one in texts_below(found.path) if one not in known)
    return replace(found, others=others)
