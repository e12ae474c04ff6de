"""YOLO's text files as ground truth: the same numbers as of their import, and each wrong file by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lpirc_testsets import GroundTruth, TestSetError, read_ground_truth
from lpirc_testsets.truth_digest import truth_digest
from lpirc_testsets.yolo_import import import_yolo

Jpeg = Callable[..., bytes]
SIZE = (40, 20)


@pytest.fixture
def data(tmp_path: Path, jpeg: Jpeg) -> Path:
    """Three images of 40 x 20 in two folders, the last one without a text file."""
    root = tmp_path / "data"
    texts = {
        "val/a": "1 0.5 0.5 0.5 0.5\n\n0 0.1 0.2 0.2 0.4\n",
        "test/b": "0 0 0 1 0 1 1\n",
        "val/c": None,
    }
    for number, (name, text) in enumerate(texts.items()):
        image = root / "images" / f"{name}.jpg"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(jpeg(SIZE, seed=number))
        if text is not None:
            label = root / "labels" / f"{name}.txt"
            label.parent.mkdir(parents=True, exist_ok=True)
            label.write_text(text)
    (root / "data.yaml").write_text("nc: 2\nnames: ['ant', 'fox']\n")
    return root


def same(one: GroundTruth, other: GroundTruth) -> None:
    for name, value in vars(one).items():
        if name != "area":  # the set rounds the area of a polygon to its pixels
            assert np.array_equal(value, getattr(other, name)), name


def refused(path: Path, images: Path | None = None) -> TestSetError:
    with pytest.raises(TestSetError) as failure:
        read_ground_truth(path, images)
    return failure.value


def test_the_folder_has_the_numbers_that_its_import_would_have(data: Path) -> None:
    made = import_yolo(data / "data.yaml", data / "images", data.parent / "set")
    same(read_ground_truth(data), read_ground_truth(made.folder))


def test_boxes_are_in_pixels_and_class_0_is_category_1(data: Path) -> None:
    truth = read_ground_truth(data)
    assert truth.image_names == ("test/b.jpg", "val/a.jpg", "val/c.jpg")
    assert truth.category_names == ("ant", "fox")
    assert truth.image.tolist() == [1, 2, 2]
    assert truth.category.tolist() == [1, 2, 1]
    assert truth.coco_boxes[1].tolist() == [10, 5, 20, 10]
    assert truth.sizes == dict.fromkeys((1, 2, 3), SIZE)


@pytest.mark.parametrize("given", ["labels", "labels/val"])
def test_the_folder_of_texts_finds_its_images_and_names(data: Path, given: str) -> None:
    (data / "labels" / "val" / "classes.txt").write_text("ant\nfox\n")
    truth = read_ground_truth(data / given)
    assert truth.category_names == ("ant", "fox")
    assert len(truth.image) == (3 if given == "labels" else 2)


def test_images_may_lie_beside_the_texts_or_anywhere(
    tmp_path: Path,
    data: Path,
) -> None:
    expected = read_ground_truth(data)
    moved = tmp_path / "elsewhere"
    (data / "images").rename(moved)
    same(read_ground_truth(data, moved), expected)
    flat = tmp_path / "flat"
    flat.mkdir()
    (flat / "obj.names").write_text("ant\nfox\n")
    (flat / "a.txt").write_text("0 0.5 0.5 1 1\n")
    Image.new("RGB", (8, 4)).save(flat / "a.png")
    assert read_ground_truth(flat).coco_boxes.tolist() == [[0, 0, 8, 4]]


def test_a_number_without_a_name_keeps_the_places_of_the_others(data: Path) -> None:
    (data / "data.yaml").write_text("names:\n  1: fox\n  3: owl\n")
    truth = read_ground_truth(data)
    assert truth.category_ids.tolist() == [1, 2, 3, 4]
    assert truth.category_names == ("0", "fox", "2", "owl")


def test_every_bad_line_and_file_is_named(data: Path) -> None:
    (data / "labels" / "val" / "a.txt").write_text(
        "2 .5 .5 1 1\n0 .5 .5 1\n0 .5 .5 1 one\n"
    )
    (data / "labels" / "val" / "z.txt").write_text("0 .5 .5 1 1\n")
    (data / "images" / "val" / "c.jpg").write_text("no image")
    error = refused(data)
    assert error.code == "ground-truth-invalid"
    text = data / "labels" / "val" / "a.txt"
    assert error.problems == (
        f"{text}: line 1: class 2 has no name in {data}/data.yaml, which names 2 classes, counted from 0",
        f"{text}: line 2: 4 values, neither CLASS X Y WIDTH HEIGHT nor CLASS and the corners of a polygon",
        f"{text}: line 3: HEIGHT 'one' is not a finite number up to 1e+15",
        f"{data}/images/val/c.jpg: it is not an image whose size can be read",
        f"{data}/labels/val/z.txt: there is no image for it in {data}/images",
    )


def test_it_says_why_a_folder_is_read_as_yolo(data: Path) -> None:
    (data / "labels" / "val" / "a.txt").write_text("9 .5 .5 1 1\n")
    assert refused(data).sentence.endswith(
        "(the folder is read as YOLO's text files, since it has lines of numbers in .txt files, "
        "no manifest.json and no XML)"
    )


def test_one_text_alone_is_refused_with_what_to_name(data: Path) -> None:
    error = refused(data / "labels" / "val" / "a.txt")
    assert error.code == "ground-truth-unreadable"
    assert error.sentence.endswith("the names of the classes and the images: name their folder")  # fmt: skip


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ("data.yaml", "the names of the classes are missing: put data.yaml, classes.txt or obj.names into it"),
        ("images", "name their folder with --images FOLDER"),
    ],
)  # fmt: skip
def test_what_is_missing_is_asked_for(data: Path, gone: str, sentence: str) -> None:
    (data / gone).rename(data.parent / "away")
    error = refused(data)
    assert error.code == "ground-truth-missing"
    assert sentence in error.sentence


@pytest.mark.parametrize("layout", ["{}/images", "images/{}"])
def test_a_part_of_a_set_has_the_names_of_the_classes_above_it(
    tmp_path: Path,
    jpeg: Jpeg,
    layout: str,
) -> None:
    for part in ("train", "valid"):
        image = tmp_path / layout.format(part) / f"{part}.jpg"
        text = Path(str(image).replace("images", "labels")).with_suffix(".txt")
        for path in (image, text):
            path.parent.mkdir(parents=True)
        image.write_bytes(jpeg(SIZE))
        text.write_text("0 0.5 0.5 1 1\n")
    (tmp_path / "data.yaml").write_text("names: [ant]\n")
    (tmp_path / "README.roboflow.txt").write_text("made by\n")
    one = tmp_path / layout.format("valid").replace("images", "labels")
    assert read_ground_truth(one).image_names == ("valid.jpg",)
    assert len(read_ground_truth(tmp_path).image_names) == 2
    error = refused(tmp_path / "data.yaml")
    assert "the ground truth is the folder of YOLO's texts, such as labels/val" in error.sentence  # fmt: skip
    error = refused(tmp_path / layout.format("valid"))
    assert error.sentence.endswith(
        "it holds images: name the folder of their annotations"
    )


def test_a_folder_without_ground_truth_says_what_was_looked_for(tmp_path: Path) -> None:
    assert refused(tmp_path).sentence.endswith(
        "there are no annotations (XML) and no YOLO texts in it either"
    )


def test_a_text_that_two_images_share_is_refused(data: Path) -> None:
    image = data / "images" / "val" / "a.jpg"
    image.with_suffix(".PNG").write_bytes(image.read_bytes())
    text = data / "labels" / "val" / "a.txt"
    assert f"{text}: it is the text of 'val/a.jpg' and of an image" in refused(data).sentence  # fmt: skip


def test_a_data_yaml_without_names_is_named(data: Path) -> None:
    (data / "data.yaml").write_text("nc: 2\n")
    assert f"({data}/data.yaml: without `names`)" in refused(data).sentence


def test_names_behind_a_byte_order_mark_are_found(data: Path) -> None:
    (data / "data.yaml").write_text("\ufeffnames: [ant, fox]\n")
    assert read_ground_truth(data).category_names == ("ant", "fox")


def test_the_digest_is_that_of_what_the_files_say(data: Path) -> None:
    def digest() -> str:
        return truth_digest(data, read_ground_truth(data))

    first = digest()
    (data / "labels" / "val" / "a.txt").write_text(
        "1 0.5 0.5 0.5 0.5\n0 0.1 0.2 0.2 0.4"
    )
    assert digest() == first
    (data / "labels" / "val" / "a.txt").write_text("1 0.5 0.5 0.5 0.25\n")
    assert digest() != first
