"""Detections as they come: bodies of POSTs, read and checked into rows of seven numbers, or all their problems told.

A row is image, category, confidence, xmin, ymin, xmax, ymax (inclusive pixels). A body is taken whole or
refused whole. The fast path only proves that a body is plain; whatever it cannot prove, the slow path reads
again, row by row, to explain.
"""

from referee.detections.bodies import parse_detections
from referee.detections.checking import check_rows, is_known
from referee.detections.form_body import parse_form
from referee.detections.json_body import parse_json
from referee.detections.packed_body import parse_packed
from referee.detections.rows import MAX_PROBLEMS, ProblemList, Rows, inverted_box, plain, shown
from referee.detections.text_body import parse_text

__all__ = [
    "MAX_PROBLEMS",
    "ProblemList",
    "Rows",
    "check_rows",
    "inverted_box",
    "is_known",
    "parse_detections",
    "parse_form",
    "parse_json",
    "parse_packed",
    "parse_text",
    "plain",
    "shown",
]
