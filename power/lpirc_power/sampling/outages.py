"""Counts the losses of a link, and says which lines about them are worth printing."""

from __future__ import annotations

import math
from typing import Final

TOLD_WHOLE: Final = 2
"""Losses of which both the beginning and the end are told."""
LONG_S: Final = 10.0
"""Length of an outage whose end is always told."""


class Outages:
    """The losses of one link.

    A shaky cable loses the link again and again. From the third loss on, the end of a short outage is not told: the
    line about its beginning has the count.
    """

    def __init__(self) -> None:
        self.count = 0
        self._since_s = math.nan

    @property
    def is_lost(self) -> bool:
        """Return True from `lost` until `back`."""
        return not math.isnan(self._since_s)

    def lost(self, sentence: str, now_s: float) -> str:
        """Count a loss, and return the line about it; empty if the link was lost already."""
        if self.is_lost:
            return ""
        self._since_s = now_s
        self.count += 1
        return (
            sentence
            if self.count == 1
            else f"{sentence} This is loss {self.count} of the link."
        )

    def back(self, sentence: str, now_s: float) -> str:
        """Return the line about the end of an outage; empty if there was none, or if its beginning was told alone."""
        lasted_s = now_s - self._since_s
        was_lost = self.is_lost
        self._since_s = math.nan
        is_told = self.count <= TOLD_WHOLE or lasted_s >= LONG_S
        return sentence if was_lost and is_told else ""
