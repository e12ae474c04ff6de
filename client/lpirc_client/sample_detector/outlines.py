"""Finds the shape of a mask: compares it in a small square with drawings of the shapes, turned and cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import List, Tuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

SHAPES = ("disc", "square", "triangle", "star", "cross", "ring", "diamond", "bar")
SIDE = 24  # of the square that masks are compared in
CANVAS = 240
TURNS = (-0.2, -0.1, 0.0, 0.1, 0.2)  # radians
CUTS = (0.12, 0.25)  # of a shape's width or height, lost beyond the image's edge
LEFT = 1
TOP = 2
RIGHT = 4
BOTTOM = 8
ASPECT_SPREAD = 0.3  # of the logarithm of width / height: shapes come stretched

Corners = List[Tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Drawings:
    """T drawings: `pixels` (T, SIDE²) 0..1, `shape` (T,) index in SHAPES, `aspect` (T,) log(width / height).

    `cut` (T,) is 0 or the edge of the image, LEFT .. BOTTOM, beyond which a part is lost.
    """

    pixels: NDArray[np.float32]
    shape: NDArray[np.int64]
    aspect: NDArray[np.float32]
    cut: NDArray[np.int64]


def scores(mask: NDArray[np.bool_], edges: int) -> NDArray[np.float64]:
    """Return how well each of SHAPES fits the mask (height, width) of its own box, 0..1.

    `edges` is the sum of the image's edges, LEFT .. BOTTOM, that the box touches.
    """
    known = drawings()
    pixels = _small(mask.astype(np.uint8) * 255)
    overlap = known.pixels @ pixels
    iou = overlap / (known.pixels.sum(axis=1) + pixels.sum() - overlap)
    off = (known.aspect - math.log(mask.shape[1] / mask.shape[0])) / ASPECT_SPREAD
    fit = iou * np.exp(-0.5 * off**2)
    fit[(known.cut & edges) != known.cut] = 0
    best = np.zeros(len(SHAPES))
    np.maximum.at(best, known.shape, fit)
    return best


@lru_cache(maxsize=None)
def drawings() -> Drawings:
    """Return all drawings; made once."""
    made = [
        (shape, cut, mask)
        for shape, name in enumerate(SHAPES)
        for turn in TURNS
        for cut, mask in _cut_off(_drawn(name, turn))
    ]
    pixels = np.stack([_small(mask) for _, _, mask in made])
    aspect = np.array(
        [math.log(mask.shape[1] / mask.shape[0]) for _, _, mask in made],
        dtype=np.float32,
    )
    return Drawings(
        pixels, np.array([m[0] for m in made]), aspect, np.array([m[1] for m in made])
    )


def _small(mask: NDArray[np.uint8]) -> NDArray[np.float32]:
    small = Image.fromarray(mask).resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32).ravel() / np.float32(255)


def _cut_off(mask: NDArray[np.uint8]) -> list[tuple[int, NDArray[np.uint8]]]:
    """Return (edge, mask) for the whole mask and for its rest at each edge, trimmed to its box."""
    height, width = mask.shape
    parts = [(0, mask)]
    for cut in CUTS:
        x = round(cut * width)
        y = round(cut * height)
        parts += [
            (LEFT, _trimmed(mask[:, x:])),
            (RIGHT, _trimmed(mask[:, : width - x])),
            (TOP, _trimmed(mask[y:])),
            (BOTTOM, _trimmed(mask[: height - y])),
        ]
    return parts


def _trimmed(mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    return mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _drawn(name: str, turn: float) -> NDArray[np.uint8]:
    canvas = Image.new("L", (CANVAS, CANVAS), 0)
    draw = ImageDraw.Draw(canvas)
    draw.polygon(_placed(_corners(name), turn, 1.0), fill=255)
    if name == "ring":
        draw.polygon(_placed(_corners("disc"), turn, 0.55), fill=0)
    return _trimmed(np.asarray(canvas))


def _placed(
    corners: Corners,
    turn: float,
    scale: float,
) -> Corners:
    cos = math.cos(turn)
    sin = math.sin(turn)
    middle = CANVAS / 2
    size = scale * middle * 0.7
    return [
        (middle + size * (x * cos - y * sin), middle + size * (x * sin + y * cos))
        for x, y in corners
    ]


def _corners(name: str) -> Corners:
    """Return a shape's outline around the origin, y downwards."""
    if name == "triangle":
        return _polygon((1.0,) * 3)
    if name == "star":
        return _polygon((1.0, 0.4) * 5)
    if name == "diamond":
        return [(0.0, -1.0), (0.6, 0.0), (0.0, 1.0), (-0.6, 0.0)]
    if name == "cross":
        arm = [(1 / 3, -1.0), (1 / 3, -1 / 3), (1.0, -1 / 3)]
        return (
            arm
            + [(-y, x) for x, y in arm]
            + [(-x, -y) for x, y in arm]
            + [(y, -x) for x, y in arm]
        )
    if name in ("square", "bar"):
        high = 1.0 if name == "square" else 1 / 3
        return [(-1.0, -high), (1.0, -high), (1.0, high), (-1.0, high)]
    return _polygon((1.0,) * 48)


def _polygon(radii: tuple[float, ...]) -> Corners:
    angles = [2 * math.pi * corner / len(radii) for corner in range(len(radii))]
    return [
        (r * math.sin(angle), -r * math.cos(angle)) for r, angle in zip(radii, angles)
    ]
