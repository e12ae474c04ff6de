"""Each run's secret image order: the team's image n is test-set image order[n - 1]."""

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
    """Draw a run's `images` from the test set and order them, shape (images,).

    The draw is keyed by the contest's secret and the run's `nonce`. Images that the team has had least often are drawn
    first; `times_had` (N,) counts them for images 1..N. Without `shuffle` they are in ascending order. The result is
    stored with the run; the judge does not draw again.
    """
    digest = hmac.digest(secret, f"image order of run {nonce}".encode(), hashlib.sha256)
    chance = np.random.default_rng(list(digest))
    drawn = chance.permutation(len(times_had))
    drawn = drawn[np.argsort(times_had[drawn], kind="stable")][:images] + 1
    # Shuffled again, so that the order does not reveal which images the team has had before.
    return chance.permutation(drawn) if shuffle else np.sort(drawn)


def images_had(store: Store, team: str, digest: str | None) -> dict[int, Numbers]:
    """Return, for each of a team's runs on the images of `digest`, the test-set numbers of the images served to it."""
    runs = [run.id for run in store.runs.find(team=team, images_digest=digest)]
    return {
        run: store.runs.image_order(run)[
            np.array(store.served.images(run), np.int64) - 1
        ]
        for run in runs
    }
