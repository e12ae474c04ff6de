"""Simulated contests whose truth is known: rankings of detections, and the mAPs of halves of their images, at once.

The mAPs are those of `lpirc_score.analysis.halves` for `lpirc`, but for rounding (tests/bench compares them): here all
categories are taken together, and nothing has a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# The first two an image.
OBJECTS = 2.7
LURES = 12.0
NOISE = 0.15


@dataclass(frozen=True, eq=False)
class Seen:
    """A team's detections (M,) by category, highest confidence first, and which found an object."""

    category: Ints
    image: Ints
    is_true: Bools
    confidence: Floats


@dataclass(frozen=True, eq=False)
class Scene:
    """The objects (G,) of a set of images, 0 .. images - 1, and what each team saw."""

    images: int
    category: Ints
    image: Ints
    teams: list[Seen]


def scene(
    random: np.random.Generator,
    images: int,
    shares: Floats,
    skills: Floats,
) -> Scene:
    """Objects more or less easy to find, and lures, of categories as frequent as `shares` (K,) says.

    Teams see them alike, but for noise and skill.
    """
    objects = int(random.poisson(OBJECTS * images))
    total = objects + int(random.poisson(LURES * images))
    image = random.integers(0, images, total)
    category = random.choice(len(shares), total, p=shares)
    ease = random.random(total)
    is_object = np.arange(total) < objects
    teams = []
    for skill in skills:
        seems = (
            ease
            + np.where(is_object, skill - 1, -0.65)
            + random.normal(0, NOISE, total)
        )
        seen = np.flatnonzero(seems > 0)
        order = seen[np.lexsort((-seems[seen], category[seen]))]
        teams.append(
            Seen(category[order], image[order], is_object[order], seems[order])
        )
    return Scene(images, category[:objects], image[:objects], teams)


def maps_of(found: Scene, team: Seen, drawn: Bools) -> Floats:
    """The mAP (R,) of a team on each selection of images (images, R)."""
    order = np.argsort(found.category, kind="stable")
    categories, starts = np.unique(found.category[order], return_index=True)
    if len(categories) == 0:
        return np.zeros(drawn.shape[1])
    objects = np.add.reduceat(drawn[found.image[order]], starts, axis=0, dtype=np.int64)
    sums = np.zeros(objects.shape)
    true = np.flatnonzero(team.is_true)
    listed, hits = _counts(team, true, drawn)
    bounds = np.searchsorted(
        team.category[true], np.append(categories, categories[-1] + 1)
    )
    for place, (low, high) in enumerate(
        zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ):
        if low == high:
            continue
        found_here = np.cumsum(hits[low:high], axis=0, dtype=np.float64)
        precision = found_here / np.maximum(
            np.cumsum(listed[low:high], axis=0, dtype=np.float64), 1.0
        )
        envelope = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
        sums[place] = np.einsum("tr,tr->r", envelope, hits[low:high])
    has_objects = objects > 0
    average = (sums / np.maximum(objects, 1)).sum(axis=0)
    maps: Floats = average / np.maximum(has_objects.sum(axis=0), 1)
    return maps


def _counts(team: Seen, true: Ints, drawn: Bools) -> tuple[NDArray[np.uint16], Bools]:
    """By true detection (T, R): how many of its category are listed since the one before, and whether it is drawn."""
    if len(true) == 0:
        return np.zeros((0, drawn.shape[1]), np.uint16), np.zeros(
            (0, drawn.shape[1]), np.bool_
        )
    begins = np.searchsorted(team.category, team.category[true])
    since = np.maximum(begins, np.append(0, true[:-1] + 1))
    # Between them are those behind the last true one of a category: they count for nothing.
    edges = np.column_stack([since, true + 1]).ravel()[:-1]
    here = drawn[team.image[: true[-1] + 1]]
    return np.add.reduceat(here, edges, axis=0, dtype=np.uint16)[::2], here[true]
