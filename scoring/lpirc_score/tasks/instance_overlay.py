"""Shows one instance beside the objects of its image: what it covers of the object that it overlaps most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpirc_score.tasks.instance_masks import (
    Instance,
    Mask,
    Pixels,
    TrueInstance,
    mask_program,
)
from lpirc_score.tasks.label_overlay import HIT, LOST, NOTHING, OFF, overlay_png
from lpirc_score.tasks.task_kinds import Shown


def shown_instance(objects: Sequence[TrueInstance], given: Instance | None) -> Shown:
    """Return the overlap with the best object of the same category as a sentence, and its pixels as PNG."""
    if given is None:
        return Shown(f"No instance came; the image has {_objects(len(objects))}.")
    mask = given.mask
    begin = f"Category {given.category} with confidence {given.score:.2f}, {_area(mask):,} pixels"
    own = [one for one in objects if one.category == given.category]
    if not own:
        sentence = f"{begin}: the image has no object of this category."
        return Shown(sentence, _png(mask.pixels(), np.zeros_like(mask.pixels())))
    overlaps = mask_program().iou(
        [mask.coco],
        [one.mask.coco for one in own],
        [one.is_crowd for one in own],
    )[0]
    best = own[int(overlaps.argmax())]
    what = "crowd" if best.is_crowd else "object"
    sentence = (
        f"{begin}: it overlaps the best {what} of its category by {overlaps.max():.1%} "
        f"(orange: only the answer, blue: only the {what})."
    )
    return Shown(sentence, _png(mask.pixels(), best.mask.pixels()))


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count} objects"


def _area(mask: Mask) -> int:
    return int(mask_program().area([mask.coco])[0])


def _png(given: Pixels, true: Pixels) -> bytes:
    kinds = np.full(given.shape, NOTHING, np.uint8)
    kinds[given & true] = HIT
    kinds[given & ~true] = OFF
    kinds[true & ~given] = LOST
    return overlay_png(kinds)
