"""The vocabulary of the synthetic scenes: shapes, hues, fills, and the outline of each shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw

SHAPES = ("disc", "square", "triangle", "star", "cross", "ring", "diamond", "bar")
HUES = {
    "red": 0.0,
    "green": 120.0,
    "blue": 225.0,
    "yellow": 56.0,
    "magenta": 310.0,
    "cyan": 182.0,
    "orange": 28.0,
    "purple": 268.0,
}
FILLS = ("plain", "striped", "checked", "dotted")

SUPERSAMPLING = 4
HOLE = 0.55  # of a ring, relative to its radius

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Kind:
    """The look of an object: one shape, one hue and one fill, each by name."""

    shape: str
    hue: str
    fill: str

    @property
    def name(self) -> str:
        """The name of the category: "red-disc", or "striped-red-disc" if the fill is not plain."""
        if self.fill == "plain":
            return f"{self.hue}-{self.shape}"
        return f"{self.fill}-{self.hue}-{self.shape}"


def kinds() -> tuple[Kind, ...]:
    """Return all 256 kinds, in the order in which categories are taken.

    Any eight consecutive kinds have eight hues and eight shapes; the first 64 are plain.
    """
    hues = tuple(HUES)
    return tuple(
        Kind(shape=SHAPES[(hue + turn) % len(SHAPES)], hue=hues[hue], fill=fill)
        for fill in FILLS
        for turn in range(len(SHAPES))
        for hue in range(len(hues))
    )


def coverage(
    shape: str,
    radius: float,
    stretch: float,
    turn: float,
) -> NDArray[np.float32]:
    """Return how much of each pixel a shape covers, 0..1, in a square window of odd side around its centre.

    `radius` is in pixels. `stretch` widens the shape and flattens it by the same factor. `turn` is in radians.
    """
    outline = _outline(shape)
    reach = radius * max(math.hypot(x * stretch, y / stretch) for x, y in outline)
    side = 2 * math.ceil(reach) + 3
    canvas = Pillow.new("L", (side * SUPERSAMPLING, side * SUPERSAMPLING), 0)
    draw = ImageDraw.Draw(canvas)
    draw.polygon(
        _placed(
            outline,
            radius,
            stretch,
            turn,
            side,
        ),
        fill=255,
    )
    if shape == "ring":
        draw.polygon(
            _placed(
                _outline("disc"),
                radius * HOLE,
                stretch,
                turn,
                side,
            ),
            fill=0,
        )
    small = canvas.resize((side, side), Pillow.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / np.float32(255.0)


def _placed(
    points: Points,
    radius: float,
    stretch: float,
    turn: float,
    side: int,
) -> Points:
    cos = math.cos(turn)
    sin = math.sin(turn)
    centre = side / 2
    placed = []
    for x, y in points:
        wide = x * radius * stretch
        high = y * radius / stretch
        across = centre + wide * cos - high * sin
        down = centre + wide * sin + high * cos
        placed.append((across * SUPERSAMPLING, down * SUPERSAMPLING))
    return placed


def _outline(shape: str) -> Points:
    """Return the corners of a shape with radius 1 around the origin, with y pointing down."""
    if shape in ("disc", "ring"):
        return _regular(48)
    if shape == "triangle":
        return _regular(3)
    if shape == "star":
        return [
            (x * r, y * r)
            for (x, y), r in zip(_regular(10), (1.0, 0.42) * 5, strict=True)
        ]
    if shape == "cross":
        arm = 0.32
        quarter = [(arm, -1.0), (arm, -arm), (1.0, -arm)]
        half = quarter + [(-y, x) for x, y in quarter]
        return half + [(-x, -y) for x, y in half]
    if shape == "diamond":
        return [(0.0, -1.0), (0.62, 0.0), (0.0, 1.0), (-0.62, 0.0)]
    wide, high = (0.85, 0.85) if shape == "square" else (1.0, 0.34)
    return [(-wide, -high), (wide, -high), (wide, high), (-wide, high)]


def _regular(corners: int) -> Points:
    angles = [2 * math.pi * corner / corners for corner in range(corners)]
    return [(math.sin(angle), -math.cos(angle)) for angle in angles]
