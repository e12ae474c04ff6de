"""From an image to a model's input, and from a model's outputs to boxes in the image; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Arrays = Sequence[NDArray[Any]]
Pair = tuple[int, int]


class Found(NamedTuple):
    """Boxes (N, 4), scores (N,), the model's class numbers (N,)."""

    boxes: NDArray[Any]
    scores: NDArray[Any]
    classes: NDArray[Any]


def placement(image: Pair, size: Pair, resize: str) -> tuple[Pair, Pair]:
    """Return width and height of an image in an input, and its corner (left, top); sizes are (width, height)."""
    if resize == "stretch":
        return size, (0, 0)
    share = min(size[0] / image[0], size[1] / image[1])
    inner = max(1, round(image[0] * share)), max(1, round(image[1] * share))
    return inner, ((size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2)


def model_input(image: Image.Image, settings: dict[str, Any]) -> NDArray[np.float32]:
    """Return (pixel * scale - mean) / std in the layout and colours of `settings`; the margin has level 114."""
    height, width = settings["size"]
    inner, corner = placement(image.size, (width, height), settings["resize"])
    whole = Image.new("RGB", (width, height), (114, 114, 114))
    whole.paste(image.resize(inner, Image.Resampling.BILINEAR), corner)
    std = np.asarray(settings["std"], np.float32)
    values = (
        np.asarray(whole) * (np.float32(settings["scale"]) / std)
        - np.asarray(settings["mean"], np.float32) / std
    )
    values = values[..., ::-1] if settings["colour"] == "bgr" else values
    return np.ascontiguousarray(values.transpose(2, 0, 1) if settings["layout"] == "NCHW" else values)


def in_image(boxes: NDArray[Any], settings: dict[str, Any], image: Pair) -> NDArray[np.float64]:
    """Return a model's boxes (N, 4) as x1 y1 x2 y2 in an image of (width, height), in pixels."""
    height, width = settings["size"]
    first, second = boxes[:, :2].astype(np.float64), boxes[:, 2:].astype(np.float64)
    if settings["order"] == "xywh":
        first, second = first - second / 2, first + second / 2
    elif settings["order"] == "yxyx":
        first, second = first[:, ::-1], second[:, ::-1]
    inner, corner = placement(image, (width, height), settings["resize"])
    unit = (width, height) if settings["boxes"] == "fraction" else (1, 1)
    share = np.divide(image, inner)
    return np.concatenate([(side * unit - corner) * share for side in (first, second)], axis=1)


def recognized(names: Sequence[str], arrays: Arrays, size: Sequence[int], kind: str) -> str:
    """Return the head where names and shapes leave no doubt, else ""; `size` [height, width] of the input.

    YOLO's boxes are known from the size: 1 for each cell of 8, 16 and 32 pixels, in v5 3.
    """
    if len(arrays) == 1 and arrays[0].ndim == 3:
        _, rows, columns = arrays[0].shape
        cells = sum((size[0] // step) * (size[1] // step) for step in (8, 16, 32))
        if rows == 3 * cells and columns > 5:
            return "yolov5"
        if columns == cells and rows > 4:
            return "yolov8"
        return "yolov10" if columns == 6 and rows <= 1000 and rows != cells else ""
    parts = _parts(names, arrays)
    if not parts or kind == "litert":
        return "tflite-ssd" if parts else ""
    if "detection_boxes" in names[parts[0]]:
        return "tf-ssd"
    return "torchvision" if arrays[parts[0]].ndim == 2 and arrays[parts[1]].dtype.kind == "i" else ""


def decoded(head: str, names: Sequence[str], arrays: Arrays) -> Found:
    """Return the boxes as the model has them, each with its best class. Raises ValueError if that is not its head."""
    if head.startswith("yolo"):
        table = arrays[0].reshape(arrays[0].shape[-2:])
        table = table if head == "yolov8" else table.T  # (numbers of a box, boxes)
        if head == "yolov10":
            boxes, scores, classes = table[:4].T, table[4], table[5]
        else:
            each = table[4:] if head == "yolov8" else table[5:] * table[4]
            boxes, scores, classes = table[:4].T, each.max(axis=0), each.argmax(axis=0)
        return Found(boxes, scores, classes)
    boxes, classes, scores, *count = (arrays[part] for part in _parts(names, arrays))
    many = int(count[0].flat[0]) if count else scores.size
    return Found(boxes.reshape(-1, 4)[:many], scores.ravel()[:many], classes.ravel()[:many])


def kept(found: Found, iou: float, per_class: bool, most: int) -> NDArray[np.intp]:
    """Return the places of at most `most` boxes by falling score, without those that overlap a better one.

    The rule of torchvision.ops.nms: an IoU above `iou` suppresses, sides are x2 - x1; of equal scores the first wins.
    `per_class`: only boxes of the same class, as in batched_nms.
    """
    boxes, order = found.boxes, np.argsort(-found.scores, kind="stable")
    chosen: list[np.intp] = []
    areas = (boxes[:, 2:] - boxes[:, :2]).clip(0).prod(axis=1)
    while iou < 1 and len(order) and len(chosen) < most:
        best, order = order[0], order[1:]
        chosen.append(best)
        near, far = (
            np.maximum(boxes[best, :2], boxes[order, :2]),
            np.minimum(boxes[best, 2:], boxes[order, 2:]),
        )
        shared = (far - near).clip(0).prod(axis=1)
        overlaps = shared > iou * (areas[best] + areas[order] - shared)
        order = order[~overlaps | (per_class & (found.classes[order] != found.classes[best]))]
    return np.array(chosen, np.intp) if iou < 1 else order[:most]


def _parts(names: Sequence[str], arrays: Arrays) -> tuple[int, ...]:
    """Return the places of boxes, classes, scores and, if there is one, their count; () if that is not clear."""
    places = range(len(arrays))
    boxes = next((p for n in (3, 2) for p in places if arrays[p].ndim == n and arrays[p].shape[-1] == 4), -1)
    flat = [p for p in places if p != boxes >= 0 and arrays[p].shape == arrays[boxes].shape[:-1]]
    count = [p for p in places if p != boxes and p not in flat]
    if len(flat) != 2 or any(arrays[p].size != 1 for p in count):
        return ()
    named = [p for p in flat if re.search("class|label", names[p])] or [
        p for p in flat if arrays[p].dtype.kind == "i"
    ]
    if len(named) == 1:
        return (boxes, named[0], sum(flat) - named[0], *count)
    # TFLite's two exporters: boxes, classes, scores, count; and scores, boxes, count, classes.
    return {0: (0, 1, 2, 3), 1: (1, 3, 0, 2)}.get(boxes, ()) if len(arrays) == 4 else ()
