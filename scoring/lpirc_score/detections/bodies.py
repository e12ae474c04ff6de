"""Bodies of POSTs: a parser for each of four content types, all equivalent in meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.form_body import parse_form
from lpirc_score.detections.json_body import parse_json
from lpirc_score.detections.parsed_rows import ProblemList, Rows, plain
from lpirc_score.detections.plausibility import implausible
from lpirc_score.detections.row_checks import bad_rows, check_rows
from lpirc_score.detections.text_body import parse_text
from lpirc_score.errors import CodedError, with_more

PACKED = "application/octet-stream"
ROW_BYTES = 28
FIRST_INEXACT = 2.0**24
EMPTY = "The body is empty, so nothing of it counts; if that is meant, [] as JSON says so without this warning."


def is_blank(body: bytes) -> bool:
    """Return True for a body without content, which a client sends by mistake more often than on purpose."""
    return not body or body.isspace()


def is_packed(content_type: str | None) -> bool:
    """Return True if `unpack` reads a body of that content type."""
    return content_type is not None and _kind(content_type) == PACKED


def unpack(body: bytes) -> NDArray[np.float64]:
    """Return the rows (n, 7) of an accepted packed body; float64 holds each float32 exactly."""
    return np.frombuffer(body, "<f4").astype(np.float64).reshape(-1, 7)


def parse_packed(body: bytes) -> Rows:
    """Read rows of seven little-endian float32, 28 bytes each, for boards where formatting numbers costs energy.

    float32 has 24 bits of precision, so an id of 2^24 or more could be rounded to its neighbour and is refused. Raises
    BadRows `bad-rows` for an incomplete row.
    """
    count, left_over = divmod(len(body), ROW_BYTES)
    if left_over:
        problems = ProblemList()
        problems.add(
            count + 1,
            f"a packed row is {ROW_BYTES} bytes, the last one has {left_over}",
        )
        raise bad_rows(problems)
    rows = Rows.numbered(unpack(body))
    ids = rows.values[:, :2]
    is_inexact = (ids >= FIRST_INEXACT) & np.isfinite(ids)
    inexact = np.flatnonzero(is_inexact.any(axis=1))
    for row in inexact:
        number = plain(rows.values[row, :2].max())
        rows.unreadable.add(
            int(row) + 1,
            f"{number} cannot be represented exactly in float32; send such ids as text or JSON",
        )
    return rows


_PARSERS: dict[str, Callable[[bytes], Rows]] = {
    "application/json": parse_json,
    "text/plain": parse_text,
    "text/csv": parse_text,
    "application/x-www-form-urlencoded": parse_form,
    PACKED: parse_packed,
}


def parse_detections(
    body: bytes,
    content_type: str,
    images: int,
    category_ids: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Parse and check the rows of a body; return them as float64 of shape (n, 7).

    Images are 1..`images`; `category_ids` (K,) must ascend; `content_type` selects the parser.

    Raises `CodedError` with code `unsupported-media-type`, `bad-json`, `length-mismatch` or `bad-rows`; the last has
    the facts `problems` (at most 20 of {"line", "problem"}) and `total`.
    """
    kind = _kind(content_type)
    parse = _PARSERS.get(kind)
    if parse is None:
        sentence = f"Detections of type {kind[:80]!r} are not supported; send one of {', '.join(_PARSERS)}."
        raise CodedError("unsupported-media-type", sentence, content_type=kind[:80])
    try:
        return check_rows(parse(body), images, category_ids)
    except CodedError as error:
        # Rarely needed: a body that is accepted depends on nothing of it.
        from lpirc_score.detections.mistaken_bodies import seeming

        hint = seeming(body, kind, images, category_ids)
        if not hint:
            raise
        raise with_more(error, hint) from None


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


@dataclass
class BodyReader:
    """Reads one body as `parse_detections` does.

    `warnings` has a sentence for each kind of rows that are implausible according to the `limits`, and one for a body
    without a byte of content.
    """

    content_type: str
    images: int
    category_ids: NDArray[np.int64]
    limits: NDArray[np.float64]
    warnings: list[str] = field(default_factory=list)

    def __call__(self, body: bytes) -> NDArray[np.float64]:
        """Return the rows (n, 7) of the body. Raises what `parse_detections` raises."""
        rows = parse_detections(body, self.content_type, self.images, self.category_ids)
        self.warnings = implausible(rows, self.limits).warnings
        if is_blank(body):
            self.warnings.append(EMPTY)
        return rows
