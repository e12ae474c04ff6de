"""What masks reach: the result of `evaluate_segm` and `evaluate_label_maps`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MaskScore:
    """The figures of the masks of a file or a folder.

    `figure` names the `accuracy` (0..1), which is the mean of `by_category`, by id; `names` has the names of the
    categories. `others` has further figures by name. A figure is None if there is nothing in the truth that counts for
    it: no object, or no pixel. `answers` are the masks or label maps that were given for the `images` of the set.
    """

    figure: str
    accuracy: float | None
    by_category: Mapping[int, float | None]
    others: Mapping[str, float | None]
    names: Mapping[int, str]
    images: int
    answers: int
