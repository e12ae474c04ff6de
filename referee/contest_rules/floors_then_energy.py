"""The total score of the DAC System Design Contest 2022: the logarithm of the energy, less below two floors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from typing import ClassVar

from referee.contest_rules.rule import NO_TIME, ContestRule, Facts, Outcome, figure

J_PER_WH = 3600
LEAST_J = 1.0
"""At 1 J the logarithm is 0, and below it the score would be negative."""
BEST = 100.0
SLOPE = 5.0
LEAST_FACTOR = 0.1
PRINTED_DIGITS = 3
DIGITS = 50
"""Digits of the logarithm before it is rounded to a double."""
NO_IMAGE = "no image is answered, so nothing says what energy all its images take"
NO_COUNT = "the number of its answered images is not known"


@dataclass(frozen=True)
class FloorsThenEnergy(ContestRule):
    """100 / log2(energy in J), times a factor below 1 for an accuracy, and for a speed, below its floor.

    The formula is for the energy of all images. A run that answers a part of them is scored by its energy for each
    answered image times all images: the first image alone would have the best score.
    """

    least_accuracy: float | None = None
    least_images_per_s: float | None = None

    name: ClassVar[str] = "floors-then-energy"
    source: ClassVar[str] = (
        "DAC System Design Contest 2022, evaluation and results: byuccl.github.io/dac_sdc_2022"
    )
    figure: ClassVar[str] = (
        "100 / log2(energy in J), less below the floors of accuracy and speed"
    )
    unit: ClassVar[str] = "DAC-SDC"

    @property
    def sentence(self) -> str:
        """What the rule ranks by."""
        floor = figure(self.least_accuracy or 0.0)
        speed = figure(self.least_images_per_s or 0.0)
        cut = f"max(1 - 5 x ({floor} - accuracy), 0.1) if the accuracy is below {floor}"
        slow = f"answered images/s / {speed} if they are below {speed}"
        return (
            "The score is 100 / log2(energy in J for all images of the run), "
            f"times {cut}, times {slow}."
        )

    @property
    def needs_images(self) -> bool:
        """True: its speed is that of the answered images."""
        return True

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the wrong settings, and missing floors."""
        yield from super().problems()
        for one in fields(self):
            if getattr(self, one.name) is None:
                published = "the contest of 2022 had 0.7 and 30 images/s"
                yield "name", f'name = "{self.name}" needs {one.name}; {published}.'

    def accuracy_of_a_point(self, energy_wh: float) -> float | None:
        """Return how much the accuracy changes where the score of a run with this energy changes by 1, at least."""
        energy_j = energy_wh * J_PER_WH
        if not energy_j > LEAST_J:
            return None
        return math.log2(energy_j) / (BEST * SLOPE)

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        speed = facts.images_per_s
        if facts.images is None:
            return Outcome(None, NO_COUNT)
        if speed is None:
            return Outcome(None, NO_TIME)
        if not facts.images > 0:
            return Outcome(None, NO_IMAGE)
        energy_j = energy_wh * J_PER_WH
        if facts.images_of_run is not None and facts.images < facts.images_of_run:
            energy_j = energy_j * facts.images_of_run / facts.images
        error_j = (facts.energy_limit or 0.0) * energy_j
        if not energy_j - error_j > LEAST_J:
            return Outcome(None, _too_little(energy_j, error_j))
        of_energy = BEST / log2(energy_j)
        of_accuracy = self._of_accuracy(accuracy)
        of_speed = self._of_speed(speed)
        how = (
            f"This run: 100 / log2({figure(energy_j)} J) = {of_energy:.3f}, times {of_accuracy:.3f} for its accuracy, "
            f"times {of_speed:.3f} for {figure(speed)} images/s."
        )
        return Outcome(of_energy * of_accuracy * of_speed, how=how)

    def _of_accuracy(self, accuracy: float) -> float:
        missing = max((self.least_accuracy or 0.0) - accuracy, 0.0)
        return max(1 - SLOPE * missing, LEAST_FACTOR)

    def _of_speed(self, speed: float) -> float:
        least = self.least_images_per_s or 0.0
        return speed / least if speed < least else 1.0


def log2(value: float) -> float:
    """Return the binary logarithm of a number above 0, rounded once.

    `math.log2` differs in its last digit from one system's library to another's, and a verifier compares all of them.
    """
    with localcontext(prec=DIGITS):
        return float(Decimal(value).ln() / Decimal(2).ln())


def _too_little(energy_j: float, error_j: float) -> str:
    used = f"its images take {figure(energy_j)} J"
    if energy_j > LEAST_J:
        used += f", wrong by at most {figure(error_j)} J, so it may be 1 J or less"
    return f"{used}; 100 / log2(energy) is a score only above 1 J"
