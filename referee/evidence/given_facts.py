"""Facts known beside a bundle, with which a verification compares it."""

from __future__ import annotations

from dataclasses import dataclass

from referee.evidence.receipts_in_bundle import Receipts


@dataclass(frozen=True)
class Given:
    """Facts known beside the bundle: a public key, a head of the log, receipts, a ground truth.

    `head` may be its first digits, and `head_events` says of how many events it is, where that is known. `interval`:
    compute it, too.
    """

    key: str | None = None
    head: str | None = None
    head_events: int | None = None
    receipts: Receipts | None = None
    ground_truth: bytes | None = None
    interval: bool = False
