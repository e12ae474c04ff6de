"""Detections and blacklists from files: CSV with a header, the contest's rows of seven numbers, COCO results.

Rows keep the order of the file, which is the order of submission. Images are named by id, by file name, or by
file name without suffix; categories by id or by name. Where names are usual a text is a name, and elsewhere one that is
the id of one and the name of another is refused.
"""

from lpirc_score.detections.files.row_files import HEADER
from lpirc_score.detections.files.submission_reader import (
    Submission,
    read_blacklist,
    read_detections,
    read_submission,
)

__all__ = [
    "HEADER",
    "Submission",
    "read_blacklist",
    "read_detections",
    "read_submission",
]
