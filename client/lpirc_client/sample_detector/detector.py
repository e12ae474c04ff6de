"""Finds the coloured shapes of the synthetic test set by their pixels alone.

It looks for saturated colours, sorts their pixels by hue, takes each connected region as an object and compares its
outline with drawings of the shapes. A category's name says what to look for: "red-disc", "striped-cyan-bar". It ignores
other names, so it finds nothing in real photographs.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Iterator, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from lpirc_client.sample_detector.outlines import (
    BOTTOM,
    LEFT,
    RIGHT,
    SHAPES,
    TOP,
    scores,
)
from lpirc_client.sample_detector.regions import Region, regions
from lpirc_client.wire import Category

HUES = {
    "red": 0,
    "orange": 28,
    "yellow": 56,
    "green": 120,
    "cyan": 182,
    "blue": 225,
    "purple": 268,
    "magenta": 310,
}
"""Degrees on the HSV circle."""

FAR_HUE = 26  # degrees from the nearest named hue: not that colour any more
SATURATED = 115  # of 255: between the subdued background and the objects
SMALLEST_PIXELS = 40
SMALLEST_SIDE = 6
WORST_FIT = 0.55

FILLS = ("plain", "striped", "checked", "dotted")
DARK = 0.72  # of the bright parts' brightness: between half and full
# Shares of dark pixels: below them plain, between them dotted, above them striped or checked.
FEW_DARK = 0.1
HALF_DARK = 0.39
STEPS = (2, 3, 4)  # pixels, along a diagonal stripe
STRIPED = 0.8

Found = Tuple[int, float, float, float, float, float]
Names = Tuple[Tuple[int, str], ...]


class Seen(NamedTuple):
    """A region that looks like a category; confidence: mean of its fit and its lead."""

    category: int
    confidence: float
    region: Region


def detect(jpeg: bytes, categories: Sequence[Category]) -> Iterator[Found]:
    """Yield (category id, confidence, xmin, ymin, xmax, ymax) of what it sees; inclusive pixels from 0."""
    _, seen = look(jpeg, categories)
    for category, confidence, region in seen:
        yield category, confidence, region.xmin, region.ymin, region.xmax, region.ymax


def look(
    jpeg: bytes,
    categories: Sequence[Category],
) -> tuple[tuple[int, int], list[Seen]]:
    """Return height and width of the image, and what is seen in it."""
    with Image.open(io.BytesIO(jpeg)) as opened:
        image = opened.convert("RGB")
    size = image.height, image.width
    wanted = _wanted(tuple((category.id, category.name) for category in categories))
    if not wanted:
        return size, []
    smooth = np.asarray(image.filter(ImageFilter.BoxBlur(1)).convert("HSV"))
    seen: list[Seen] = []
    for region in regions(_hue_classes(smooth), SMALLEST_PIXELS):
        if min(region.mask.shape) >= SMALLEST_SIDE:
            seen += _judged(region, smooth[..., 2], wanted)
    return size, seen


def _judged(
    region: Region,
    brightness: NDArray[np.uint8],
    wanted: dict[tuple[str, str, str], int],
) -> Iterator[Seen]:
    """Yield the region if it looks like a wanted category."""
    fits = scores(region.mask, _edges(region, brightness.shape))
    second, best = np.sort(fits)[-2:]
    shape = SHAPES[int(np.argmax(fits))]
    rows = slice(region.ymin, region.ymax + 1)
    columns = slice(region.xmin, region.xmax + 1)
    fill = _fill_of(brightness[rows, columns], region.mask)
    hue = list(HUES)[region.value - 1]
    category = wanted.get((fill, hue, shape))
    if category is not None and best >= WORST_FIT:
        confidence = float(best * (0.5 + 0.5 * (best - second) / best))
        yield Seen(category, confidence, region)


def _fill_of(brightness: NDArray[np.uint8], mask: NDArray[np.bool_]) -> str:
    """Return which of FILLS the object under `mask` has; both arrays (height, width)."""
    bright = np.percentile(brightness[mask], 85)
    dark = brightness < DARK * bright
    share = float(dark[mask].mean())
    if share < FEW_DARK:
        return "plain"
    if share < HALF_DARK:
        return "dotted"
    return "striped" if _agreement(dark, mask) > STRIPED else "checked"


def _agreement(dark: NDArray[np.bool_], mask: NDArray[np.bool_]) -> float:
    """Return how often a pixel is as dark as the pixels some steps above it and to its right."""
    same = 0
    all_pairs = 1
    for step in STEPS:
        both = mask[step:, :-step] & mask[:-step, step:]
        is_same = dark[step:, :-step] == dark[:-step, step:]
        same += int(np.count_nonzero(both & is_same))
        all_pairs += int(np.count_nonzero(both))
    return same / all_pairs


def _edges(region: Region, size: tuple[int, ...]) -> int:
    """Return the edges of the image that the region touches, as a sum of LEFT, TOP, RIGHT and BOTTOM."""
    height, width = size
    edges = 0
    if region.xmin <= 1:
        edges += LEFT
    if region.ymin <= 1:
        edges += TOP
    if region.xmax >= width - 2:
        edges += RIGHT
    if region.ymax >= height - 2:
        edges += BOTTOM
    return edges


def _hue_classes(hsv: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return for each pixel 1 + the index of its hue in HUES, or 0 if it is grey or has another hue."""
    classes = _class_of_hue()[hsv[..., 0]]
    classes[hsv[..., 1] < SATURATED] = 0
    return classes


@lru_cache(maxsize=None)
def _class_of_hue() -> NDArray[np.uint8]:
    """Return the class for each of Pillow's 256 hues."""
    degrees = np.arange(256) * (360 / 256)
    away = np.abs(degrees[:, None] - np.array(list(HUES.values())))
    away = np.minimum(away, 360 - away)
    is_near = away.min(axis=1) <= FAR_HUE
    nearest = away.argmin(axis=1) + 1
    return np.where(is_near, nearest, 0).astype(np.uint8)


@lru_cache(maxsize=None)
def _wanted(names: Names) -> dict[tuple[str, str, str], int]:
    """Return the id for (fill, hue, shape) of each category whose name has that form."""
    wanted = {}
    for number, name in names:
        words = name.split("-")
        if len(words) == 2:
            words.insert(0, "plain")
        if len(words) != 3:
            continue
        fill, hue, shape = words
        if fill in FILLS and hue in HUES and shape in SHAPES:
            wanted[fill, hue, shape] = number
    return wanted
