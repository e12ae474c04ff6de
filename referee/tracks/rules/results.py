"""Results files: the mAP of what a team's detector found, on whatever it ran. No time and no energy is measured."""

from __future__ import annotations

from dataclasses import dataclass

from referee.config.tracks import RESULTS
from referee.tracks.measured import LEAST, Measured
from referee.tracks.track import Track, Verdict


@dataclass(frozen=True, kw_only=True)
class ResultsTrack(Track):
    """The rule."""

    def measure(self, result: Measured) -> Verdict:
        """Judge a file by its mAP in percent."""
        sentence = f"mAP {result.accuracy_percent:.3f} % on {result.images} images."
        return self.verdict(result, result.accuracy_percent, sentence)


def of_results(mean_ap: float, images: int) -> Measured:
    """What is known of a results file with that mAP (0..1)."""
    return Measured(100 * mean_ap, LEAST, images, images, LEAST)


TRACKS = (
    ResultsTrack(
        name=RESULTS,
        title="Results files",
        metric="mAP, percent",
        task="detection",
        preprocessing="resize",
        accuracy="coco-ap",
    ),
)
