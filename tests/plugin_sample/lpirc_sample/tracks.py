"""A track: the fastest model that is right often enough."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_tracks import Measured, Track, Verdict


@dataclass(frozen=True, kw_only=True)
class FastestTrack(Track):
    """The rule; a field of its own is a setting, which a contest may change in contest.toml."""

    least_percent: float = 50.0

    def measure(self, result: Measured) -> Verdict:
        """Judge a run by its images per second."""
        accuracy = f"{result.accuracy_percent:.1f} %"
        if result.accuracy_percent < self.least_percent:
            sentence = f"{accuracy} is below {self.least_percent:g} %."
            return self.refuse(result, sentence)
        value = result.frames_per_s
        return self.verdict(result, value, f"{value:.1f} images/s at {accuracy}.")


FASTEST = FastestTrack(
    name="fastest",
    title="Fastest",
    metric="images/s",
    task="detection",
    preprocessing="resize",
    accuracy="coco-ap",
)
