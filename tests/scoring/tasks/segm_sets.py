"""Random sets of instances that are full of the cases that matter, and the official program on them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from lpirc_score.tasks.instance_masks import Instance, Mask, TrueInstance
from lpirc_score.tasks.task_kinds import Answer, Truth
from lpirc_testsets import Category
from lpirc_testsets.run_lengths import encode

NAMES = ["AP", "AP50", "AP75", "APsmall", "APmedium", "APlarge"]
NAMES += ["AR1", "AR10", "AR100", "ARsmall", "ARmedium", "ARlarge"]
SIDES = [(30, 40), (64, 64), (140, 130), (1, 50), (33, 97)]

Pixels = np.ndarray[Any, np.dtype[np.bool_]]


def mask_of(pixels: Pixels) -> Mask:
    return Mask(*pixels.shape, encode(pixels).encode())


def blob(
    chance: np.random.Generator,
    height: int,
    width: int,
) -> Pixels:
    """A box, an ellipse, noise, or nothing at all."""
    y, x = np.mgrid[0:height, 0:width]
    kind = chance.integers(0, 8)
    low = chance.random(2) * (height, width)
    reach = (0.05 + chance.random(2)) * (height, width) * 0.7
    if kind < 4:
        return (
            (y >= low[0])
            & (y < low[0] + reach[0])
            & (x >= low[1])
            & (x < low[1] + reach[1])
        )
    if kind < 6:
        return ((y - low[0]) / reach[0]) ** 2 + ((x - low[1]) / reach[1]) ** 2 < 1
    if kind < 7:
        return chance.random((height, width)) < 0.3
    return np.zeros((height, width), np.bool_)


def like(
    chance: np.random.Generator,
    pixels: Pixels,
) -> Pixels:
    """The same mask, moved or frayed, so that overlaps lie around the thresholds."""
    moved = np.roll(
        pixels,
        chance.integers(
            -3,
            4,
            2,
        ),
        (0, 1),
    )
    if chance.random() < 0.3:
        moved = moved ^ (chance.random(pixels.shape) < chance.choice([0.02, 0.2]))
    return pixels if chance.random() < 0.3 else moved


def random_set(seed: int) -> tuple[Truth, list[Answer]]:
    chance = np.random.default_rng(seed)
    categories = np.sort(
        chance.choice(
            [0, 1, 3, 90],
            chance.integers(1, 4),
            False,
        )
    )
    by_image: dict[int, tuple[TrueInstance, ...]] = {}
    answers = []
    crowded = chance.random() < 0.08
    crowd_share = chance.choice([0, 0.3])
    for image in range(1, int(chance.integers(2, 6))):
        height, width = SIDES[int(chance.integers(0, len(SIDES)))]
        pool = [
            blob(
                chance,
                height,
                width,
            )
            for _ in range(int(chance.integers(1, 7)))
        ]
        objects = []
        for _ in range(int(chance.integers(0, 9))):
            pixels = pool[int(chance.integers(0, len(pool)))]
            area = float(pixels.sum()) * float(chance.choice([1, 0.25, 1.5, 40]))
            objects.append(
                TrueInstance(
                    int(chance.choice(categories)),
                    mask_of(pixels),
                    area,
                    bool(chance.random() < crowd_share),
                )
            )
        by_image[image] = tuple(objects)
        count = 150 if crowded and image == 1 else int(chance.integers(0, 14))
        for _ in range(count):
            pixels = like(chance, pool[int(chance.integers(0, len(pool)))])
            score = float(chance.choice([chance.random(), 0.5, 0.25]))
            category = int(chance.choice(categories[: 1 if crowded else None]))
            answers.append(
                Answer(
                    image,
                    Instance(
                        category,
                        score,
                        mask_of(pixels),
                    ),
                )
            )
    order = chance.permutation(len(answers)).tolist()
    named = tuple(Category(id_, str(id_)) for id_ in categories.tolist())
    return Truth(named, by_image), [answers[at] for at in order]


def official(
    truth: Truth,
    answers: Sequence[Answer],
    images: Sequence[int] | None = None,
) -> dict[str, float | None]:
    """The twelve numbers of COCOeval; None is its -1."""
    numbers = [*truth.by_image] if images is None else [*images]
    objects = []
    for image in numbers:
        for one in truth.by_image[image]:
            entry = {
                "image_id": image,
                "category_id": one.category,
                "segmentation": one.mask.coco,
                "area": one.area,
                "iscrowd": int(one.is_crowd),
            }
            objects.append(entry)
    results = []
    for image, given in answers:
        if image in numbers:
            entry = {
                "image_id": image,
                "category_id": given.category,
                "segmentation": given.mask.coco,
                "score": given.score,
            }
            results.append(entry)
    return official_numbers(
        {
            "images": [_image(truth, image) for image in numbers],
            "categories": [{"id": one.id} for one in truth.categories],
            "annotations": objects,
        },
        results,
    )


def official_numbers(
    dataset: dict[str, Any],
    results: list[dict[str, Any]],
) -> dict[str, float | None]:
    with contextlib.redirect_stdout(io.StringIO()):
        evaluator = COCOeval(
            _coco(dataset),
            _loaded(dataset, results),
            "segm",
        )
        evaluator.evaluate()
        evaluator.accumulate()
        evaluator.summarize()
    values = zip(
        NAMES,
        evaluator.stats.tolist(),
        strict=True,
    )
    return {name: None if value == -1 else value for name, value in values}


def _loaded(
    dataset: dict[str, Any],
    results: list[dict[str, Any]],
) -> COCO:
    if results:
        return _coco(dataset).loadRes(results)
    return _coco({**dataset, "annotations": []})


def _coco(
    dataset: dict[str, Any],
) -> COCO:
    coco = COCO()
    annotations = [
        {"id": number, **one}
        for number, one in enumerate(dataset["annotations"], start=1)
    ]
    coco.dataset = {**dataset, "annotations": annotations}
    coco.createIndex()
    return coco


def _image(
    truth: Truth,
    image: int,
) -> dict[str, int]:
    objects = truth.by_image[image]
    height, width = objects[0].mask[:2] if objects else (1, 1)
    return {"id": image, "height": height, "width": width}
