"""Each run's secret order of the images: the team's image n is image order[n - 1] of the test set."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray

from referee.store import Store

Numbers = NDArray[np.int64]


def image_order(
    secret: bytes,
    nonce: str,
    times_had: Numbers,
    images: int,
    *,
    shuffle: bool,
) -> Numbers:
    """Draw and order a run's `images` of the test set, shape (images,), keyed by the contest's secret and its `nonce`.

    Those that the team has had least often are drawn first: `times_had` (N,) counts them for images 1..N. Without
    `shuffle` they are in ascending order. The run keeps the result: the judge does not draw again.
    """
    digest = hmac.digest(secret, f"image order of run {nonce}".encode(), hashlib.sha256)
    chance = np.random.default_rng(list(digest))
    drawn = chance.permutation(len(times_had))
    drawn = drawn[np.argsort(times_had[drawn], kind="stable")][:images] + 1
    # Shuffled again: the order must not reveal which of them the team has had.
    return chance.permutation(drawn) if shuffle else np.sort(drawn)


def images_had(store: Store, team: str, digest: str | None) -> dict[int, Numbers]:
    """The test-set numbers of the images that each run of a team on these images was served, by run."""
    runs = [run.id for run in store.runs.find(team=team, images_digest=digest)]
    return {
        run: store.runs.image_order(run)[
            np.array(store.served.images(run), np.int64) - 1
        ]
        for run in runs
    }
