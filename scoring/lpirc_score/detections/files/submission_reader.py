"""Reads files of detections in any format, and blacklists: (image, category) pairs that are left out of the scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lpirc_score.detections import MAX_PROBLEMS, ProblemList
from lpirc_score.detections.files.coco_results import read_coco_results
from lpirc_score.detections.files.findings import Findings
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.row_files import read_rows
from lpirc_score.detections.files.text import check_length, csv_lines, head_of
from lpirc_score.detections.parsed_rows import EnoughProblems
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import STRICT, Tolerance
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
) -> Submission:
    """Read a file of detections in any of its three forms.

    CSV has the header `image,class,confidence,xmin,ymin,xmax,ymax` (or `category`); without a header every
    line is seven values separated by blanks or commas; COCO results are a JSON array of {image_id,
    category_id, bbox, score}, whose boxes x, y, w, h become inclusive corners (xmax = x + w - 1). A header
    alone, or `[]`, means no detections; an empty file is an error.

    Raises `CodedError` `bad-detections` for numbers that are not finite, and for unknown images, unknown categories and
    inverted boxes that `tolerance` does not accept, with the facts `file`, `problems` (at most
    `most_problems` of {"line", "problem"}; in JSON the entry's number) and `total`; `unreadable-file` when it cannot be
    read. With `stops` the reading ends at `most_problems`.
    """
    findings = Findings(path, ProblemList(most=most_problems, stops=stops))
    finders = Finders.of(ground_truth, tolerance, findings)
    head = head_of(path)
    try:
        if is_json(path):
            detections = read_coco_results(path, finders, tolerance.inverted_boxes)
        else:
            detections = read_rows(
                path,
                head,
                ground_truth,
                finders,
                tolerance.inverted_boxes,
            )
    except EnoughProblems:
        findings.raise_if_any("bad-detections")
        raise
    findings.raise_if_any("bad-detections")
    return Submission(detections, finders.completed(ground_truth), findings.warnings())


def is_json(path: Path) -> bool:
    """Return True if a file is read as COCO results. Raises `CodedError` `unreadable-file`."""
    return path.suffix.lower() == ".json" or head_of(path).lstrip()[:1] in ("[", "{")


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
