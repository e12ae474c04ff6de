"""Bodies that a client sends again under the same Idempotency-Key, also after its run has closed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from referee.errors import RefereeError

if TYPE_CHECKING:
    from referee.store import Store
    from referee.store.records import Post


def key_reused() -> RefereeError:
    """Return the error for a body whose idempotency key came earlier with another body."""
    return RefereeError(
        "key-reused",
        "This Idempotency-Key was used with another body before; use a new key for new detections.",
    )


def receipt_of(store: Store, run: int, body: bytes, key: str | None) -> Post | None:
    """Return the receipt that this body got under this key, for a client that asks again after the run has closed.

    Raises RefereeError `key-reused` if the key came with another body.
    """
    earlier = store.posts.find(run, key) if key else None
    if earlier is not None and earlier.sha256 != hashlib.sha256(body).hexdigest():
        raise key_reused()
    return earlier
