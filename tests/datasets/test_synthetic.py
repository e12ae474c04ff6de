"""The synthetic set."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from lpirc_testsets import (
    TestSet,
    TestSetError,
    category_names,
    check,
    read_ground_truth,
    synthesize,
)
from lpirc_testsets.scene import paint
from lpirc_testsets.shapes import HUES, SHAPES, coverage, kinds
from lpirc_testsets.synthetic import render

SMALL = (96, 64)


def test_images_are_jpegs_of_the_wanted_size_and_the_set_passes_its_check(
    tmp_path: Path,
) -> None:
    made = synthesize(
        tmp_path / "set",
        images=6,
        categories=10,
        seed=1,
        size=(160, 120),
    )
    assert check(made.folder) == ()
    assert len(made.images) == 6
    for image in made.images:
        with Image.open(made.image_path(image.number)) as picture:
            assert picture.format == "JPEG"
            assert picture.size == (160, 120)
            assert np.asarray(picture).std() > 5


def test_the_seed_decides_and_more_images_do_not_change_the_first_ones(
    tmp_path: Path,
) -> None:
    def made(name: str, images: int, seed: int) -> TestSet:
        return synthesize(
            tmp_path / name,
            images=images,
            seed=seed,
            size=SMALL,
        )

    few = made("a", 2, 5)
    again = made("b", 2, 5)
    other = made("c", 2, 6)
    many = made("d", 5, 5)
    assert few.digest == again.digest != other.digest
    assert few.images == many.images[:2]


@settings(max_examples=10)
@given(st.integers(1, 10**6), st.integers(0, 2**64), st.integers(1, 256))
def test_an_image_depends_only_on_seed_and_number(
    number: int,
    seed: int,
    categories: int,
) -> None:
    wanted = kinds()[:categories]
    jpeg, placed = render(number, wanted, seed, SMALL)
    again, placed_again = render(number, wanted, seed, SMALL)
    assert jpeg == again
    assert [each.box for each in placed] == [each.box for each in placed_again]
    assert jpeg != render(number + 1, wanted, seed, SMALL)[0]


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(64, 64), SMALL, (320, 240), (120, 200)]),
)
def test_boxes_are_tight_around_the_object_and_inside_the_image(
    seed: int,
    size: tuple[int, int],
) -> None:
    _, placed = paint(np.random.default_rng(seed), kinds()[:20], size)
    assert len(placed) <= 8  # with two that are no objects
    for each in placed:
        xmin, ymin, xmax, ymax = each.box
        assert 0 <= xmin <= xmax < size[0]
        assert 0 <= ymin <= ymax < size[1]
        covered = each.alpha >= 0.5
        assert covered.shape == (ymax - ymin + 1, xmax - xmin + 1)
        for edge in (covered[0], covered[-1], covered[:, 0], covered[:, -1]):
            assert edge.any()


def test_the_boxes_are_where_the_colour_is() -> None:
    """Rows and columns of strong colour end where the box ends, within a few pixels of noise and JPEG blur."""
    distances: list[int] = []
    for number in range(1, 60):
        jpeg, placed = render(number, kinds()[:64], 4, (320, 240))
        if len(placed) != 1 or placed[0].radius < 20:
            continue
        with Image.open(io.BytesIO(jpeg)) as picture:
            smooth = np.asarray(picture.filter(ImageFilter.MedianFilter(5))).astype(int)
        xmin, ymin, xmax, ymax = placed[0].box
        left = max(xmin - 8, 0)
        top = max(ymin - 8, 0)
        chroma = np.ptp(smooth, axis=2)[top : ymax + 9, left : xmax + 9]
        inside = np.ptp(smooth, axis=2)[ymin : ymax + 1, xmin : xmax + 1][
            placed[0].alpha == 1
        ]
        rows, columns = np.nonzero(chroma > np.percentile(inside, 5) * 0.9)
        measured = (
            columns.min() + left,
            rows.min() + top,
            columns.max() + left,
            rows.max() + top,
        )
        distances += [
            abs(int(a) - b) for a, b in zip(measured, placed[0].box, strict=True)
        ]
    assert len(distances) >= 20
    assert np.median(distances) <= 1
    assert np.mean(np.array(distances) <= 4) > 0.8


def test_names_say_fill_hue_and_shape() -> None:
    names = category_names(256)
    assert names[:3] == ("red-disc", "green-square", "blue-triangle")
    assert len(set(names)) == 256
    for name in names:
        *fill, hue, shape = name.split("-")
        assert hue in HUES
        assert shape in SHAPES
        assert fill in ([], ["striped"], ["checked"], ["dotted"])
    assert all(name.count("-") == 1 for name in names[:64])
    assert category_names(10) == names[:10]


def test_two_hundred_categories_occur_with_their_names(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        images=12,
        categories=200,
        size=SMALL,
    )
    truth = read_ground_truth(made.folder)
    assert truth.category_ids.tolist() == list(range(1, 201))
    assert truth.category_names == category_names(200)
    assert len(set(truth.category.tolist())) > 15


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_fills_its_window_but_not_beyond(shape: str) -> None:
    alpha = coverage(shape, 20.0, 1.0, 0.1)
    assert alpha.shape[0] == alpha.shape[1]
    assert (
        0
        == alpha[0].max()
        == alpha[-1].max()
        == alpha[:, 0].max()
        == alpha[:, -1].max()
    )
    assert alpha.max() == 1
    assert 0.1 < alpha.mean() < 0.8


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"images": 0}, "synthetic-images"),
        ({"categories": 0}, "synthetic-categories"),
        ({"categories": 257}, "synthetic-categories"),
        ({"seed": -1}, "synthetic-seed"),
        ({"size": (10, 240)}, "synthetic-size"),
        ({"size": (320, 10**6)}, "synthetic-size"),
    ],
)
def test_impossible_wishes_are_refused_and_leave_nothing(
    tmp_path: Path,
    arguments: dict[str, object],
    code: str,
) -> None:
    with pytest.raises(TestSetError) as caught:
        synthesize(tmp_path / "set", **({"images": 1} | arguments))  # type: ignore[arg-type]
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []
