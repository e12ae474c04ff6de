"""An accepted body before it is stored."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lpirc_score.detections.parsed_rows import Taken
from lpirc_score.tasks.taken_answers import TakenAnswers


class NewPost(NamedTuple):
    """An accepted body before it is stored: what was taken of it, times, idempotency key, and bytes."""

    taken: Taken | TakenAnswers
    sha256: str
    idempotency_key: str | None
    elapsed_s: float
    now: datetime
    content_type: str | None = None
    body: bytes | None = None
