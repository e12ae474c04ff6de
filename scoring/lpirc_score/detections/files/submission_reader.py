"""Reads files of detections in any format, and blacklists: (image, category) pairs that are left out of the scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lpirc_score.detections import MAX_PROBLEMS, ProblemList
from lpirc_score.detections.files.coco_results import read_coco_results
from lpirc_score.detections.files.findings import Findings
from lpirc_score.detections.files.forms import Form, Recognised, recognised, text_form
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.row_files import read_rows
from lpirc_score.detections.files.several_files import Read
from lpirc_score.detections.files.tables import (
    has_export_header,
    read_export,
    read_table,
)
from lpirc_score.detections.files.text import check_length, csv_lines, head_of
from lpirc_score.detections.files.voc_results import read_voc_results
from lpirc_score.detections.files.yolo_results import read_yolo_results
from lpirc_score.detections.parsed_rows import EnoughProblems
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import STRICT, Tolerance
from lpirc_score.metrics.units import PIXELS, SHARES, unit_warnings
from lpirc_testsets.ground_truth import GroundTruth

_BLACKLIST_HEADERS = (["image", "class"], ["image", "category"])


@dataclass(frozen=True, eq=False)
class Submission:
    """Detections, warnings, and the ground truth with added images and categories that occur only in the detections."""

    detections: Detections
    ground_truth: GroundTruth
    warnings: tuple[str, ...]


def read_detections(path: Path, ground_truth: GroundTruth) -> Detections:
    """Read a file of detections without accepting anything questionable. Raises as `read_submission` does."""
    return read_submission(path, ground_truth).detections


def read_submission(
    path: Path,
    ground_truth: GroundTruth,
    tolerance: Tolerance = STRICT,
    most_problems: int = MAX_PROBLEMS,
    *,
    stops: bool = False,
    only_text: bool = False,
) -> Submission:
    """Read a file or folder of detections in any of its forms.

    CSV has the header `image,class,confidence,xmin,ymin,xmax,ymax` (or `category`); without a header every
    line is seven values separated by blanks or commas; COCO results are a JSON array of {image_id,
    category_id, bbox, score}, whose boxes x, y, w, h become inclusive corners (xmax = x + w - 1). A header
    alone, or `[]`, means no detections; an empty file is an error. Parquet has the columns of CSV. `voc_results` and
    `yolo_results` describe these; the latter take the sizes of images from the ground truth. Of the folder that
    `referee run export` writes, rows that do not count are left out with a warning. Boxes that seem to be in another
    unit than pixels are warned of.

    With `only_text` a file is read as COCO results, CSV or rows and nothing else, since others may have made it.

    Raises `CodedError` `bad-detections` for numbers that are not finite, and for unknown images, unknown categories and
    inverted boxes that `tolerance` does not accept, with the facts `file`, `problems` (at most
    `most_problems` of {"line", "problem"}; in JSON the entry's number, in Parquet the row's) and `total`;
    `unreadable-file` when it cannot be read; `no-pyarrow`. With `stops` the reading ends at `most_problems`.
    """
    findings = Findings(path, ProblemList(most=most_problems, stops=stops))
    finders = Finders.of(ground_truth, tolerance, findings)
    found = text_form(path) if only_text else recognised(path)
    inverted_boxes = tolerance.inverted_boxes
    try:
        if found.form in (Form.VOC, Form.YOLO):
            return _of_several(found, ground_truth, finders, inverted_boxes)
        findings.path = found.path
        detections = _of_one(found, ground_truth, finders, inverted_boxes)
        findings.raise_if_any("bad-detections")
    except EnoughProblems:
        findings.raise_if_any("bad-detections")
        raise
    except CodedError as error:
        found.explain(error)
        raise
    return _submission(
        found, Read(detections, findings.warnings()), ground_truth, finders
    )


def _of_one(
    found: Recognised,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    path = found.path
    if found.form is Form.COCO:
        return read_coco_results(path, finders, inverted_boxes)
    if found.form is Form.PARQUET:
        return read_table(path, ground_truth, finders, inverted_boxes)
    head = head_of(path)
    if has_export_header(head):
        return read_export(path, ground_truth, finders, inverted_boxes)
    return read_rows(
        path,
        head,
        ground_truth,
        finders,
        inverted_boxes,
    )


def _of_several(
    found: Recognised,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Submission:
    if found.form is Form.VOC:
        read = read_voc_results(found, finders, inverted_boxes)
    else:
        read = read_yolo_results(found, ground_truth, finders, inverted_boxes)
    return _submission(found, read, ground_truth, finders)


def _submission(
    found: Recognised,
    read: Read,
    ground_truth: GroundTruth,
    finders: Finders,
) -> Submission:
    completed = finders.completed(ground_truth)
    unit = SHARES if found.form is Form.YOLO else PIXELS
    of_units = unit_warnings(found.path, read.detections, completed, unit)
    return Submission(read.detections, completed, (*read.warnings, *of_units))


def read_blacklist(
    path: Path,
    ground_truth: GroundTruth,
    tolerance: Tolerance = STRICT,
    warn: Callable[[str], None] = lambda _: None,
) -> frozenset[tuple[int, int]]:
    """Read the (image id, category id) pairs of a CSV with the header `image,class`.

    A file with only the header gives no pairs. A pair with a new image or category that `tolerance` accepts has no
    effect: it is left out, and `warn` is called with a sentence. Raises `CodedError` `bad-blacklist` or
    `unreadable-file`, as `read_submission` does.
    """
    findings = Findings(path)
    finders = Finders.of(ground_truth, tolerance, findings)
    head_of(path)
    pairs: set[tuple[int, int]] = set()
    for line, cells in csv_lines(path, _BLACKLIST_HEADERS):
        try:
            check_length(cells, 2)
            pairs.add(
                (
                    finders.images.by_text(cells[0], line),
                    finders.categories.by_text(cells[1], line),
                )
            )
        except ValueError as error:
            findings.problems.add(line, str(error))
    findings.raise_if_any("bad-blacklist")
    for sentence in findings.warnings():
        warn(sentence)
    images = finders.images.known
    categories = finders.categories.known
    return frozenset(
        pair for pair in pairs if pair[0] in images and pair[1] in categories
    )
