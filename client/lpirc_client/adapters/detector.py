"""The detectors `onnx:FILE` and `litert:FILE`: image -> input -> model -> boxes -> rows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lpirc_client.adapters import boxes, runtimes
from lpirc_client.adapters.settings import DEFAULTS, HEADS, of_model
from lpirc_client.errors import ModelError, missing_extra
from lpirc_client.terminal import say
from lpirc_client.wire import Category


def load(kind: str, file: Path) -> Adapter:
    """Load an `onnx` or `litert` model, `file` or the one that it describes, and run it once.

    Raises ModelError `bad-model`, `bad-settings`, `missing-extra`.
    """
    path, stated = of_model(kind, file)
    try:
        model = getattr(runtimes, kind)(path, stated.get("threads", 0))
        return _adapter(kind, path, model, stated)
    except ImportError as error:
        raise missing_extra(f"the detector {kind}:{file}", error.name, kind) from error
    except Exception as error:  # each runtime has its own
        raise ModelError("bad-model", f"{path}: {str(error)[:600]}") from error


class Adapter:
    """A detector: a model and its settings, all told by `description`. Remembers the categories of its last call."""

    def __init__(self, path: Path, model: runtimes.Model, settings: dict[str, Any]) -> None:
        shown = {**settings, "names": f"{len(settings['names'])} of them"}
        self.description = f"{path} on {model.device}: {', '.join(f'{k} = {v}' for k, v in shown.items())}"
        self._path, self._model, self._settings = path, model, settings
        self._categories: Sequence[Category] = ()
        self._ids: dict[int, int] = {}

    def __call__(self, jpeg: bytes, categories: Sequence[Category]) -> Iterator[tuple[float, ...]]:
        """Yield (category id, confidence, xmin, ymin, xmax, ymax), the best first; inclusive pixels.

        Raises ModelError `no-category` if the model knows none of the categories.
        """
        settings, ids = self._settings, self._known(categories)
        with Image.open(io.BytesIO(jpeg)) as opened:
            image = opened.convert("RGB")
        arrays = self._model.run(boxes.model_input(image, settings).reshape(self._model.shapes[0]))
        found = boxes.decoded(settings["head"], self._model.outputs, arrays)
        fits = (found.scores >= settings["score"]) & np.isfinite(found.boxes).all(axis=1)
        fits &= np.isin(found.classes, list(ids))
        sides = boxes.in_image(found.boxes[fits], settings, image.size)
        found = boxes.Found(sides, found.scores[fits], found.classes[fits])
        inside = sides.clip(0, image.size * 2)
        for best in boxes.kept(found, settings["iou"], settings["per_class"], settings["max"]):
            left, top, right, bottom = inside[best].tolist()
            if right > left and bottom > top:
                category, score = ids[int(found.classes[best])], float(found.scores[best])
                yield category, score, left, top, max(right - 1, left), max(bottom - 1, top)

    def _known(self, categories: Sequence[Category]) -> dict[int, int]:
        """Return the category ids by class number; says once which categories the model does not know."""
        if categories is self._categories:
            return self._ids
        names, renamed = self._settings["names"], self._settings.get("map", {})
        wanted = {one.name.casefold(): one.id for one in categories}
        ids = {number: wanted.get(renamed.get(name, name).casefold()) for number, name in names.items()}
        self._categories, self._ids = categories, {n: found for n, found in ids.items() if found is not None}
        missing = ", ".join([one.name for one in categories if one.id not in ids.values()][:3])
        if not self._ids:
            ours = ", ".join(list(names.values())[:3])
            what = f"none of its classes ({ours} ...) is a category here ({missing} ...): state names or map"
            raise ModelError("no-category", f"{self._path}: {what}")
        if missing:
            say(f"{self._path}: it has no class for some categories: {missing} ...")
        return self._ids


def _adapter(kind: str, path: Path, model: runtimes.Model, stated: dict[str, Any]) -> Adapter:
    """Complete what is stated by the model, its head and the defaults. Raises ValueError."""
    own = model.shapes[0]
    layout = stated.get("layout", "NHWC" if own[-1] == 3 else "NCHW")
    size = stated.get("size", own[-3:-1] if layout == "NHWC" else own[-2:])
    size = size if isinstance(size, list) else [size, size]
    shape = [1, *size, 3] if layout == "NHWC" else [1, 3, *size]
    shape = shape[4 - len(own) :]
    if (
        len(model.shapes) > 1
        or None in size
        or not all(map(lambda side, new: side in (None, new), own, shape))
    ):
        what = "a detector takes one image of 3 channels; of an open size (None) state size = [height, width]"
        raise ValueError(f"its inputs are {model.shapes}: {what}")
    arrays = model.run(np.zeros(shape, np.float32))
    head = stated.get("head") or boxes.recognized(model.outputs, arrays, size, kind)
    try:
        found = boxes.decoded(head, model.outputs, arrays)
        fits = found.boxes.shape == (*found.scores.shape, 4) and found.scores.shape == found.classes.shape
    except (ValueError, IndexError):
        fits = False
    if not (head and fits):
        listed = ", ".join(map("{0} {1.dtype} {1.shape}".format, model.outputs, arrays))
        what = f"are not those of head = {head}" if head else "do not say what they are"
        raise ValueError(f"its outputs {listed} {what}; for a detector state head = {' or '.join(HEADS)}")
    chosen = {"head": head, "layout": layout, "size": size}
    settings = {**DEFAULTS, **HEADS[head], **model.defaults, **stated, **chosen}
    names = settings.get("names")
    if not names:
        raise ValueError(f'it does not name its classes: state names = ["...", ...] in {path.stem}.toml')
    pairs = names.items() if isinstance(names, dict) else enumerate(names, settings["first_class"])
    settings["names"] = {int(number): str(name) for number, name in pairs}
    return Adapter(path, model._replace(shapes=[shape]), settings)
