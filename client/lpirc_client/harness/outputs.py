"""Turns a model's output tensors into predictions: top-1 labels, or detections in pixels of the original image.

A detection's row is [image, category, confidence, xmin, ymin, xmax, ymax] with inclusive corners, as everywhere in the
contest: a box from x1 to x2 (0..1) in an image W wide has xmin = x1 W and xmax = x2 W - 1. Its width is then
xmax - xmin + 1, and the COCO box of the row is exactly [x1 W, y1 H, (x2 - x1) W, (y2 - y1) H].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_client.errors import ModelError
from lpirc_client.harness.frames import Message
from lpirc_client.harness.model import Signature, Tensor

DETECTIONS = 100
CLASSES = 1000
COCO_FIRST = 1
"""COCO's category id of class 0."""

LARGEST_NUMBER = 1e9
"""Largest score or pixel. A row with a larger one, or a category above LARGEST_CATEGORY, is dropped."""

LARGEST_CATEGORY = 1_000_000


@dataclass(frozen=True, eq=False)
class Answers:
    """A batch's answers: `times_ns` (N,), and per output its values (N, *shape), float64, dequantized."""

    times_ns: NDArray[np.int64]
    outputs: tuple[NDArray[np.float64], ...]
    start_monotonic_s: float
    end_monotonic_s: float
    processor_s: float

    @classmethod
    def parse(
        cls,
        name: str,
        head: Message,
        content: memoryview,
        signature: Signature,
    ) -> Answers:
        """Parse the answer to `run`. Raises ModelError `model-crashed` if a broken process sent something else."""
        try:
            done = int(head["done"])
            at = 8 * int(head["done"])
            times_ns = np.frombuffer(content[:at], np.int64)
            outputs = []
            for tensor in signature.outputs:
                size = done * math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
                outputs.append(_values(content[at : at + size], done, tensor))
                at += size
            start_s = float(head["start_monotonic_s"])
            end_s = float(head["end_monotonic_s"])
            processor_s = float(head["processor_s"])
            is_sound = (
                at == len(content)
                and done > 0
                and times_ns.min() >= 0
                and start_s <= end_s
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise nonsense(name) from error
        if not is_sound:
            raise nonsense(name)
        return cls(
            times_ns,
            tuple(outputs),
            start_s,
            end_s,
            processor_s,
        )


def nonsense(name: str) -> ModelError:
    """Return the error for a model that broke its process without killing it, so it sent a malformed answer."""
    return ModelError(
        "model-crashed",
        f"{name}: the model broke its process, and the process sent a malformed answer",
    )


@dataclass
class Predictions:
    """Rows of some images, and what was dropped from them.

    `not_finite` lists images with dropped rows; `inverted` and `out_of_range` count dropped rows.
    """

    rows: list[Any] = field(default_factory=list)
    not_finite: list[int] = field(default_factory=list)
    inverted: int = 0
    out_of_range: int = 0

    def add(self, more: Predictions) -> None:
        """Add the predictions of further images."""
        self.rows += more.rows
        self.not_finite += more.not_finite
        self.inverted += more.inverted
        self.out_of_range += more.out_of_range


def labels(answers: Answers, images: Sequence[int]) -> Predictions:
    """Return rows [image, index, score] with each image's highest score; of equal ones the lowest index.

    A score that is not finite never wins; if none is finite, the answer is index 0, the background, with score 0.0. If
    there are 1,000 scores, the background is missing, and the first score has index 1.
    """
    scores = answers.outputs[0].reshape(len(images), -1)
    finite = np.isfinite(scores)
    usable = np.where(finite, scores, -np.inf)
    best = usable.argmax(axis=1)
    first = 1 if scores.shape[1] == CLASSES else 0
    chosen = np.where(finite.any(axis=1), best + first, 0)
    confidences = np.take_along_axis(usable, best[:, None], axis=1)[:, 0]
    confidences = np.where(np.isfinite(confidences), confidences, 0.0)
    confidences = confidences.clip(-LARGEST_NUMBER, LARGEST_NUMBER)
    rows = list(zip(images, chosen.tolist(), confidences.tolist(), strict=True))
    not_finite = np.flatnonzero(~finite.all(axis=1)).tolist()
    return Predictions(rows, [images[place] for place in not_finite])


def detections(
    answers: Answers,
    images: Sequence[int],
    sizes: Sequence[tuple[int, int]],
) -> Predictions:
    """Return all hundred detections of each image, of `sizes` (width, height), in the model's order.

    Rows that cannot be scored are dropped: a number not finite or out of range, a class below 0, or a box whose far
    side lies before its near side. Boxes that extend beyond the image are kept unchanged.
    """
    boxes = answers.outputs[0][:, 0]
    classes = answers.outputs[1][:, 0]
    scores = answers.outputs[2][:, 0]
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.array(sizes, np.float64)[:, None, :]
        near = boxes[..., [1, 0]] * scale
        far = boxes[..., [3, 2]] * scale
        categories = np.floor(classes + (COCO_FIRST + 0.5))
        columns = [categories[..., None], scores[..., None], near, far - 1.0]
        numbers = np.concatenate(columns, axis=2)
        finite = np.isfinite(numbers).all(axis=2)
        inverted = finite & (far < near).any(axis=2)
        is_far_off = (np.abs(numbers[..., 1:]) > LARGEST_NUMBER).any(axis=2)
    known = (numbers[..., 0] >= COCO_FIRST) & (numbers[..., 0] <= LARGEST_CATEGORY)
    out_of_range = finite & ~inverted & (is_far_off | ~known)
    kept = finite & ~inverted & ~out_of_range
    rows = []
    places = np.nonzero(kept)[0].tolist()
    for place, values in zip(places, numbers[kept].tolist(), strict=True):
        category, *rest = values
        rows.append((images[place], int(category), *rest))
    not_finite = np.flatnonzero(~finite.all(axis=1)).tolist()
    numbers_of = [images[place] for place in not_finite]
    return Predictions(rows, numbers_of, int(inverted.sum()), int(out_of_range.sum()))


def check_counts(
    name: str,
    answers: Answers,
    what: Sequence[object],
) -> list[ModelError]:
    """Return a list with an error for the first picture without exactly 100 detections; empty if there is none."""
    counts = answers.outputs[3][:, 0]
    wrong = np.flatnonzero(counts != DETECTIONS)
    if not len(wrong):
        return []
    count = float(counts[wrong[0]])
    picture = what[int(wrong[0])]
    sentence = f"{name}: it returns {count:g} detections of {picture}; its output 3, the count, must be {DETECTIONS}"
    return [
        ModelError(
            "wrong-count", sentence, count=count if math.isfinite(count) else str(count)
        )
    ]


def _values(
    content: memoryview,
    done: int,
    tensor: Tensor,
) -> NDArray[np.float64]:
    raw: NDArray[Any] = np.frombuffer(content, np.dtype(tensor.dtype)).reshape(
        done, *tensor.shape
    )
    values = raw.astype(np.float64)
    if tensor.dtype != "uint8":
        return values
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # a scale that is not finite shows in the scores
        return (values - tensor.zero) * tensor.scale
