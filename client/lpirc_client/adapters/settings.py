"""What the file beside a model may state, and the defaults (docs/detectors.md)."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from lpirc_client.errors import ModelError
from lpirc_client.files import read_regular

_YOLO = {"order": "xywh", "boxes": "pixels", "resize": "letterbox", "iou": 0.7, "first_class": 0}
_SSD = {"order": "xyxy", "boxes": "fraction", "resize": "stretch", "iou": 1.0, "first_class": 1}
HEADS: dict[str, dict[str, Any]] = {
    "yolov5": _YOLO,
    "yolov8": _YOLO,
    "yolov10": {**_YOLO, "order": "xyxy", "iou": 1.0},
    "tflite-ssd": {**_SSD, "order": "yxyx", "first_class": 0, "mean": 0.5, "std": 0.5},
    "tf-ssd": {**_SSD, "order": "yxyx"},
    "ssd": _SSD,
    "torchvision": {**_SSD, "boxes": "pixels"},
}
"""Each head's own defaults; an iou of 1 suppresses nothing: the model has done it."""
DEFAULTS = {
    "colour": "rgb",
    "scale": 1 / 255,
    "mean": 0.0,
    "std": 1.0,
    "score": 0.001,
    "per_class": True,
    "max": 300,
}
VALUES: dict[str, tuple[Any, ...]] = {
    "head": tuple(HEADS),
    "layout": ("NCHW", "NHWC"),
    "resize": ("letterbox", "stretch"),
    "colour": ("rgb", "bgr"),
    "boxes": ("pixels", "fraction"),
    "order": ("xyxy", "yxyx", "xywh"),
    **dict.fromkeys(("model",), (str,)),
    **dict.fromkeys(("per_class",), (bool,)),
    **dict.fromkeys(("max", "first_class", "threads"), (int,)),
    **dict.fromkeys(("scale", "score", "iou"), (int, float)),
    **dict.fromkeys(("mean", "std"), (int, float, list)),
    "size": (int, list),
    "names": (list, dict),
    "map": (dict,),
}
"""The values or types that a key may have."""


def of_model(kind: str, file: Path) -> tuple[Path, dict[str, Any]]:
    """Return the model's file and what the JSON or TOML file beside it states; `file` is either. Raises ModelError."""
    beside = [file.with_suffix(".json"), file.with_suffix(".toml")]
    stated = next((_read(one) for one in ([file] if file in beside else beside) if one.exists()), {})
    if file in beside:
        file = file.parent / stated.get("model", file.stem + {"onnx": ".onnx", "litert": ".tflite"}[kind])
    if not file.is_file():
        raise ModelError("bad-model", f"{file}: there is no such model")
    return file, stated


def _read(path: Path) -> dict[str, Any]:
    try:
        parser = json if path.suffix == ".json" else import_module("tomllib")
        stated = dict(parser.loads(read_regular(path).decode("utf-8")))
        for key, value in stated.items():
            allowed = VALUES.get(key, ())
            if value not in allowed and type(value) not in allowed:
                words = " or ".join(getattr(one, "__name__", one) for one in allowed or sorted(VALUES))
                raise ValueError(f"{key} = {value!r:.60}: {'must be' if allowed else 'the keys are'} {words}")
    except (ImportError, OSError, ValueError, TypeError) as error:
        what = f"TOML needs Python 3.11, JSON does not: {error}" if isinstance(error, ImportError) else error
        raise ModelError("bad-settings", f"{path}: {what}") from error
    return stated
