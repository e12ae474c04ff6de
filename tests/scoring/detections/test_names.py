"""Names of digits: never taken for the id of another image or category, and refused where they might be either."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lpirc_score.cli.analysis_options import Asked
from lpirc_score.cli.chosen_parts import chosen_of
from lpirc_score.detections.files import HEADER, read_blacklist, read_detections
from lpirc_score.detections.files.tables import EXPORT_HEADER
from lpirc_score.errors import CodedError
from lpirc_testsets import GroundTruth
from tests.scoring import oracle

BOX = "0.5,1,1,3,3"
TRUTH = replace(
    oracle.ground_truth([1, 2, 17], [1, 2], []),
    image_names=("17.jpg", "000002.jpg", "2.jpg"),
    category_names=("2", "1"),
    sizes=dict.fromkeys((1, 2, 17), (10, 10)),
)
NAMED = replace(TRUTH, category_names=("cat", "dog"))
BOTH = "is ambiguous: it is an id, and it names"


def asked(**options: object) -> Asked:
    nothing = Asked(
        flags=(),
        shown=(),
        img_ids=None,
        cat_ids=None,
        no_cats=False,
        slices=(),
        confidence=None,
        is_lenient=False,
        html=None,
    )
    return replace(nothing, **options)  # type: ignore[arg-type]  # options by name


def refused(path: Path, truth: GroundTruth = TRUTH) -> str:
    with pytest.raises(CodedError) as failure:
        read_detections(path, truth)
    return failure.value.sentence


def test_the_stem_of_a_yolo_text_is_a_name_and_never_an_id(tmp_path: Path) -> None:
    for name in ("17", "000002", "2"):
        (tmp_path / f"{name}.txt").write_text("0 .5 .5 .1 .1 1\n")
    found = read_detections(tmp_path, NAMED)
    assert found.image.tolist() == [2, 1, 17]
    (tmp_path / "1.txt").write_text("0 .5 .5 .1 .1 1\n")
    assert f"{tmp_path}/1.txt: line 1: no image has the name '1'" in refused(
        tmp_path, NAMED
    )


def test_images_and_class_of_voc_results_are_names_and_never_ids(
    tmp_path: Path,
) -> None:
    path = tmp_path / "comp4_det_test_1.txt"
    path.write_text("17 1 1 1 2 2\n000002 1 1 1 2 2\n2.jpg 1 1 1 2 2\n")
    found = read_detections(path, TRUTH)
    assert found.image.tolist() == [1, 2, 17]
    assert found.category.tolist() == [2, 2, 2]


def test_ids_name_what_the_ground_truth_has_no_name_for(tmp_path: Path) -> None:
    path = tmp_path / "comp4_det_test_1.txt"
    path.write_text("17 1 1 1 2 2\n")
    nameless = replace(TRUTH, image_names=("", "", ""))
    assert read_detections(path, nameless).image.tolist() == [17]


def test_names_beside_yolo_texts_are_never_ids(tmp_path: Path) -> None:
    (tmp_path / "17.txt").write_text("0 .5 .5 .1 .1 1\n1 .5 .5 .1 .1 1\n")
    (tmp_path / "classes.txt").write_text("1\n2\n")
    assert read_detections(tmp_path, TRUTH).category.tolist() == [2, 1]


@pytest.mark.parametrize("written", ["17", "17.0"])
def test_a_text_in_a_table_that_is_an_id_and_a_name_is_refused(
    tmp_path: Path,
    written: str,
) -> None:
    path = tmp_path / "found.csv"
    path.write_text(f"{HEADER}\n{written},1,{BOX}\n")
    for truth in (TRUTH, NAMED):
        assert refused(path, truth).startswith(
            f"{path}: line 2: image '17' {BOTH} '17.jpg' (id 1); write id:17 or name:17"
        )
    path.write_text(f"17 1 {BOX.replace(',', ' ')}\n")
    assert f"line 1: image '17' {BOTH}" in refused(path, NAMED)


@pytest.mark.parametrize(
    ("written", "image"),
    [("id:17", 17), ("name:17", 1), ("17.jpg", 1), ("000002", 2), ("1", 1)],
)
def test_what_is_unmistakable_in_a_table_is_read(
    tmp_path: Path,
    written: str,
    image: int,
) -> None:
    path = tmp_path / "found.csv"
    path.write_text(f"{HEADER}\n{written},dog,{BOX}\n")
    found = read_detections(path, NAMED)
    assert found.image.tolist() == [image]


def test_a_class_that_is_an_id_and_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "found.csv"
    path.write_text(f"{HEADER}\n1,2,{BOX}\n")
    assert f"category '2' {BOTH} '2' (id 1); write id:2 or name:2" in refused(path)
    path.write_text(f"{HEADER}\n1,id:2,{BOX}\n1,name:2,{BOX}\n")
    assert read_detections(path, TRUTH).category.tolist() == [2, 1]


def test_lists_of_parts_and_blacklists_refuse_them_as_well(tmp_path: Path) -> None:
    def ids(**options: object) -> object:
        chosen = chosen_of(asked(**options), TRUTH)
        return chosen.images or chosen.categories

    with pytest.raises(CodedError, match=f"--cat-ids: entry 1: category '1' {BOTH}"):
        ids(cat_ids="1")
    with pytest.raises(CodedError, match="entry 1: category 'id' is unknown"):
        ids(cat_ids="id,1")
    with pytest.raises(CodedError, match=f"--img-ids: 17 is no file, .* {BOTH}"):
        ids(img_ids="17")
    assert ids(cat_ids="id:1") == (1,)
    assert ids(cat_ids="name:1") == (2,)
    assert ids(img_ids="name:17,id:17") == (1, 17)
    banned = tmp_path / "banned.csv"
    banned.write_text("image,class\n17,id:1\n")
    with pytest.raises(CodedError, match=BOTH):
        read_blacklist(banned, TRUTH)


def test_an_export_has_ids_whatever_the_names_are(tmp_path: Path) -> None:
    row = "1,0.5,9,17,2.jpg,1,2,1,0.5,1,1,3,3"
    path = tmp_path / "detections.csv"
    path.write_text(f"{EXPORT_HEADER}\n{row}\n")
    columns = EXPORT_HEADER.split(",")
    table: dict[str, list[object]] = {}
    for name, cell in zip(columns, row.split(","), strict=True):
        table[name] = [cell if name in ("file", "name") else float(cell)]
    parquet.write_table(pa.table(table), tmp_path / "detections.parquet")
    for file in tmp_path.iterdir():
        found = read_detections(file, TRUTH)
        assert (found.image.tolist(), found.category.tolist()) == ([17], [2])


def test_numbers_in_coco_results_are_ids_and_texts_are_names(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    entry = {"category_id": 2, "bbox": [1, 1, 2, 2], "score": 1}

    def images(*ids: object) -> list[int]:
        path.write_text(json.dumps([entry | {"image_id": id_} for id_ in ids]))
        return read_detections(path, NAMED).image.tolist()

    assert images(17, 17.0, "17.jpg", "name:17", "000002") == [17, 17, 1, 1, 2]
    assert images(17) == [17]
    with pytest.raises(CodedError, match=f"entry 2: image '17' {BOTH}"):
        images(1, "17")
    with pytest.raises(CodedError, match="entry 1: image_id True is unknown"):
        images(True)


def test_a_name_that_several_images_have_is_refused(tmp_path: Path) -> None:
    twice = replace(NAMED, image_names=("a.jpg", "a.jpg", "b.jpg"))
    path = tmp_path / "comp4_det_test_cat.txt"
    for text in ("a.jpg", "a"):
        path.write_text(f"{text} 1 1 1 2 2\n")
        sentence = refused(path, twice)
        assert f"image {text!r} is ambiguous: it names 'a.jpg' (id 1), 'a.jpg' (id 2)" in sentence  # fmt: skip
