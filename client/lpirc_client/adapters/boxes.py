"""Turns an image into a model's input, and a model's outputs into boxes in the image; pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ROLES = ("box", "class", "score", "num")


def placement(
    image: tuple[int, int],
    size: list[int],
    resize: str,
) -> tuple[Any, Any]:
    """Return an image's (width, height) in an input of `size` [height, width], and its top-left corner (left, top)."""
    if resize == "stretch":
        return (size[1], size[0]), (0, 0)
    height, width = size
    share = min(width / image[0], height / image[1])
    inner_width = max(1, round(image[0] * share))
    inner_height = max(1, round(image[1] * share))
    left = (width - inner_width) // 2
    top = (height - inner_height) // 2
    return (inner_width, inner_height), (left, top)


def model_input(image: Image.Image, settings: dict[str, Any]) -> NDArray[np.float32]:
    """Return (pixel * scale - mean) / std in the layout and colours of `settings`. Padding has level 114."""
    height, width = settings["size"]
    inner, corner = placement(image.size, settings["size"], settings["resize"])
    whole = Image.new("RGB", (width, height), (114, 114, 114))
    whole.paste(image.resize(inner, Image.Resampling.BILINEAR), corner)

    scale = np.asarray(settings["scale"], np.float32)
    mean = np.asarray(settings["mean"], np.float32)
    std = np.asarray(settings["std"], np.float32)
    values = np.asarray(whole) * (scale / std) - mean / std
    if settings["colour"] == "bgr":
        values = values[..., ::-1]
    if settings["layout"] == "NCHW":
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values)


def in_image(
    boxes: NDArray[Any],
    settings: dict[str, Any],
    image: tuple[int, int],
) -> NDArray[np.float64]:
    """Return a model's boxes (N, 4) as x1 y1 x2 y2 in an image of (width, height), in pixels."""
    sides = boxes.astype(np.float64)
    if settings["order"] == "yxyx":
        sides = sides[:, [1, 0, 3, 2]]
    if settings["order"] == "xywh":
        centres = sides[:, [0, 1, 0, 1]]
        lengths = sides[:, [2, 3, 2, 3]]
        sides = centres + lengths * [-0.5, -0.5, 0.5, 0.5]

    inner, corner = placement(image, settings["size"], settings["resize"])
    unit = 1
    if settings["boxes"] == "fraction":
        unit = settings["size"][::-1] * 2
    scale = np.divide(image * 2, inner * 2)
    moved: NDArray[np.float64] = (sides * unit - corner * 2) * scale
    return moved


def recognized(
    kind: str,
    names: list[str],
    arrays: list[NDArray[Any]],
    size: list[int],
) -> str:
    """Return the head that names and shapes identify, or "" if none fits. `size` gives the number of YOLO boxes."""
    if len(arrays) == 1 and arrays[0].ndim == 3:
        _, rows, columns = arrays[0].shape
        # In v5 each cell has three boxes.
        cells = sum((size[0] // step) * (size[1] // step) for step in (8, 16, 32))
        if columns == cells or rows == 3 * cells:
            return "yolov8" if columns == cells else "yolov5"
        return "yolov10" if columns == 6 and rows <= 1000 and rows != cells else ""
    roles = _roles(names, arrays)
    if kind == "litert" or not roles.keys() >= {*ROLES[:3]}:
        return "tflite-ssd" if len(roles) == len(ROLES) else ""
    if roles["box"].ndim == 2 and roles["class"].dtype.kind == "i":
        return "torchvision"
    return "tf-ssd" if "detection_boxes" in "".join(names) else ""


def decoded(
    head: str,
    names: list[str],
    arrays: list[NDArray[Any]],
) -> tuple[NDArray[Any], ...]:
    """Return the model's boxes (N, 4) in the model's own form, scores and classes (N,).

    Raises KeyError, ValueError, IndexError.
    """
    if not head.startswith("yolo"):
        roles = _roles(names, arrays)
        many = int(roles["num"].flat[0]) if "num" in roles else None
        parts = (
            roles["box"].reshape(-1, 4),
            roles["score"].ravel(),
            roles["class"].ravel(),
        )
        return tuple(part[:many] for part in parts)
    (table,) = arrays[0]
    table = table if head == "yolov8" else table.T  # (numbers of a box, boxes)
    if head == "yolov10":
        return table[:4].T, table[4], table[5]
    each = table[4:] if head == "yolov8" else table[5:] * table[4]
    return table[:4].T, each.max(axis=0), each.argmax(axis=0)


def kept(
    boxes: Any,
    scores: Any,
    classes: Any,
    settings: dict[str, Any],
) -> NDArray[np.intp]:
    """Return the indices of at most `max` boxes after non-maximum suppression, by falling score.

    As in torchvision.ops.nms, a box is suppressed by a better one with an IoU above `iou`; sides are x2 - x1, and of
    equal scores the first wins. With per-class suppression, only boxes of the same class suppress each other.
    """
    order = np.argsort(-scores, kind="stable")
    left, top, right, bottom = np.ascontiguousarray(boxes[order].T)
    areas = (right - left).clip(0) * (bottom - top).clip(0)
    classes = classes[order]
    alive = scores[order] >= 0
    for best in range(len(order) if settings["iou"] < 1 else 0):
        if alive[best]:
            if alive[:best].sum() == settings["max"]:
                break
            rest = slice(best + 1, None)
            near_x = np.maximum(left[rest], left[best])
            near_y = np.maximum(top[rest], top[best])
            width = np.minimum(right[rest], right[best]) - near_x
            height = np.minimum(bottom[rest], bottom[best]) - near_y
            shared = width.clip(0) * height.clip(0)
            union = areas[rest] + areas[best] - shared
            overlaps = shared > settings["iou"] * union
            is_other = settings["per_class"] & (classes[rest] != classes[best])
            alive[rest] &= ~overlaps | is_other
    places: NDArray[np.intp] = order[alive][: settings["max"]]
    return places


def _roles(names: list[str], arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return an SSD's outputs by role, identified by name or by the output order of one of TFLite's two exporters."""
    found = [name.replace("label", "class").replace("count", "num") for name in names]
    if not any("box" in name for name in found):
        ranks = "".join(str(array.ndim) for array in arrays)
        found = {
            "3221": ["box", "class", "score", "num"],
            "2312": ["score", "box", "num", "class"],
        }.get(ranks, [])
    # The shortest last: not raw_...
    places = sorted(range(len(found)), key=lambda place: -len(found[place]))
    return {
        key: arrays[place] for place in places for key in ROLES if key in found[place]
    }
