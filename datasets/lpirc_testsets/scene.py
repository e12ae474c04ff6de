"""Paints one synthetic photograph with exact boxes."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from lpirc_testsets.shapes import FILLS, HUES, SHAPES, Kind, coverage, kinds

Pixels = NDArray[np.float32]  # (height, width, 3), 0..255
Box = tuple[int, int, int, int]  # xmin, ymin, xmax, ymax, inclusive, first pixel 0

OBJECTS = (1, 6)
RADIUS = (0.06, 0.23)  # relative to the shorter side of the image
SMALLEST_SIDE = 6  # pixels of a box, after clipping at the image's edge
COVERED = 0.4  # how much of the smaller of two boxes may lie in the other
TRIES = 25


@dataclass(frozen=True)
class Placed:
    """A shape placed in the image: the coverage of each pixel of its box, which is within the image."""

    kind: Kind
    box: Box
    alpha: NDArray[np.float32]
    radius: float


def paint(
    rng: np.random.Generator,
    wanted: Sequence[Kind],
    size: tuple[int, int],
    objects: tuple[int, int] = OBJECTS,
) -> tuple[Pixels, list[Placed]]:
    """Paint a scene of `size` (width, height), and return its coloured shapes, later ones in front.

    `objects` is the least and the greatest number of the `wanted` kinds; others are no objects. A box encloses the
    pixels of which its shape covers half or more, as if nothing were in front of it.
    """
    pixels = _background(rng, size)
    for _ in range(int(rng.integers(2, 6))):
        dull = _place(
            rng, Kind(str(rng.choice(SHAPES)), "red", str(rng.choice(FILLS))), size
        )
        if dull is not None:
            _draw(rng, pixels, dull, saturation=(0.0, 0.3))
    impostors = _impostors(rng, wanted)
    chosen = [
        wanted[i]
        for i in rng.integers(
            0, len(wanted), int(rng.integers(objects[0], objects[1] + 1))
        )
    ]
    standing: list[Placed] = []
    for kind in chosen + impostors:
        placed = _place_free(rng, kind, size, standing)
        if placed is not None:
            standing.append(placed)
    for placed in standing:
        _draw(rng, pixels, placed, saturation=(0.65, 1.0))
    _expose(rng, pixels)
    return pixels, standing


def _impostors(rng: np.random.Generator, wanted: Sequence[Kind]) -> list[Kind]:
    """Choose up to two coloured objects that are in no category, with fills that do occur."""
    fills = {kind.fill for kind in wanted}
    others = [kind for kind in kinds() if kind.fill in fills and kind not in wanted]
    count = int(rng.integers(0, 3))
    if others:
        return [others[i] for i in rng.integers(0, len(others), count)]
    return []


def _place_free(
    rng: np.random.Generator,
    kind: Kind,
    size: tuple[int, int],
    standing: Sequence[Placed],
) -> Placed | None:
    """Find a position that does not hide another object too much, or return None after a few attempts."""
    for _ in range(TRIES):
        placed = _place(rng, kind, size)
        if placed is not None and all(
            _covered(placed.box, other.box) <= COVERED for other in standing
        ):
            return placed
    return None


def _place(
    rng: np.random.Generator,
    kind: Kind,
    size: tuple[int, int],
) -> Placed | None:
    """Choose a position with the centre at least half a radius inside the image; None if too little is visible."""
    low, high = (math.log(relative * min(size)) for relative in RADIUS)
    radius = max(math.exp(rng.uniform(low, high)), 5.0)
    alpha = coverage(
        kind.shape, radius, rng.uniform(0.87, 1.15), rng.uniform(-0.2, 0.2)
    )
    margin = 0.5 * radius
    centre = [round(rng.uniform(margin, side - 1 - margin)) for side in size]
    left, top = (middle - alpha.shape[0] // 2 for middle in centre)
    seen = np.zeros_like(alpha)
    inside = (slice(max(0, -top), size[1] - top), slice(max(0, -left), size[0] - left))
    seen[inside] = alpha[inside]
    rows = np.flatnonzero((seen >= 0.5).any(axis=1))
    columns = np.flatnonzero((seen >= 0.5).any(axis=0))
    if min(len(rows), len(columns)) < SMALLEST_SIDE:
        return None
    ymin = int(rows[0])
    ymax = int(rows[-1])
    xmin = int(columns[0])
    xmax = int(columns[-1])
    box = (left + xmin, top + ymin, left + xmax, top + ymax)
    return Placed(kind, box, alpha[ymin : ymax + 1, xmin : xmax + 1], radius)


def _covered(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    return max(width, 0) * max(height, 0) / min(_area(one), _area(other))


def _area(box: Box) -> int:
    return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)


def _background(rng: np.random.Generator, size: tuple[int, int]) -> Pixels:
    """Return smooth noise of several octaves over a gradient, in subdued colours."""
    base = rng.uniform(70, 190, 3)
    base = base.mean() + 0.3 * (base - base.mean())
    angle = rng.uniform(0, 2 * math.pi)
    slope = rng.uniform(0, 35)
    across = np.linspace(-1, 1, size[0], dtype=np.float32) * np.float32(
        slope * math.cos(angle)
    )
    down = np.linspace(-1, 1, size[1], dtype=np.float32) * np.float32(
        slope * math.sin(angle)
    )
    light = across[None, :] + down[:, None]
    for cells, amplitude in ((3, 24.0), (8, 14.0), (24, 9.0), (70, 6.0)):
        light += _smooth_noise(rng, size, cells) * np.float32(amplitude)
    tint: Pixels = np.stack(
        [_smooth_noise(rng, size, 4) for _ in range(3)], axis=2
    ) * np.float32(6.0)
    tint += light[:, :, None]
    tint += base.astype(np.float32)
    return tint


def _smooth_noise(
    rng: np.random.Generator,
    size: tuple[int, int],
    cells: int,
) -> NDArray[np.float32]:
    rows = max(2, round(cells * size[1] / size[0]))
    grid = rng.standard_normal((rows, cells), dtype=np.float32)
    return np.asarray(
        Pillow.fromarray(grid).resize(size, Pillow.Resampling.BICUBIC), dtype=np.float32
    )


def _draw(
    rng: np.random.Generator,
    pixels: Pixels,
    placed: Placed,
    saturation: tuple[float, float],
) -> None:
    hue = (
        (HUES[placed.kind.hue] + rng.uniform(-8, 8)) % 360
        if saturation[1] == 1.0
        else rng.uniform(0, 360)
    )
    colour = colorsys.hsv_to_rgb(
        hue / 360, rng.uniform(*saturation), rng.uniform(0.6, 1.0)
    )
    xmin, ymin, xmax, ymax = placed.box
    y, x = np.mgrid[0 : ymax - ymin + 1, 0 : xmax - xmin + 1].astype(np.float32)
    towards = rng.uniform(0, 2 * math.pi)
    along = (x * math.cos(towards) + y * math.sin(towards)) / placed.radius
    shade = 0.82 + 0.16 * (along - along.mean())
    shade = np.clip(shade, 0.5, 1.1) * _pattern(placed.kind.fill, x, y, placed.radius)
    painted = np.asarray(colour, dtype=np.float32) * 255 * shade[:, :, None]
    region = pixels[ymin : ymax + 1, xmin : xmax + 1]
    region += placed.alpha[:, :, None] * (painted - region)


def _pattern(
    fill: str,
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    radius: float,
) -> NDArray[np.float32] | np.float32:
    """Return the brightness of a fill: 1, or half within its stripes, fields or dots."""
    period = max(radius * 0.5, 6.0)
    dark: NDArray[np.bool_]
    if fill == "striped":
        dark = ((x + y) % period) < period / 2
    elif fill == "checked":
        dark = ((x % period) < period / 2) ^ ((y % period) < period / 2)
    elif fill == "dotted":
        dark = (x % period - period / 2) ** 2 + (y % period - period / 2) ** 2 < (
            0.3 * period
        ) ** 2
    else:
        return np.float32(1.0)
    return np.where(dark, np.float32(0.5), np.float32(1.0))


def _expose(rng: np.random.Generator, pixels: Pixels) -> None:
    """Add a colour cast, darker corners and sensor noise, in place; clip to 0..255."""
    height, width = pixels.shape[:2]
    across = np.linspace(-1, 1, width, dtype=np.float32)
    down = np.linspace(-1, 1, height, dtype=np.float32)
    corners = 1 - np.float32(rng.uniform(0, 0.2)) * (
        across[None, :] ** 2 + down[:, None] ** 2
    )
    cast = rng.uniform(0.75, 1.1) * rng.uniform(0.92, 1.08, 3)
    pixels *= corners[:, :, None] * cast.astype(np.float32)
    pixels += rng.standard_normal(pixels.shape, dtype=np.float32) * np.float32(
        rng.uniform(3, 10)
    )
    np.clip(pixels, 0, 255, out=pixels)
