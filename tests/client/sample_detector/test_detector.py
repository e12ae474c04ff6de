"""The sample detector on pictures drawn here, on the synthetic test set and on photographs."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lpirc_client.sample_detector.detector import detect
from lpirc_client.sample_detector.regions import regions
from lpirc_client.wire import Category
from lpirc_testsets import synthesize

CATEGORIES = (
    Category(3, "red-disc"),
    Category(5, "striped-blue-square"),
    Category(8, "green-ring"),
)
VOC100 = Path(__file__).resolve().parents[4] / "shared" / "data" / "voc100"


def jpeg_of(image: Image.Image) -> bytes:
    with io.BytesIO() as file:
        image.save(file, "JPEG", quality=90)
        return file.getvalue()


@pytest.fixture
def picture() -> Image.Image:
    image = Image.new("RGB", (320, 240), (120, 125, 118))
    draw = ImageDraw.Draw(image)
    draw.ellipse((20, 30, 80, 90), fill=(220, 30, 25))
    draw.ellipse((200, 20, 260, 80), fill=(30, 200, 40))
    draw.ellipse((214, 34, 246, 66), fill=(120, 125, 118))
    for x in range(120, 181):
        for y in range(120, 181):
            image.putpixel((x, y), (20, 60, 220) if (x + y) % 16 < 8 else (10, 30, 110))
    return image


def test_shapes_are_found_with_category_and_box(picture: Image.Image) -> None:
    found = {
        category: box for category, _, *box in detect(jpeg_of(picture), CATEGORIES)
    }
    assert set(found) == {3, 5, 8}
    for category, box in (
        (3, (20, 30, 80, 90)),
        (5, (120, 120, 180, 180)),
        (8, (200, 20, 260, 80)),
    ):
        assert np.abs(np.subtract(found[category], box)).max() <= 2


def test_only_asked_for_categories_are_found(picture: Image.Image) -> None:
    assert [found[0] for found in detect(jpeg_of(picture), CATEGORIES[:1])] == [3]
    others = [
        Category(1, "dog"),
        Category(2, "red-dog"),
        Category(3, "a-b-c-d"),
    ]
    assert list(detect(jpeg_of(picture), others)) == []


def test_pictures_without_strong_colour_hold_nothing() -> None:
    for grey in (
        Image.new("RGB", (64, 48), (90, 90, 90)),
        Image.new("L", (64, 48), 128),
    ):
        assert list(detect(jpeg_of(grey), CATEGORIES)) == []


def test_a_picture_of_one_colour_does_not_crash() -> None:
    assert (
        len(list(detect(jpeg_of(Image.new("RGB", (64, 48), (255, 0, 0))), CATEGORIES)))
        <= 1
    )


def test_regions_are_those_of_a_flood_fill() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        classes = rng.integers(0, 3, (12, 17)).astype(np.uint8)
        found = {
            (r.value, r.xmin, r.ymin, r.xmax, r.ymax, int(r.mask.sum()))
            for r in regions(classes, 1)
        }
        assert found == set(_flood(classes))


def _flood(classes: np.ndarray) -> list[tuple[int, ...]]:
    seen = classes == 0
    found = []
    for start in np.argwhere(classes):
        todo = [tuple(start)]
        pixels = []
        while todo:
            y, x = todo.pop()
            if (
                0 <= y < 12
                and 0 <= x < 17
                and not seen[y, x]
                and classes[y, x] == classes[tuple(start)]
            ):
                seen[y, x] = True
                pixels.append((y, x))
                todo += [
                    (y + 1, x),
                    (y - 1, x),
                    (y, x + 1),
                    (y, x - 1),
                ]
        if pixels:
            ys, xs = zip(*pixels, strict=True)
            value = int(classes[tuple(start)])
            found.append((value, min(xs), min(ys), max(xs), max(ys), len(pixels)))
    return found


def test_on_the_synthetic_set_it_is_good_but_not_perfect(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "set", 20, 10, seed=11)
    truth = json.loads(made.ground_truth_path.read_text())
    categories = [Category(one.id, one.name) for one in made.categories]
    right = 0
    found = 0
    for image in made.images:
        boxes = [
            (a["category_id"], *a["bbox"])
            for a in truth["annotations"]
            if a["image_id"] == image.number
        ]
        for category, _, *box in detect(
            made.image_path(image.number).read_bytes(),
            categories,
        ):
            found += 1
            right += any(
                category == other[0] and _overlap(box, other[1:]) >= 0.5
                for other in boxes
            )
    assert right / found > 0.6
    assert 0.5 < right / len(truth["annotations"]) < 1


def _overlap(box: list[float], coco: tuple[float, ...]) -> float:
    x, y, width, height = coco
    wide = min(box[2], x + width - 1) - max(box[0], x) + 1
    high = min(box[3], y + height - 1) - max(box[1], y) + 1
    both = max(wide, 0) * max(high, 0)
    return both / (
        (box[2] - box[0] + 1) * (box[3] - box[1] + 1) + width * height - both
    )


def test_on_real_photographs_it_finds_nothing_it_was_asked_for() -> None:
    photographs = sorted(VOC100.rglob("*.jpg"))[:5]
    if not photographs:
        reason = f"{VOC100} is not here: the hundred VOC photographs are kept outside the project"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    for path in photographs:
        assert (
            list(
                detect(
                    path.read_bytes(),
                    [
                        Category(1, "dog"),
                        Category(2, "person"),
                    ],
                )
            )
            == []
        )
        list(detect(path.read_bytes(), CATEGORIES))
