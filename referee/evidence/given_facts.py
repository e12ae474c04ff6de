"""Facts known from outside a bundle, for comparison in a verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from referee.evidence.kept_links import KeptLink
from referee.evidence.published_chain import PublishedChain
from referee.evidence.receipts_in_bundle import Receipts


@dataclass(frozen=True)
class Given:
    """Facts known from outside the bundle: a public key, a head of the log, receipts, a ground truth.

    `test_set` is the digest of the test set that `ground_truth` is of, if it is known.
    `head` may be just the first digits of a head; `head_events` is the number of events up to that head, if known.
    `kept` are links of the log that people kept, and `chains` the log as it was published. `interval` requests that the
    score's interval be recomputed, too.
    """

    key: str | None = None
    head: str | None = None
    head_events: int | None = None
    receipts: Receipts | None = None
    ground_truth: bytes | None = None
    test_set: str = ""
    interval: bool = False
    kept: Sequence[KeptLink] = ()
    chains: Sequence[PublishedChain] = ()
