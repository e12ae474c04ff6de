"""Blacklists: (image, category) pairs that do not count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from referee.detections.files.findings import Findings
from referee.detections.files.names import Finders
from referee.detections.files.text import check_length, csv_lines, head_of
from referee.scoring.rules import STRICT, Tolerance
from testsets.ground_truth import GroundTruth

_HEADERS = (["image", "class"], ["image", "category"])


def read_blacklist(
    path: Path,
    ground_truth: GroundTruth,
    tolerance: Tolerance = STRICT,
    warn: Callable[[str], None] = lambda _: None,
) -> frozenset[tuple[int, int]]:
    """Read the (image id, category id) pairs of a CSV with the header `image,class`.

    The header alone is none. A pair of a new image or category that `tolerance` accepts has no effect: it
    is left out, and `warn` gets a sentence. Raises `RefereeError` `bad-blacklist` or `unreadable-file`, as
    `read_submission` does.
    """
    findings = Findings(path)
    finders = Finders.of(ground_truth, tolerance, findings)
    head_of(path)
    pairs: set[tuple[int, int]] = set()
    for line, cells in csv_lines(path, _HEADERS):
        try:
            check_length(cells, 2)
            pairs.add((finders.images.by_text(cells[0], line), finders.categories.by_text(cells[1], line)))
        except ValueError as error:
            findings.problems.add(line, str(error))
    findings.raise_if_any("bad-blacklist")
    for sentence in findings.warnings():
        warn(sentence)
    images, categories = finders.images.known, finders.categories.known
    return frozenset(pair for pair in pairs if pair[0] in images and pair[1] in categories)
