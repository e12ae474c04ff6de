"""Makes a test set from a seed: synthetic photographs with exact boxes, masks, label maps or classes.

What a contestant may know: every object is one shape in one hue, sometimes with a fill, and the name of its
category says which: "red-disc", "blue-triangle", "striped-cyan-bar".

* shapes: disc, square, triangle, star, cross, ring, diamond (taller than wide), bar (about three times as
  wide as high); stretched by up to 15 %, turned by up to 0.2 rad, triangles and stars with one point up
* hues, in degrees of the HSV circle, give or take 8: red 0, orange 28, yellow 56, green 120, cyan 182, blue
  225, purple 268, magenta 310; saturation 0.65 to 1
* fills: a name without one means plain; striped, checked and dotted alternate between full and half brightness

Categories 1..K are the first K of `shapes.kinds()`; the first 64 are plain, 256 is the most. Scenes hold 1 to 6
objects, which may overlap and be cut by the image's edge, on textured backgrounds of subdued colour, among shapes of
subdued colour and up to two coloured objects that are not a category of the set. A colour cast, darker corners, noise
and JPEG compression follow.

Boxes are inclusive pixels, the first pixel is 0; they enclose the part of the object that is within the image, also if
another object hides it. What the other tasks have instead is in `synthetic_truth`.

Image i depends on the seed, i, the categories and the size, not on the number of images; the same versions of numpy and
Pillow make the same bytes. It takes about 7 ms per image of 320 x 240 on one core.
"""

from __future__ import annotations

import hashlib
import io

import numpy as np
from PIL import Image as Pillow

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import Name, path_of
from lpirc_testsets.folder import IMAGES, Category, Image, TestSet, load_test_set
from lpirc_testsets.scene import OBJECTS, Placed, paint
from lpirc_testsets.shapes import Kind, kinds
from lpirc_testsets.synthetic_truth import ONE_OBJECT, TASKS
from lpirc_testsets.writing import Record, new_folder, write_records

MAX_CATEGORIES = len(kinds())
SMALLEST_SIDE = 64
LARGEST_SIDE = 4096
JPEG_QUALITY = (70, 93)


def category_names(count: int) -> tuple[str, ...]:
    """Return the names of the synthetic categories 1..count. Raises TestSetError `synthetic-categories`."""
    if not 1 <= count <= MAX_CATEGORIES:
        raise TestSetError(
            "synthetic-categories",
            f"{count} categories: there can be 1 to {MAX_CATEGORIES}",
        )
    return tuple(kind.name for kind in kinds()[:count])


def synthesize(
    folder: Name,
    images: int,
    categories: int = 10,
    seed: int = 0,
    size: tuple[int, int] = (320, 240),
    task: str = "boxes",
) -> TestSet:
    """Write a synthetic test set of `images` JPEG files of `size` (width, height) to a new folder.

    `task` is `boxes`, `instances`, `segmentation` or `classification`; for label maps the categories are preceded by
    `background` with the id 0.

    Raises TestSetError: `synthetic-images`, `synthetic-categories`, `synthetic-seed`, `synthetic-size`,
    `synthetic-task`, and the errors of `writing.new_folder`.
    """
    names = category_names(categories)
    _check_arguments(images, seed, size)
    if task not in TASKS:
        known = ", ".join(TASKS)
        raise TestSetError(
            "synthetic-task", f"task {task!r}: it must be one of {known}"
        )
    form = TASKS[task]
    wanted = kinds()[:categories]
    made: list[Image] = []
    records: list[Record] = []
    out = path_of(folder)
    with new_folder(out) as partial:
        for number in range(1, images + 1):
            jpeg, standing = render(number, wanted, seed, size, form.objects)
            file = f"{number:06d}.jpg"
            (partial / IMAGES / file).write_bytes(jpeg)
            made.append(
                Image(
                    number,
                    file,
                    *size,
                    hashlib.sha256(jpeg).hexdigest(),
                    f"{seed}/{number}",
                )
            )
            records += form.records(number, wanted, standing, size)
        suffix = "" if task == "boxes" else f"-{task}"
        named = [Category(i, text) for i, text in enumerate(names, start=1)]
        write_records(
            partial,
            f"synthetic-{images}x{categories}-seed-{seed}{suffix}",
            made,
            [*form.first_categories, *named],
            records,
            form.info,
        )
    return load_test_set(folder)


def render(
    number: int,
    wanted: tuple[Kind, ...],
    seed: int,
    size: tuple[int, int],
    objects: tuple[int, int] = OBJECTS,
) -> tuple[bytes, list[Placed]]:
    """Return one image of a synthetic set: the JPEG as bytes, and all coloured shapes, later ones in front.

    An image of a class is painted until the one object that it needs has found a place.
    """
    rng = np.random.default_rng([seed, number])
    pixels, standing = paint(rng, wanted, size, objects)
    while objects == ONE_OBJECT and not any(one.kind in wanted for one in standing):
        pixels, standing = paint(rng, wanted, size, objects)
    out = io.BytesIO()
    quality = int(rng.integers(*JPEG_QUALITY))
    Pillow.fromarray(pixels.astype(np.uint8)).save(out, format="JPEG", quality=quality)
    return out.getvalue(), standing


def _check_arguments(
    images: int,
    seed: int,
    size: tuple[int, int],
) -> None:
    if images < 1:
        raise TestSetError(
            "synthetic-images", f"{images} images: there must be at least 1"
        )
    if seed < 0:
        raise TestSetError("synthetic-seed", f"seed {seed}: it must not be negative")
    if not all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in size):
        sides = f"{SMALLEST_SIDE} to {LARGEST_SIDE}"
        sentence = (
            f"{size[0]} x {size[1]} pixels: each side must be {sides} pixels long"
        )
        raise TestSetError("synthetic-size", sentence)
