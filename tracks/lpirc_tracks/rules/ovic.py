"""OVIC (2020): accuracy above the frontier at the latency, for object detection and for image classification.

With A in percent and T in ms: M = A - a(T), a(t) = k log t + a0. A T below 0.8 of the target counts as 0.8 of the
target; a T above 1.2 of the target is not valid. The constants are the published ones with the natural log. For
classification no base makes them plausible, as every verdict warns: an organizer should fit other constants.

The additional columns are those of the contest's own board, with accuracies as fractions: the accuracy on the images
classified within the wall time, the number of those images, the accuracy divided by the wall time or the time of all
inferences, whichever is longer, and the reference accuracy, which is the frontier at the submission's latency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lpirc_tracks.frontier import HIGH_FACTOR, LOW_FACTOR, Frontier
from lpirc_tracks.measured import Measured
from lpirc_tracks.rules.lpirc2018_track1 import accuracy_by_time
from lpirc_tracks.track import Aim, Runtime, Track, Verdict

COLUMNS = (
    "accuracy_on_classified",
    "classified",
    "accuracy_per_ms",
    "reference_accuracy",
)


@dataclass(frozen=True, kw_only=True)
class OvicTrack(Track):
    """The rule of one task.

    `budget_ms` is the wall-time budget per image: 30 at the contest of classification (20,000 images in ten minutes).
    For detection, whose rules state no budget, it is None. The budget is then `high_factor` x `target_ms`, the longest
    valid time.
    """

    runtime: Runtime = "litert"
    k: float
    a0: float
    base: float = math.e
    target_ms: float
    low_factor: float = LOW_FACTOR
    high_factor: float = HIGH_FACTOR
    budget_ms: float | None = None

    @property
    def image_budget_ms(self) -> float:
        """The wall-time budget per image."""
        return (
            self.high_factor * self.target_ms
            if self.budget_ms is None
            else self.budget_ms
        )

    @property
    def frontier(self) -> Frontier:
        """The frontier with the present settings."""
        return Frontier(self.k, self.a0, self.base)

    def budget_s(self, images: int) -> float:
        """Return the budget: `image_budget_ms` per image. Images beyond the budget count as wrong."""
        return images * self.image_budget_ms / 1000

    def settings(self) -> dict[str, float]:
        """Return the settings by name, with the budget that applies."""
        return super().settings() | {"budget_ms": self.image_budget_ms}

    def measure(self, result: Measured) -> Verdict:
        """Judge a run by its accuracy above the frontier, in percent points."""
        most_ms = self.high_factor * self.target_ms
        if result.latency_ms > most_ms:
            target = f"{self.high_factor:g} times the target {self.target_ms:g} ms"
            return self.refuse(
                result, f"{_ms(result)} is above {most_ms:g} ms, {target}."
            )
        if late := self.over_budget(result):
            return self.refuse(result, late)
        counted_ms = max(result.latency_ms, self.low_factor * self.target_ms)
        expected = self.frontier.at(counted_ms)
        value = result.accuracy_percent - expected
        early = (
            ""
            if counted_ms == result.latency_ms
            else f"{_ms(result)} counts as {counted_ms:g} ms: "
        )
        accuracy = f"{result.accuracy_percent:.3f} %"
        sentence = f"{early}{accuracy} - a({counted_ms:.3f} ms) = {expected:.3f} % gives {value:+.3f}."
        figures = self._columns(result, expected) | {"frontier_percent": expected}
        return self.verdict(
            result, value, sentence, counted_latency_ms=counted_ms, **figures
        )

    def _columns(self, result: Measured, expected: float) -> dict[str, float]:
        """Return the figures of COLUMNS; the AP on the classified images is left out if it cannot be derived."""
        share = result.accuracy_percent / 100
        runtime_ms = result.total_s * 1000
        found = {
            "classified": result.processed,
            "accuracy_per_ms": accuracy_by_time(
                share, result.images, runtime_ms, self.image_budget_ms
            ),
            "reference_accuracy": expected / 100,
        }
        if result.processed == result.images or (
            self.accuracy == "top-1" and result.processed
        ):
            found["accuracy_on_classified"] = share * result.images / result.processed
        return found

    def warnings(self) -> tuple[str, ...]:
        """Return a warning if the frontier leaves 0..100 % at the target or at another valid latency."""
        target_ms = self.target_ms
        doubt = self.frontier.doubt(
            target_ms, self.low_factor * target_ms, self.high_factor * target_ms
        )
        return (doubt,) if doubt else ()

    def aim(self) -> Aim:
        """Return the target."""
        return Aim("target", self.target_ms)

    def accuracy_at(self, latency_ms: float) -> float | None:
        """Return the frontier that the value subtracts: constant below `low_factor`, undefined above `high_factor`."""
        if latency_ms > self.high_factor * self.target_ms:
            return None
        return self.frontier.at(max(latency_ms, self.low_factor * self.target_ms))

    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each setting that makes the rule invalid."""
        found = [
            f"{name} = {value:g} must be above 0."
            for name, value in (
                ("target_ms", self.target_ms),
                ("low_factor", self.low_factor),
                ("high_factor", self.high_factor),
                ("budget_ms", self.image_budget_ms),
            )
            if not value > 0
        ]
        if not self.base > 1:
            found.append(f'base = {self.base:g} must be above 1, or "e".')
        if self.low_factor > self.high_factor:
            most = f"high_factor = {self.high_factor:g}"
            found.append(f"low_factor = {self.low_factor:g} must not be above {most}.")
        if not self.low_factor * self.target_ms > 0:
            found.append(
                f"low_factor x target_ms = {self.low_factor:g} x {self.target_ms:g} is too small."
            )
        return tuple(found)


def _ms(result: Measured) -> str:
    return f"{result.latency_ms:.3f} ms"


DETECTION = OvicTrack(
    name="ovic-detection",
    title="OVIC object detection",
    metric="COCO AP above the frontier, percent points",
    task="detection",
    preprocessing="resize",
    accuracy="coco-ap",
    columns=COLUMNS,
    k=16.894553358968146,
    a0=-34.42191514521174,
    target_ms=30.0,
)
CLASSIFICATION = OvicTrack(
    name="ovic-classification",
    title="OVIC image classification",
    metric="top-1 accuracy above the frontier, percent points",
    task="classification",
    preprocessing="central-crop",
    accuracy="top-1",
    columns=COLUMNS,
    k=49.84607103726407,
    a0=-21.759878323711725,
    target_ms=10.0,
    budget_ms=30.0,
)
