"""Tells what kinds of ground truth or detections are in a folder, by the names and first bytes of its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lpirc_testsets.file_bytes import OF_BUNDLE, file_bytes
from lpirc_testsets.parquet_tables import SUFFIXES as PARQUET
from lpirc_testsets.presence import files_below, is_file, is_folder
from lpirc_testsets.voc_reader import ANNOTATIONS
from lpirc_testsets.yolo_layout import LABELS, is_label_text

XML = "XML"
TEXT = "YOLO text"
VOC_RESULTS = "VOC results"
JSON = "JSON"
CSV = "CSV"
TABLE = "Parquet"

READINGS = "readings.csv"
EVENTS = "events.jsonl"
"""Files that `referee run export` writes beside its detections."""

_FIRST_BYTES = 1 << 16
_OF_COCO = (b'"annotations"', b'"image_id"')
_OF_BOXES = b"xmin,ymin,xmax,ymax"

Kinds = Mapping[str, list[Path]]
"""The files of each kind, by the kind's name, in order of their names."""


def kinds_in(folder: Path) -> Kinds:
    """Return the files below a folder that hold boxes, by kind. Hidden files and all others are left out.

    In a folder with `Annotations`, as VOC has it, only those there and in `labels` are meant. Raises OSError.
    """
    if is_folder(folder / ANNOTATIONS):
        return {**kinds_in(folder / ANNOTATIONS), **kinds_in(folder / LABELS)}
    found: dict[str, list[Path]] = {}
    for path in files_below(folder) if is_folder(folder) else ():
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts):
            continue
        if kind := _kind_of(path):
            found.setdefault(kind, []).append(path)
    return found


def listed(kinds: Kinds) -> str:
    """Return the numbers of files by kind with first names: "2 XML files (a.xml, ...) and 1 CSV file (b.csv)"."""
    parts = []
    for kind, paths in kinds.items():
        is_one = len(paths) == 1
        files = "file" if is_one else "files"
        more = "" if is_one else ", ..."
        parts.append(f"{len(paths)} {kind} {files} ({paths[0].name}{more})")
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def mixed(folder: Path, kinds: Kinds) -> str:
    """Return the sentence that refuses a folder with files of several kinds."""
    return (
        f"{folder}: it holds {listed(kinds)}, and which of them counts is not known: "
        "name one file, or a folder with files of one kind"
    )


def is_run_export(folder: Path) -> bool:
    """Return True for a folder that `referee run export` has written. Raises OSError."""
    return is_file(folder / READINGS) and is_file(folder / EVENTS)


def is_bundle(folder: Path) -> bool:
    """Return True for the folder of a run's bundle that was unpacked. Raises OSError."""
    return is_file(folder / OF_BUNDLE)


def no_truth_in(folder: Path, kinds: Kinds) -> str:
    """Return what a folder holds instead of ground truth, for a sentence. Raises OSError."""
    if is_run_export(folder):
        return "it is what `referee run export` writes: detections, and no ground truth"
    holds = f"it holds {listed(kinds)}"
    if VOC_RESULTS in kinds:
        return f"{holds}, which are detections and no ground truth"
    return f"{holds}: name a file, not its folder"


def is_voc_results(path: Path) -> bool:
    """Return True for a name like comp4_det_test_CLASS.txt, as the VOC development kit gives its files of results."""
    return path.suffix.lower() == ".txt" and voc_results_class(path) is not None


def voc_results_class(path: Path) -> str | None:
    """Return the class in the name of a file of VOC results, or None if it has another name."""
    competition, _, task = path.stem.partition("_det_")
    name = task.partition("_")[2]
    if not competition.startswith("comp") or not name:
        return None
    return name


def _kind_of(path: Path) -> str | None:
    suffix = path.suffix.lower()
    if suffix == ".xml":
        return XML
    if suffix in PARQUET:
        return TABLE
    if is_voc_results(path):
        return VOC_RESULTS
    if suffix == ".txt":
        return TEXT if is_label_text(path) else None
    if suffix not in (".json", ".csv"):
        return None
    start = file_bytes(path, _FIRST_BYTES)
    if suffix == ".json":
        return JSON if any(key in start for key in _OF_COCO) else None
    header = start.partition(b"\n")[0].replace(b" ", b"")
    return CSV if _OF_BOXES in header else None
