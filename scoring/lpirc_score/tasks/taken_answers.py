"""What is kept of an accepted body of answers beside its bytes: the images that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TakenAnswers:
    """The images that a body answers, in its order, by the team's numbers.

    `is_once`: the task takes one answer for each image.
    """

    images: Sequence[int]
    is_once: bool

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.images)
