"""What intervals, bias and the orders of the board are worth, in simulated contests whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import figures
from lpirc_testsets import GroundTruth
from referee.judging.leaderboard import SURE
from referee.judging.uncertainty import LEVEL
from referee.scoring import Detections, evaluate
from referee.scoring.bootstrap import bootstrap_samples, centred
from referee.scoring.interval import Resampled, chance_of_order, middle

SIZES = ((100, 20, 0.06), (1000, 20, 0.02), (300, 200, 0.04))  # images, categories, lead of the better team
CONTESTS, RESAMPLES, UNLIMITED_IMAGES = 200, 300, 40_000
OBJECTS, LURES, SKILL, NOISE = 2.7, 12.0, 0.6, 0.15  # the first two an image


def measure() -> list[dict[str, Any]]:
    """One row a size; percentages are those of CONTESTS."""
    figures.show("coverage", rows := [_size(*size) for size in SIZES])
    return rows


def _size(images: int, categories: int, lead: float) -> dict[str, Any]:
    """Contests of three teams: the first leads the second, and is as good as the third."""
    random = np.random.default_rng([images, categories])
    truth, teams = _contest(random, UNLIMITED_IMAGES, categories, SKILL)
    unlimited = evaluate(truth, teams[0]).map
    found = []
    for _ in range(CONTESTS):
        truth, teams = _contest(random, images, categories, SKILL, SKILL - lead, SKILL)
        values = [evaluate(truth, each).map for each in teams]
        samples = [bootstrap_samples(truth, each, resamples=RESAMPLES) for each in teams]
        moved = [centred(one, value) for one, value in zip(samples, values, strict=True)]
        first, second, third = (Resampled(each, 1.0, 0.0, images=1) for each in moved)
        (low, high), (low_2, high_2) = (middle(each, LEVEL) for each in moved[:2])
        equals = chance_of_order(first, third)
        decided = chance_of_order(first, second) >= SURE, max(equals, 1 - equals) >= SURE
        won, overlap = values[0] > values[1], low <= high_2 and low_2 <= high
        found.append((values[0], low, high, samples[0].mean() - values[0], won, overlap, *decided))
    value, low, high, bias, won, overlap, order_decided, equals_decided = np.array(found).T
    mean, another = value.mean(), np.roll(value, 1)
    shares = {
        "interval holds the mean": (low <= mean) & (mean <= high),
        "not moved": (low + bias <= mean) & (mean <= high + bias),
        "holds another set's mAP": (low <= another) & (another <= high),
        "better team ahead": won,
        "undecided: overlap": overlap,
        "undecided: pairs": 1 - order_decided,
        "equals decided": equals_decided,
    }
    return {
        "images x categories": f"{images} x {categories}",
        "mAP, unlimited": float(unlimited),
        "bias": float(mean - unlimited),
        "bias, estimated": float(bias.mean()),
    } | {name: f"{share.mean():.1%}" for name, share in shares.items()}


def _contest(
    random: np.random.Generator, images: int, categories: int, *skills: float
) -> tuple[GroundTruth, list[Detections]]:
    """Objects more or less easy to find, and lures; teams see them alike, but for noise and skill."""
    objects, total = random.poisson(OBJECTS * images), random.poisson((OBJECTS + LURES) * images)
    image, category = (random.integers(1, most + 1, total) for most in (images, categories))
    ease, left = random.random(total), 100.0 * np.arange(total)
    boxes = np.column_stack([left, 0 * left, left + 49, 0 * left + 49])  # none meets another
    no, own = np.zeros(objects, np.bool_), boxes[:objects]
    ids = [(np.arange(1, most + 1), ("",) * most) for most in (images, categories)]
    truth = GroundTruth(*ids[0], *ids[1], image[:objects], category[:objects], own, no, no, own[:, 0], own)
    teams = []
    for skill in skills:
        seems = ease + np.where(np.arange(total) < objects, skill - 1, -0.65) + random.normal(0, NOISE, total)
        seen = np.flatnonzero(seems > 0)
        teams.append(Detections(image[seen], category[seen], seems[seen], boxes[seen]))
    return truth, teams
