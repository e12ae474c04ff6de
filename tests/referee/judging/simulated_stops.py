"""Simulated runs for stop regret: their mAP over time is known on average, so that the best time to log out is, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Detections
from lpirc_score.analysis.image_orders import maps_in_other_orders
from lpirc_score.metrics.offered import rule_named
from lpirc_score.metrics.one_threshold import maps_over_time
from lpirc_testsets import GroundTruth
from referee.judging.stop_band import StopBand, stop_band

Floats = NDArray[np.float64]
IMAGES = 120
A_POST = 10
MOMENTS = IMAGES // A_POST
CATEGORIES = 3
SIDE = 40.0
RULE = rule_named("lpirc")


@dataclass(frozen=True, eq=False)
class Answered:
    """A run that answered its images in order: the truth, the rows, and the moment (M,) of each row."""

    truth: GroundTruth
    found: Detections
    since: NDArray[np.int64]

    def maps(self) -> Floats:
        return maps_over_time(
            self.truth,
            self.found,
            self.since,
            MOMENTS,
            RULE,
        )

    def band(self, energy_wh: Floats) -> StopBand:
        """The band, with energies that are exact."""
        answered = np.arange(IMAGES) // A_POST
        in_orders = maps_in_other_orders(
            self.truth, self.found, answered, MOMENTS, RULE
        )
        exact = np.zeros(MOMENTS)
        known = np.ones(MOMENTS, np.bool_)
        elapsed_s = np.arange(1.0, MOMENTS + 1)
        return stop_band(
            elapsed_s,
            self.maps(),
            in_orders,
            energy_wh,
            exact,
            known,
        )


def answered(seed: int) -> Answered:
    """Images with up to five objects each, of which six in ten are found, and as many false detections."""
    chance = np.random.default_rng(seed)
    objects = chance.integers(0, 6, IMAGES)
    image = np.repeat(np.arange(1, IMAGES + 1), objects)
    category = chance.integers(1, CATEGORIES + 1, len(image))
    place = np.concatenate([np.arange(count) for count in objects])
    boxes = boxes_at(place, 0.0)
    is_found = chance.random(len(image)) < 0.6
    right = [image[is_found], category[is_found], boxes[is_found]]
    false = chance.integers(1, IMAGES + 1, int(is_found.sum()))
    wrong = [
        false,
        chance.integers(1, CATEGORIES + 1, len(false)),
        boxes_at(chance.integers(0, 6, len(false)), 500.0),
    ]
    confidence = np.concatenate(
        [chance.beta(4, 2, len(right[0])), chance.beta(2, 3, len(false))]
    )
    rows = [np.concatenate(pair) for pair in zip(right, wrong, strict=True)]
    by_image = np.argsort(rows[0], kind="stable")
    found = Detections(
        *(one[by_image] for one in (rows[0], rows[1], confidence, rows[2]))
    )
    none = np.zeros(len(image), np.bool_)
    truth = GroundTruth(
        np.arange(1, IMAGES + 1),
        ("",) * IMAGES,
        np.arange(1, CATEGORIES + 1),
        ("a", "b", "c"),
        image,
        category,
        boxes,
        none,
        none,
        np.full(len(image), SIDE**2),
        boxes,
    )
    return Answered(truth, found, (found.image - 1) // A_POST)


def boxes_at(place: NDArray[np.int64], top: float) -> Floats:
    left = place * (SIDE + 10)
    above = np.full(len(place), top)
    return np.column_stack(
        [
            left,
            above,
            left + SIDE,
            above + SIDE,
        ]
    ).astype(float)
