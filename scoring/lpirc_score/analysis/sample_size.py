"""Computes how many test images are needed to tell two entries apart: the power of a paired comparison of their mAPs.

Two entries can be told apart if the 95 % interval of the difference of their mAPs on the same images excludes 0. If the
difference is normal and its standard deviation falls as 1/sqrt(images), a true gap g is found with probability `power`
by

    images = n ((z(0.975) + z(power)) s / g)^2

(Cohen 1988), where s is the standard deviation of the difference on n such images, estimated from halves of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from lpirc_score.analysis.halves import half_maps
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.ground_truth import GroundTruth

SURE = 0.95
LEAST_SD = 1e-9  # less is rounding


def difference_sd(truth: GroundTruth, entries: Sequence[Detections]) -> float:
    """Return the standard deviation of the difference of two mAPs over sets of as many images as `truth` has.

    Two entries are compared on the same halves. For one entry, the result is sqrt(2) times its own deviation, as for
    two such entries with independent errors. That is more than for real entries, which mostly fail on the same images.

    Raises CodedError as `half_maps` does, and `no-difference` if the choice of images changes nothing.
    """
    first, *second = (half_maps(truth, entry) for entry in entries)
    difference = first - second[0] if second else math.sqrt(2) * first
    of_pairs = difference[::2] - difference[1::2]
    mean_square = np.mean(of_pairs**2)
    sd = float(np.sqrt(mean_square)) / 2
    if sd < LEAST_SD:
        why = "an entry has no detections, all detections are correct, or both entries are the same"
        sentence = f"The mAP does not vary with the images: {why}. Use one real entry, or two different entries."
        raise CodedError("no-difference", sentence)
    return sd


def images_needed(
    sd: float,
    images: int,
    gap: float,
    power: float,
) -> int:
    """Return the number of images that finds a `gap` with probability `power`.

    `sd` is the standard deviation of the difference on `images`.
    """
    ratio = gap_found(sd, power) / gap
    return max(1, math.ceil(images * ratio**2))


def gap_found(sd: float, power: float) -> float:
    """Return the gap that a set of images finds with probability `power`.

    `sd` is the standard deviation of the difference on that set.
    """
    normal = NormalDist()
    z_sure = normal.inv_cdf((1 + SURE) / 2)
    z_power = normal.inv_cdf(power)
    return sd * (z_sure + z_power)
