"""Bodies of POSTs: one parser for each of four content types, all equal in meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from referee.detections.checking import check_rows
from referee.detections.form_body import parse_form
from referee.detections.json_body import parse_json
from referee.detections.packed_body import parse_packed
from referee.detections.rows import Rows
from referee.detections.text_body import parse_text
from referee.errors import RefereeError

_PARSERS: dict[str, Callable[[bytes], Rows]] = {
    "application/json": parse_json,
    "text/plain": parse_text,
    "text/csv": parse_text,
    "application/x-www-form-urlencoded": parse_form,
    "application/octet-stream": parse_packed,
}


def parse_detections(
    body: bytes, content_type: str, images: int, category_ids: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Read and check the rows of a body: float64 of shape (n, 7).

    Images are 1..`images`; `category_ids` (K,) ascend; `content_type` chooses the parser.

    Raises `RefereeError` with code `unsupported-media-type`, `bad-json`, `length-mismatch` or `bad-rows`;
    the last has the facts `problems` (at most 20 of {"line", "problem"}) and `total`.
    """
    kind = content_type.partition(";")[0].strip().lower()
    parse = _PARSERS.get(kind)
    if parse is None:
        sentence = f"Detections of type {kind[:80]!r} are not supported; send one of {', '.join(_PARSERS)}."
        raise RefereeError("unsupported-media-type", sentence, content_type=kind[:80])
    return check_rows(parse(body), images, category_ids)
