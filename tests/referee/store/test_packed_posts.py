"""The database stores either a packed body or its rows, not both; readers of rows get the same rows."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_score.detections.parsed_rows import Refused
from referee.store import DATABASE_NAME, Store
from tests.referee.factories import START, stored_run

ROWS = np.array(
    [
        [1, 2, 0.1, 3, 4, 5, 6.7],
        [2, 3, 0.25, -0.0, 1e-30, 3.4e38, 9],
    ],
    dtype="<f4",
)
EXACT = ROWS.astype(np.float64)
PACKED = ROWS.tobytes()
ONE_REFUSED = Refused(1, ((1, "no such image", "1 2 0.1"),))


@pytest.mark.parametrize(
    ("content_type", "body", "taken", "is_kept_once"),
    [
        ("application/octet-stream", PACKED, EXACT, True),
        (" Application/Octet-Stream ; v=1", PACKED, EXACT, True),
        ("application/octet-stream", PACKED, (EXACT[1:], ONE_REFUSED), False),
        ("application/octet-stream", PACKED, EXACT + 1e-9, False),
        ("application/octet-stream", PACKED + b"\0", EXACT, False),
        ("application/octet-stream", None, EXACT, False),
        ("application/octet-stream", b"", EXACT[:0], True),
        ("text/plain", PACKED, EXACT, False),
        ("text/plain", b"# nothing", EXACT[:0], True),
        (None, PACKED, EXACT, False),
    ],
)
def test_rows_come_back_bit_by_bit_and_are_kept_only_where_the_body_does_not_give_them(
    tmp_path: Path,
    content_type: str | None,
    body: bytes | None,
    taken: NDArray[np.float64] | tuple[NDArray[np.float64], Refused],
    is_kept_once: bool,
) -> None:
    expected = taken[0] if isinstance(taken, tuple) else taken
    sha256 = hashlib.sha256(body or b"").hexdigest()
    with closing(Store.open(tmp_path / DATABASE_NAME, create=True)) as store:
        store.identity.accept("0123456789ab")
        run = stored_run(store)
        about = {
            "sha256": sha256,
            "idempotency_key": None,
            "elapsed_s": 1.0,
            "now": START,
        }
        store.posts.append(run.id, EXACT, **about)  # type: ignore[arg-type] - one that has no body
        receipt = store.posts.append(
            run.id,
            taken,
            content_type=content_type,
            body=body,
            **about,
        )  # type: ignore[arg-type] - as above
        whole = np.concatenate([EXACT, expected])
        assert receipt.row_count == len(expected)
        assert receipt.received_total == len(whole)
        assert store.posts.detections(run.id).tobytes() == whole.tobytes()
        assert [one.tobytes() for one in store.posts.detections_by_post(run.id)] == [
            EXACT.tobytes(),
            expected.tobytes(),
        ]
        later, last = store.posts.detections_after(run.id, 1)
        assert later.tobytes() == expected.tobytes()
        assert later.shape == expected.shape
        assert last == 2
        nothing, last = store.posts.detections_after(run.id, 2)
        assert nothing.shape == (0, 7)
        assert last == 2
        (_, _), (kept, _) = store.posts.bodies(run.id)
        assert kept["body"] == body
        assert (kept["rows"] is None) == (body is not None)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        stored = connection.execute(
            "SELECT length(rows) FROM posts WHERE id = 2"
        ).fetchone()[0]
    assert (stored == 0) == is_kept_once
