"""Each run's secret order of the images: the team's image n is image order[n - 1] of the test set."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray


def image_order(secret: bytes, run: int, images: int, *, shuffle: bool) -> NDArray[np.int64]:
    """A permutation of 1..images, shape (images,), keyed by the contest's secret and the run; or 1..images itself.

    It is stored with the run at arming: the judge uses the stored order, not this function.
    """
    numbers = np.arange(1, images + 1, dtype=np.int64)
    if not shuffle:
        return numbers
    key = hmac.digest(secret, f"image order of run {run}".encode(), hashlib.sha256)
    return np.random.default_rng(list(key)).permutation(numbers)
