"""Parses detections from POST bodies and files into checked rows of seven numbers, or refuses them with all problems.

A row is image, category, confidence, xmin, ymin, xmax, ymax (inclusive pixels). A body is accepted as a whole or
refused as a whole. Start with `bodies`. Each parser has a fast path for regular bodies; a body that does not fit it is
read again row by row, to name each problem. Knows nothing of HTTP or SQL.
"""

from lpirc_score.detections.bodies import BodyReader, parse_detections, parse_packed
from lpirc_score.detections.form_body import parse_form
from lpirc_score.detections.json_body import parse_json
from lpirc_score.detections.parsed_rows import (
    MAX_PROBLEMS,
    ProblemList,
    Rows,
    inverted_box,
    plain,
)
from lpirc_score.detections.row_checks import check_rows, is_known
from lpirc_score.detections.text_body import parse_text
from lpirc_testsets.values import shown

__all__ = [
    "MAX_PROBLEMS",
    "BodyReader",
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
