"""Folders of several kinds are refused with what was found; tables are read from Parquet as from CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lpirc_testsets import TestSetError, read_ground_truth
from lpirc_testsets.folder_content import voc_results_class

COLUMNS = {
    "image": [3, 3, 5],
    "class": [7, 8, 7],
    "xmin": [1.0, 2.5, 1.0],
    "ymin": [1.0, 2.0, 1.0],
    "xmax": [9.0, 9.0, 9.0],
    "ymax": [9.0, 9.5, 9.0],
}


def annotation(name: str) -> str:
    return (
        f"<annotation><filename>{name}</filename><object><name>cat</name><bndbox>"
        "<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"
    )


def refused(path: Path) -> TestSetError:
    with pytest.raises(TestSetError) as failure:
        read_ground_truth(path)
    return failure.value


def test_a_folder_of_several_kinds_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(annotation("a"))
    (tmp_path / "b.xml").write_text(annotation("b"))
    (tmp_path / "a.txt").write_text("0 .5 .5 .1 .1\n")
    (tmp_path / "all.json").write_text(json.dumps({"annotations": []}))
    error = refused(tmp_path)
    assert error.code == "ground-truth-mixed"
    assert error.sentence == (
        f"{tmp_path}: it holds 1 YOLO text file (a.txt), 2 XML files (a.xml, ...) and 1 JSON file (all.json), "
        "and which of them counts is not known: name one file, or a folder with files of one kind"
    )


def test_annotations_count_whatever_lies_beside_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "Annotations"
    folder.mkdir()
    (folder / "a.xml").write_text(annotation("a"))
    (tmp_path / "ImageSets").mkdir()
    (tmp_path / "ImageSets" / "cat_val.txt").write_text("2008_000008 -1\n")
    (tmp_path / "all.json").write_text(json.dumps({"annotations": []}))
    assert len(read_ground_truth(tmp_path).image) == 1
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.txt").write_text("0 .5 .5 .1 .1\n")
    assert refused(tmp_path).code == "ground-truth-mixed"


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        (("a.json", "b.json"), "it holds 2 JSON files (a.json, ...): name a file, not its folder"),
        (("comp4_det_test_cat.txt",), "which are detections and no ground truth"),
        (("detections.csv", "readings.csv", "events.jsonl"), "it is what `referee run export` writes"),
    ],
)  # fmt: skip
def test_a_folder_without_ground_truth_says_what_else_it_holds(
    tmp_path: Path,
    files: tuple[str, ...],
    hint: str,
) -> None:
    for name in files:
        (tmp_path / name).write_text('"image_id" xmin,ymin,xmax,ymax\n')
    error = refused(tmp_path)
    assert error.code == "testset-not-a-testset"
    assert hint in error.sentence


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("comp4_det_test_cat.txt", "cat"),
        ("comp3_det_val_traffic_light.txt", "traffic_light"),
        ("comp4_det_test_.txt", None),
        ("comp4_cls_test_cat.txt", None),
        ("my_det_test_cat.txt", None),
    ],
)
def test_the_class_of_voc_results_is_in_the_name(name: str, found: str | None) -> None:
    assert voc_results_class(Path(name)) == found


def test_parquet_is_read_as_a_csv_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "truth.parquet"
    parquet.write_table(pa.table(COLUMNS), path)
    table = tmp_path / "truth.csv"
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    table.write_text("\n".join([",".join(COLUMNS), *lines]))
    ours = read_ground_truth(path)
    theirs = read_ground_truth(table)
    assert ours.boxes.tolist() == theirs.boxes.tolist()
    assert ours.category.tolist() == theirs.category.tolist() == [7, 8, 7]
    unnamed = path.rename(tmp_path / "truth")
    assert read_ground_truth(unnamed).image.tolist() == [3, 3, 5]


def test_what_is_wrong_with_parquet_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "truth.parquet"
    parquet.write_table(pa.table(COLUMNS | {"xmax": [0.0, 9.0, None]}), path)
    assert refused(path).problems == (
        f"{path}: row 1: the box '1,1,0,9' is inverted",
        f"{path}: row 3: xmax 'nan' is not a finite number up to 1e+15",
    )
    parquet.write_table(pa.table({"image": [1]}), path)
    assert "the column class is missing; it has 'image'" in refused(path).sentence
    parquet.write_table(pa.table(COLUMNS | {"score": [0.5, 0.5, 0.5]}), path)
    assert "it has a column score, so these are detections" in refused(path).sentence
    parquet.write_table(pa.table(COLUMNS | {"image": [True, True, False]}), path)
    assert "row 1: image 'True' is not a whole number" in refused(path).sentence
    flags = {"difficult": [True, False, False]}
    parquet.write_table(pa.table(COLUMNS | flags), path)
    assert read_ground_truth(path).difficult.tolist() == flags["difficult"]
    path.write_bytes(b"PAR1 and no more")
    assert "not a Parquet file" in refused(path).sentence
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = refused(path)
    assert error.code == "no-pyarrow"
    assert "pip install pyarrow" in error.sentence


def test_a_folder_of_images_needs_names_in_the_ground_truth(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("image,class,xmin,ymin,xmax,ymax\n3,7,1,1,9,9\n")
    with pytest.raises(TestSetError, match=r"is a folder, but .* does not name its im"):
        read_ground_truth(path, tmp_path)


def test_sizes_of_images_are_found_whatever_their_suffix_is(
    tmp_path: Path,
    jpeg: Callable[..., bytes],
) -> None:
    truth = tmp_path / "truth"
    images = tmp_path / "images"
    for folder in (truth, images):
        folder.mkdir()
    for place, name in enumerate(("a", "b.jpg", "c.PNG"), start=1):
        (truth / f"{place}.xml").write_text(annotation(name))
    with pytest.raises(TestSetError, match=r"none of the 3 images of .* first is 'a'"):
        read_ground_truth(truth, images)
    for name in ("a.JPEG", "b.JPG", "c.png"):
        (images / name).write_bytes(jpeg((40, 20)))
    sizes = read_ground_truth(truth, images).sizes
    assert sizes == dict.fromkeys((1, 2, 3), (40, 20))


def test_an_empty_folder_of_images_is_refused_also_where_no_size_is_missing(
    tmp_path: Path,
) -> None:
    truth = tmp_path / "truth.json"
    image = {"id": 1, "file_name": "a.jpg", "width": 40, "height": 20}
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9]}
    document = {
        "images": [image],
        "categories": [{"id": 1, "name": "disc"}],
        "annotations": [box],
    }
    truth.write_text(json.dumps(document))
    with pytest.raises(TestSetError, match=r"no image is in it or its subfolders; nam"):
        read_ground_truth(truth, tmp_path)
