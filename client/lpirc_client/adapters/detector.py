"""The detectors `onnx:FILE` and `litert:FILE`: image -> input -> model -> boxes -> rows (docs/detectors.md)."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lpirc_client.adapters import boxes, runtimes
from lpirc_client.argument_parser import closest
from lpirc_client.errors import ModelError, missing_extra
from lpirc_client.files import read_regular
from lpirc_client.presence import is_file, is_there
from lpirc_client.terminal import say
from lpirc_client.wire import Category

# An iou of 1 suppresses nothing, where the model itself has done it.
_YOLO = {
    "order": "xywh",
    "boxes": "pixels",
    "resize": "letterbox",
    "iou": 0.7,
    "first_class": 0,
}
_SSD = {
    "order": "xyxy",
    "boxes": "fraction",
    "resize": "stretch",
    "iou": 1.0,
    "first_class": 1,
}
HEADS: dict[str, dict[str, Any]] = {
    "yolov5": _YOLO,
    "yolov8": _YOLO,
    "yolov10": {**_YOLO, "order": "xyxy", "iou": 1.0},
    "tflite-ssd": {**_SSD, "order": "yxyx", "first_class": 0, "mean": 0.5, "std": 0.5},
    "tf-ssd": {**_SSD, "order": "yxyx", "scale": 1.0},
    "ssd": _SSD,
    "torchvision": {**_SSD, "boxes": "pixels"},
}
_INPUT = {"colour": "rgb", "scale": 1 / 255, "mean": 0.0, "std": 1.0, "threads": 0}
DEFAULTS = {**_INPUT, "score": 0.001, "per_class": True, "max": 300}
CHOICES = {"layout": "NCHW NHWC", "resize": "letterbox stretch", "colour": "rgb bgr"}
CHOICES.update(boxes="pixels fraction", order="xyxy yxyx xywh", head=" ".join(HEADS))


def _are(
    values: Any,
    least: float,
    most: float,
    counts: tuple[int, ...] = (),
    kinds: Any = (int, float),
) -> bool:
    """Return True if this is a number in that range, or a list of such numbers whose length is in `counts`."""
    if isinstance(values, list):
        return len(values) in counts and all(
            _are(
                one,
                least,
                most,
                (),
                kinds,
            )
            for one in values
        )
    return type(values) in kinds and least <= values <= most


def _are_names(values: Any) -> bool:
    numbers, names = (
        (values.keys(), values.values()) if isinstance(values, dict) else ((), values)
    )
    is_list = isinstance(values, (dict, list)) and all(
        isinstance(name, str) for name in names
    )
    return is_list and all(number.isdecimal() for number in numbers)


EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "scale": ("a number", lambda value: _are(value, -1e9, 1e9)),
    "mean": (
        "one number or a list of three numbers",
        lambda value: _are(value, -1e9, 1e9, (3,)),
    ),
    "std": (
        "one number or a list of three numbers, each above 0",
        lambda value: _are(value, 1e-9, 1e9, (3,)),
    ),
    "score": ("a number from 0 to 1", lambda value: _are(value, 0, 1)),
    "iou": ("a number from 0 to 1", lambda value: _are(value, 0, 1)),
    "max": (
        "a whole number above 0",
        lambda value: _are(
            value,
            1,
            1e9,
            (),
            (int,),
        ),
    ),
    "threads": (
        "a whole number, not a text",
        lambda value: _are(
            value,
            0,
            1e4,
            (),
            (int,),
        ),
    ),
    "size": (
        "a whole number above 0, or [height, width]",
        lambda value: _are(
            value,
            1,
            1e5,
            (2,),
            (int,),
        ),
    ),
    "names": (
        'a list, ["person", ...], or a table, {0 = "person"}, of names',
        _are_names,
    ),
    "per_class": ("true or false", lambda value: isinstance(value, bool)),
    "model": ("the name of a file", lambda value: isinstance(value, str)),
}
KEYS = [*dict.fromkeys((*CHOICES, *DEFAULTS, "iou", "model", "names", "size"))]


class Adapter:
    """Detects with a model; `description` lists all its settings. It keeps the category ids of its last call."""

    def __init__(
        self,
        kind: str,
        file: Path,
    ) -> None:
        """Load an `onnx` or `litert` model; `file` is the model or its JSON or TOML description. Raises ModelError."""
        self._path, stated = _stated(kind, file)
        try:
            self._model = getattr(runtimes, kind)(self._path, stated.get("threads", 0))
            self._shape, self._settings = _completed(kind, self._model, stated)
        except ImportError as error:
            raise missing_extra(
                f"the detector {kind}:{file}", error.name, kind
            ) from error
        except Exception as error:  # each runtime has its own
            raise ModelError(
                "bad-model",
                f"{self._path}: {runtimes.why_not(kind, self._path, error)}",
            ) from error
        shown = ", ".join(f"{key} = {value}" for key, value in self._settings.items())
        self.description = f"{self._path}: {shown}"
        self._known: tuple[Any, dict[int, int]] = None, {}

    def __call__(
        self,
        jpeg: bytes,
        categories: Sequence[Category],
    ) -> Iterator[tuple[float, ...]]:
        """Yield (category id, confidence, xmin, ymin, xmax, ymax), the best first; inclusive pixels."""
        if categories is not self._known[0]:
            self._known = categories, self._ids(categories)
        settings = self._settings
        _, ids = self._known
        with Image.open(io.BytesIO(jpeg)) as opened:
            image = opened.convert("RGB")
        arrays = self._model.run(
            boxes.model_input(image, settings).reshape(self._shape)
        )
        sides, scores, classes = boxes.decoded(
            settings["head"], self._model.names, arrays
        )
        fits = (
            (scores >= settings["score"])
            & np.isin(classes, list(ids))
            & np.isfinite(sides).all(axis=1)
        )
        sides = sides[fits]
        scores = scores[fits]
        classes = classes[fits]
        sides = boxes.in_image(sides, settings, image.size)
        for best in boxes.kept(sides, scores, classes, settings):
            left, top, right, bottom = sides[best].clip(0, image.size * 2).tolist()
            if right > left and bottom > top:
                far = max(right - 1, left), max(bottom - 1, top)
                yield ids[int(classes[best])], float(scores[best]), left, top, *far

    def _ids(self, categories: Sequence[Category]) -> dict[int, int]:
        """Return category ids by class number, and print which categories have no class.

        Raises ModelError if no category has a class. Where the categories are unknown, as in a dry run on any
        images, the ids are the class numbers.
        """
        names = self._settings["names"]
        wanted = {one.name.casefold(): one.id for one in categories}
        ids = {
            number: wanted[name.casefold()]
            for number, name in names.items()
            if name.casefold() in wanted
        }
        missing = ", ".join(
            [one.name for one in categories if one.id not in ids.values()][:3]
        )
        what = f"{self._path} has the classes {', '.join([*names.values()][:3])} ... but not {missing} ..."
        if not categories:
            return {number: number for number in names}
        if not ids:
            raise ModelError(
                "no-category",
                f"{what}; none of them is a category of the contest: set `names` to the contest's category names",
            )
        if missing:
            say(what)
        return ids


def _stated(kind: str, file: Path) -> tuple[Path, dict[str, Any]]:
    """Return the model's file and the values of the JSON or TOML file beside it; `file` may be either of them."""
    beside = [file.with_suffix(".json"), file.with_suffix(".toml")]
    path: Path | None = file
    try:
        candidates = [file] if file in beside else beside
        path = next((one for one in candidates if is_there(one)), None)
    except OSError as error:
        raise ModelError("bad-settings", f"{path}: {error.strerror}") from error
    model = file
    if file in beside:
        model = file.with_suffix({"onnx": ".onnx", "litert": ".tflite"}[kind])
    stated: dict[str, Any] = {} if path is None else _settings_in(kind, path)
    for key, value in stated.items():
        if key not in KEYS:
            meant = closest(key, KEYS)
            perhaps = "" if meant is None else f" (did you mean {meant}?)"
            sentence = (
                f"{path}: {key!r:.60} is not a setting of a model{perhaps}; "
                f"there is {', '.join(KEYS)}"
            )
            raise ModelError("bad-settings", sentence)
        words = CHOICES.get(key, "").split()
        if words and value not in words:
            raise ModelError(
                "bad-settings",
                f"{path}: {key} = {value!r:.60}: there is {', '.join(words)}",
            )
        expected, is_good = EXPECTED.get(key, ("", bool))
        if expected and not is_good(value):
            raise ModelError(
                "bad-settings", f"{path}: {key} = {value!r:.60}: must be {expected}"
            )
    if file in beside:
        model = file.parent / stated.get("model", model.name)
    try:
        problem = "" if is_file(model) else _no_model(kind, model)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    if problem:
        raise ModelError("bad-model", f"{model}: {problem}")
    return model, stated


def _settings_in(kind: str, path: Path) -> dict[str, Any]:
    """Return the table in a JSON or TOML file, of which one key at least is a setting. Raises ModelError."""
    form = path.suffix[1:].upper()
    why = f"it is not {form}"
    try:
        parser = import_module("tomllib" if form == "TOML" else "json")
        table = parser.loads(read_regular(path).decode("utf-8"))
    except ImportError:
        why = "TOML needs Python 3.11; write the settings as JSON"
    except UnicodeDecodeError:
        why += ", which is text in UTF-8"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except ValueError as error:
        why += f": {error}"
    except RecursionError:
        why = "its lists or tables are nested too deeply"
    else:
        if isinstance(table, dict) and _are_settings(table):
            return table
        has = f"{', '.join(table):.60}" if isinstance(table, dict) else _kind(table)
        named = f"--detector {kind}:MODEL{runtimes.SUFFIXES[kind]}"
        why = (
            f"it is read as the settings of a model ({', '.join(KEYS)}), but has {has}; "
            f"if it is something else, name the model's own file: {named}"
        )
    raise ModelError("bad-settings", f"{path}: {why}")


def _kind(value: Any) -> str:
    """Return what a JSON value that is no table is."""
    return "a list" if isinstance(value, list) else f"{value!r:.60} alone"


def _are_settings(table: dict[str, Any]) -> bool:
    """Return False for a table of another purpose: most of its keys are not near a setting."""
    near = [key for key in table if closest(key, KEYS) is not None]
    return 2 * len(near) >= len(table)


def _no_model(kind: str, path: Path) -> str:
    """Return what is at a path where no file is."""
    if not is_there(path):
        return "there is no such model"
    return f"it is no file; name the model in it: --detector {kind}:{path}/MODEL{runtimes.SUFFIXES[kind]}"


def _completed(
    kind: str,
    model: runtimes.Model,
    stated: dict[str, Any],
) -> tuple[list[int], dict[str, Any]]:
    """Return the input's shape, and the values completed from the model, its head and defaults. Raises ValueError."""
    own = model.shapes[0]
    layout = stated.get("layout", "NHWC" if own[-1] == 3 else "NCHW")
    size = stated.get("size", own[-3:-1] if layout == "NHWC" else own[-2:])
    size = size if isinstance(size, list) else [size, size]
    shape = ([1, *size, 3] if layout == "NHWC" else [1, 3, *size])[4 - len(own) :]
    agrees = all(map(lambda side, new: side in (None, new), own, shape))
    if len(model.shapes) > 1 or None in size or not agrees:
        what = "a detector takes one image of 3 channels; if its size is not fixed (None), set size = [height, width]"
        raise ValueError(f"its inputs are {model.shapes}: {what}")
    arrays = model.run(np.zeros(shape, np.float32))
    head = stated.get("head") or boxes.recognized(kind, model.names, arrays, size)
    try:
        found = boxes.decoded(head, model.names, arrays)
        fits = (
            head
            and found[0].shape == (*found[1].shape, 4)
            and found[1].shape == found[2].shape
        )
    except (KeyError, ValueError, IndexError):
        fits = False
    if not fits:
        listed = ", ".join(map("{0} {1.dtype} {1.shape}".format, model.names, arrays))
        what = f"head = {head} does not fit the model" if head else "head is unknown"
        raise ValueError(
            f"{what}: the model's outputs are {listed}; if it is a detector, set head to one of {', '.join(HEADS)}"
        )
    chosen = {"head": head, "layout": layout, "size": size}
    settings = {**DEFAULTS, **HEADS[head], **model.settings, **stated, **chosen}
    names = settings.get("names")
    if isinstance(names, str):  # of an ONNX file, as Ultralytics writes it
        names = ast.literal_eval(names) if names.startswith("{") else {}
    if not names:
        raise ValueError(
            'it does not name its classes: state names = ["...", ...] in a TOML file beside it'
        )
    pairs = (
        names.items()
        if isinstance(names, dict)
        else enumerate(names, settings["first_class"])
    )
    return shape, {
        **settings,
        "names": {int(number): str(name) for number, name in pairs},
    }
