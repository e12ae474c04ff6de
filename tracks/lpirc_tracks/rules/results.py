"""Results files: the mAP of a team's detections, whatever device made them. No time and no energy is measured."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Track, Verdict
from referee.config.tracks import RESULTS


@dataclass(frozen=True, kw_only=True)
class ResultsTrack(Track):
    """The rule for results files."""

    def measure(self, result: Measured) -> Verdict:
        """Judge a results file by its mAP in percent."""
        sentence = f"mAP {result.accuracy_percent:.3f} % on {result.images} images."
        return self.verdict(result, result.accuracy_percent, sentence)


FILES = ResultsTrack(
    name=RESULTS,
    title="Results files",
    metric="mAP, percent",
    task="detection",
    preprocessing="resize",
    accuracy="coco-ap",
)
