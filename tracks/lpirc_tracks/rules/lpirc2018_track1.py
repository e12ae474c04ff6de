"""LPIRC 2018 track 1: top-1 accuracy of a phone that has 30 ms per image; ties go to the earlier submission.

The rule has two forms: acc = correct / T over all T images, and acc / max(30 T, runtime) with the runtime in ms. They
rank alike among runs over the same T images whose runtime is within the budget of 30 T: there the second form is the
first one divided by the same 30 T. Runs are stopped at the budget, so this holds for every run of the contest, except
for the one inference during which the budget ends. A longer run is not valid here: by the first form the images after
the budget are wrong, and which ones they are cannot be known afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Aim, Track, Verdict


def accuracy_by_time(
    accuracy: float, images: int, runtime_ms: float, budget_ms: float = 30.0
) -> float:
    """Return the second form: accuracy (0..1) / max(budget, runtime), in 1/ms; `budget_ms` is per image."""
    return accuracy / max(budget_ms * images, runtime_ms)


@dataclass(frozen=True, kw_only=True)
class PhoneTrack(Track):
    """The rule; `budget_ms` is the time for one image."""

    budget_ms: float = 30.0

    def budget_s(self, images: int) -> float:
        """Return the budget: `budget_ms` per image. Images beyond the budget count as wrong."""
        return images * self.budget_ms / 1000

    def measure(self, result: Measured) -> Verdict:
        """Judge a run by its accuracy in percent; the second form is an additional figure."""
        if late := self.over_budget(result):
            return self.refuse(result, late)
        accuracy = result.accuracy_percent / 100
        by_time = accuracy_by_time(
            accuracy, result.images, result.total_s * 1000, self.budget_ms
        )
        sentence = (
            f"{result.accuracy_percent:.3f} % of {result.images} images, {result.processed} of which were "
            f"processed in {result.total_s:.6g} s."
        )
        return self.verdict(
            result, result.accuracy_percent, sentence, accuracy_per_ms=by_time
        )

    def aim(self) -> Aim:
        """Return the budget of one image."""
        return Aim("budget", self.budget_ms)

    def problems(self) -> tuple[str, ...]:
        """Return a sentence about an invalid budget."""
        return (
            ()
            if self.budget_ms > 0
            else (f"budget_ms = {self.budget_ms:g} must be above 0.",)
        )


LPIRC2018_TRACK1 = PhoneTrack(
    name="lpirc2018-track1",
    title="LPIRC 2018 track 1",
    metric="top-1 accuracy within the budget, percent",
    task="classification",
    preprocessing="central-crop",
    accuracy="top-1",
    ties="earlier",
)
