"""Facts known from outside a bundle, for comparison in a verification."""

from __future__ import annotations

from dataclasses import dataclass

from referee.evidence.receipts_in_bundle import Receipts


@dataclass(frozen=True)
class Given:
    """Facts known from outside the bundle: a public key, a head of the log, receipts, a ground truth.

    `head` may be just the first digits of a head; `head_events` is the number of events up to that head, if known.
    `interval` requests that the score's interval be recomputed, too.
    """

    key: str | None = None
    head: str | None = None
    head_events: int | None = None
    receipts: Receipts | None = None
    ground_truth: bytes | None = None
    interval: bool = False
