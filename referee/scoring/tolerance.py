"""What a metric takes of a submission although it looks wrong: that of the program whose numbers it repeats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """By kind, whether a reader of detections takes it, with a warning, or refuses it.

    `new_categories` and `new_images` are those that detections name and the ground truth does not; they mean
    something only where the ground truth cannot declare its categories and images.
    """

    inverted_boxes: bool = False
    new_categories: bool = False
    new_images: bool = False


STRICT = Tolerance()
