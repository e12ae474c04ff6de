"""The times at which the zero level of each station's meter was last compensated."""

from __future__ import annotations

import math

from referee.config import Station


class ZeroLevels:
    """The times of the last zero-level compensation of each station's meter that this process knows of."""

    def __init__(self) -> None:
        self._tried_s: dict[str, float] = {}
        self._done_s: dict[tuple[str, str], float] = {}

    def tried(
        self,
        station: Station,
        identity: str,
        now_s: float,
        *,
        done: bool,
    ) -> None:
        """Note a zero-level compensation tried now.

        Even if it failed, the next one is due only after the full interval.
        """
        self._tried_s[station.name] = now_s
        if done:
            self._done_s[station.name, identity] = now_s

    def age_s(self, station: Station, identity: str, now_s: float) -> float | None:
        """Return the seconds since the compensation; None if not known, for example for another meter."""
        done_s = self._done_s.get((station.name, identity))
        return None if done_s is None else now_s - done_s

    def is_due(self, station: Station, now_s: float) -> bool:
        """Return True if arming should compensate the zero level again."""
        tried_s = self._tried_s.get(station.name, -math.inf)
        return now_s - tried_s > 60.0 * station.zero_max_age_min > 0
