"""Label maps as PNG for tests, and the confusion matrix counted pixel by pixel."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from lpirc_score.tasks.label_maps import LabelMap
from lpirc_testsets.task_truth import VOID

Pixels = np.ndarray[Any, np.dtype[Any]]


def png_of(
    pixels: Pixels,
    palette: bool = False,
) -> bytes:
    image = Image.fromarray(pixels)
    if palette:
        image = Image.frombytes(
            "P",
            image.size,
            pixels.astype(np.uint8).tobytes(),
        )
        image.putpalette([*range(256)] * 3)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def map_of(pixels: Pixels) -> LabelMap:
    height, width = pixels.shape
    return LabelMap(
        png_of(pixels),
        width,
        height,
    )


def truth_of(
    pixels: Pixels,
    categories: Sequence[int],
) -> Pixels:
    counts = np.isin(pixels, [*categories])
    return np.where(
        counts,
        pixels.astype(np.int32),
        np.int32(VOID),
    )


def random_maps(
    chance: np.random.Generator,
    categories: Sequence[int],
) -> list[tuple[Pixels, Pixels | None]]:
    """Images of some sizes: the truth with void pixels, and an answer or none."""
    found: list[tuple[Pixels, Pixels | None]] = []
    kind = np.uint16 if max(categories) > 255 else np.uint8
    some = chance.choice(
        [*categories],
        min(len(categories), 3),
        replace=False,
    )
    for _ in range(int(chance.integers(1, 5))):
        size = chance.integers(
            1,
            12,
            2,
        )
        true = chance.choice(np.append(some, VOID), size)
        wrong = chance.choice([0, *categories], size)
        predicted = np.where(
            chance.random(size) < chance.random(),
            true,
            wrong,
        )
        predicted = np.where(
            predicted == VOID,
            wrong,
            predicted,
        ).astype(kind)
        given = None if chance.random() < 0.1 else predicted
        found.append((true.astype(np.int32), given))
    return found


def slow_figures(
    images: Sequence[tuple[Pixels, Pixels | None]],
    categories: Sequence[int],
) -> tuple[float, float, float, dict[int, float | None]]:
    """Mean IoU, mean Dice, pixel accuracy and IoU by category, from a matrix counted pixel by pixel."""
    matrix: Counter[tuple[int, int]] = Counter()
    for true, given in images:
        for at, truth in np.ndenumerate(true):
            if truth != VOID:
                matrix[int(truth), -1 if given is None else int(given[at])] += 1
    iou: dict[int, float | None] = {}
    dice = []
    for id_ in categories:
        both = matrix[id_, id_]
        missed = sum(n for (t, p), n in matrix.items() if t == id_ != p)
        wrong = sum(n for (t, p), n in matrix.items() if p == id_ != t)
        every = both + missed + wrong
        iou[id_] = both / every if every else None
        if every:
            dice.append(2 * both / (2 * both + missed + wrong))
    known = [value for value in iou.values() if value is not None]
    pixels = sum(matrix.values())
    right = sum(n for (t, p), n in matrix.items() if t == p)
    return (
        math.fsum(known) / len(known) if known else 0.0,
        math.fsum(dice) / len(dice) if dice else 0.0,
        right / pixels if pixels else 0.0,
        iou,
    )
