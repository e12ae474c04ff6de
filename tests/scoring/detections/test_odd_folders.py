"""Folders of text files as they come: nothing in them is left out silently, and wrong units are told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lpirc_score import Detections
from lpirc_score.detections.files import HEADER, read_submission
from lpirc_score.errors import CodedError
from lpirc_score.metrics import units
from tests.scoring import oracle

TRUTH = replace(
    oracle.ground_truth([1, 2, 3], [1, 2], []),
    boxes=np.array([[1.0, 1, 9, 9]]),
    image_names=("a.jpg", "b.jpg", "val.jpg"),
    category_names=("person", "traffic light"),
    sizes=dict.fromkeys((1, 2, 3), (100, 50)),
)
GOOD = "0 .5 .5 .1 .1 1\n"
VOC = "a 1 1 1 2 2\n"


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def read(path: Path) -> tuple[Detections, tuple[str, ...]]:
    found = read_submission(path, TRUTH)
    return found.detections, found.warnings


def refused(path: Path) -> str:
    with pytest.raises(CodedError) as failure:
        read_submission(path, TRUTH)
    return failure.value.sentence


@pytest.mark.parametrize("start", ["\ufeff0 .5 .5 .1 .1 1\n", "0,.5,.5,.1,.1,1\n"])
def test_a_byte_order_mark_and_commas_are_read(tmp_path: Path, start: str) -> None:
    found, warnings = read(written(tmp_path, {"a.txt": GOOD, "b.txt": start}))
    assert (found.image.tolist(), warnings) == ([1, 2], ())
    (tmp_path / "a.txt").unlink()
    assert len(read(tmp_path)[0]) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# class x y w h\n0 .5 .5 .1 .1 1\n",  "line 1: class '#' is not a whole number in 0..1"),
        ("person .5 .5 .1 .1 1\n", "line 1: class 'person' is not a whole number in 0..1"),
        (GOOD.encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
        (
            "#\nété.jpg,1,\n".encode("cp1252"),
            "line 2 is not UTF-8; as Windows-1252 it reads 'été.jpg,1,'; save it as UTF-8",
        ),
    ],
)  # fmt: skip
def test_a_text_of_an_image_is_read_whatever_its_first_line_is(
    tmp_path: Path,
    text: str | bytes,
    sentence: str,
) -> None:
    folder = written(tmp_path, {"a.txt": GOOD, "b.txt": text})
    assert f"{tmp_path}/b.txt: {sentence}" in refused(folder)
    (folder / "a.txt").unlink()
    said = refused(folder)
    begins = "the first line of b.txt does not begin with five numbers"
    assert begins in said or said.endswith(f"b.txt: {sentence}")


def test_a_text_that_no_image_is_called_by_is_left_out_with_a_warning(
    tmp_path: Path,
) -> None:
    files = {"a.txt": GOOD, "README.txt": "made by\n", "classes.txt": "person\n"}
    found, warnings = read(written(tmp_path, files))
    assert len(found) == 1
    assert warnings == (
        f"{tmp_path}/README.txt: left out, since its first line is not CLASS X Y WIDTH HEIGHT CONFIDENCE "
        "and no image has its name",
    )


def test_an_image_may_be_called_as_a_list_of_images_is(tmp_path: Path) -> None:
    found, _ = read(written(tmp_path, {"val.txt": GOOD}))
    assert found.image.tolist() == [3]


@pytest.mark.parametrize(("known", "given"), [("val/a.jpg", "a"), ("a.jpg", "val/a")])
def test_results_of_a_part_say_what_the_ground_truth_has_instead(
    tmp_path: Path,
    known: str,
    given: str,
) -> None:
    folder = written(tmp_path, {f"{given}.txt": GOOD})
    hint = f"image '{given}' is unknown; the ground truth has '{known}', and folders are part of a name"
    with pytest.raises(CodedError, match=hint):
        read_submission(folder, replace(TRUTH, image_names=(known, "b.jpg", "c.jpg")))


@pytest.mark.parametrize("row", ["A.JPG,person", "a,Person", "C:\\x\\a.jpg,person"])
def test_a_name_that_is_nearly_right_is_told(tmp_path: Path, row: str) -> None:
    path = tmp_path / "found.csv"
    path.write_text(f"{HEADER}\n{row},1,1,1,9,9\n")
    meant = "person" if "P" in row[1:] and "J" not in row else "a.jpg"
    assert f"is unknown; the ground truth has '{meant}'" in refused(path)


def test_ground_truth_in_place_of_detections_is_not_taken_for_voc_results(
    tmp_path: Path,
) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("image,class,xmin,ymin,xmax,ymax\n1,1,1,1,9,9\n")
    assert "VOC" not in refused(path)


def test_two_texts_for_one_image_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.txt": GOOD, "a.jpg.txt": GOOD})
    assert (
        f"a.txt: line 1: its image has a text already, {folder}/a.jpg.txt"
        in refused(folder)
    )


def test_a_text_outside_labels_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {"labels/a.txt": GOOD, "b.txt": GOOD})
    assert f"b.txt: line 1: it lies outside {folder}/labels" in refused(folder)


def test_a_text_that_two_images_share_is_refused(tmp_path: Path) -> None:
    shared = replace(TRUTH, image_names=("a.jpg", "a.png", "b.jpg"))
    folder = written(tmp_path, {"a.txt": GOOD})
    with pytest.raises(CodedError, match=r"names 'a.jpg' .*, 'a.png' .*; give the who"):
        read_submission(folder, shared)
    (folder / "a.txt").rename(folder / "a.png.txt")
    assert read_submission(folder, shared).detections.image.tolist() == [2]


@pytest.mark.parametrize(
    "name",
    [
        "comp4-det-test-person.txt",
        "Comp4_det_test_person.txt",
        "person.txt",
        "classes.txt",
    ],
)
def test_voc_results_of_another_name_are_refused(tmp_path: Path, name: str) -> None:
    files = {"comp4_det_test_traffic light.txt": VOC, name: VOC}
    sentence = refused(written(tmp_path, files))
    assert f"{name}: line 1: these are VOC results, but its name is not like" in sentence  # fmt: skip


@pytest.mark.parametrize("name", ["Person", "traffic_light"])
def test_a_class_that_is_written_otherwise_is_named(tmp_path: Path, name: str) -> None:
    sentence = refused(written(tmp_path, {f"comp4_det_test_{name}.txt": VOC}))
    meant = name.replace("_", " ").lower()
    assert f"is not a category of the ground truth; the ground truth has '{meant}'" in sentence  # fmt: skip


def test_a_text_beside_voc_results_is_left_out_with_a_warning(tmp_path: Path) -> None:
    files = {"comp4_det_test_person.txt": VOC, "notes.txt": "made by\n"}
    found, (warning,) = read(written(tmp_path, files))
    assert len(found) == 1
    assert warning.startswith(f"{tmp_path}/notes.txt: left out, since its name is not")


def test_pixels_in_yolo_texts_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.txt": "0 50 25 10 10 1\n", "b.txt": "0 9 9 20 20 1\n"})  # fmt: skip
    assert "no centre X Y of 2 boxes lies within its image" in refused(folder)


@pytest.mark.parametrize(
    ("boxes", "words"),
    [
        (["0.1,0.1,0.5,0.5", "0,0,1,1"], "all boxes (2) lie within 0..1, as shares"),
        (["101,1,110,9", "1,51,9,60"], "all boxes (2) lie wholly outside their image, the first in image 'b.jpg'"),
        (["1,1,9,9", "-9,1,-1,9"], "1 of 2 boxes lie wholly outside their image"),
        (["1,1,9,9", "0,0,1,1"], None),
        (["100,50,100,50", "0,0,300,300"], None),
    ],
)  # fmt: skip
def test_boxes_in_another_unit_are_warned_of(
    tmp_path: Path,
    boxes: list[str],
    words: str | None,
) -> None:
    path = tmp_path / "found.csv"
    rows = [f"b.jpg,person,1,{box}" for box in boxes]
    path.write_text("\n".join([HEADER, *rows]))
    _, warnings = read(path)
    assert [words in one for one in warnings if words] == ([True] if words else [])
    assert len(warnings) == bool(words)


@pytest.mark.parametrize(
    ("boxes", "words"),
    [
        ([[0.25, 0.25, 0.5, 0.5]], "all boxes (1) lie within 0..1"),
        ([[60, 20, 80, 40], [5, 5, 20, 20]], "bbox is x, y, width, height, and these look like corners"),
        ([[60, 20, 80, 40], [50, 5, 20, 20]], None),
    ],
)  # fmt: skip
def test_corners_and_shares_in_coco_results_are_warned_of(
    tmp_path: Path,
    boxes: list[list[float]],
    words: str | None,
) -> None:
    path = tmp_path / "found.json"
    of = {"image_id": 1, "category_id": 1, "score": 1}
    path.write_text(json.dumps([of | {"bbox": box} for box in boxes]))
    _, warnings = read(path)
    assert len(warnings) == bool(words)
    assert all(words in one for one in warnings if words)


def test_pixels_among_shares_are_warned_of_as_such(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.txt": GOOD, "b.txt": "0 50 25 10 10 1\n"})
    _, (warning,) = read(folder)
    assert "the first in image 'b.jpg'; write shares of the image, from 0 to 1" in warning  # fmt: skip


def test_one_more_problem_is_told_as_one(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.txt": "9 .5 .5 .1 .1 1\n", "b.txt": "0 0 0 0 0\n"})
    assert "(and 1 more problem in 2 files)" in refused(folder)


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.txt": GOOD})
    (folder / "b.txt").symlink_to(folder / "none.txt")
    assert refused(folder).startswith(f"{folder}/b.txt: No such file")


def test_of_many_boxes_some_are_looked_at(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(units, "MOST_LOOKED_AT", 2)
    path = tmp_path / "found.csv"
    path.write_text("\n".join([HEADER, *["b.jpg,person,1,101,1,110,9"] * 5]))
    _, (warning,) = read(path)
    assert f"{path}: of one box in 3: all boxes (2) lie wholly outside" in warning


@pytest.mark.parametrize("end", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["found.csv", "found.json", "comp4_det_test_person.txt"])  # fmt: skip
def test_utf_16_is_named(tmp_path: Path, name: str, end: str) -> None:
    path = tmp_path / name
    path.write_bytes(f"{HEADER}\nb.jpg,person,1,1,1,9,9\n".encode(end))
    assert refused(path).startswith(f"{path}: it is UTF-16 text; save it as UTF-8")


@pytest.mark.parametrize("header", [f"{HEADER}\n", ""])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_than_commas_are_named(
    tmp_path: Path,
    header: str,
    separator: str,
) -> None:
    path = tmp_path / "found.csv"
    text = f"{header}1,1,1,1,1,9,9\n".replace(",", separator)
    path.write_text(text)
    if not header and separator == "\t":
        assert len(read(path)[0]) == 1  # the contest's own rows
        return
    name = "semicolons" if separator == ";" else "tabs"
    assert f"{name} separate its values: save it with commas" in refused(path)


def test_texts_named_by_class_are_told_the_names_of_voc_results(tmp_path: Path) -> None:
    files = {"person.txt": "1 .9 1 1 9 9\n", "traffic light.txt": "2 .9 1 1 9 9\n"}
    assert (
        "its files are named by class, such as person.txt; if they are VOC results, "
        "rename them like comp4_det_test_person.txt"
    ) in refused(written(tmp_path, files))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("person_det.txt", "comp4_det_test_person.txt"),
        ("det_test_person.txt", "comp4_det_test_person.txt"),
        ("results-traffic light.txt", "comp4_det_test_traffic light.txt"),
        ("traffic_light_val.txt", "comp4_det_test_traffic light.txt"),
        ("tram_det.txt", "comp4_det_test_CLASS.txt"),
    ],
)
def test_voc_lines_in_a_file_with_more_than_a_class_in_its_name_are_told_the_name(
    tmp_path: Path, name: str, wanted: str
) -> None:
    told = refused(written(tmp_path, {name: "000001 0.9 1 1 50 50\n"}))
    assert f"if they are VOC results, rename them like {wanted}" in told


def test_lines_of_yolo_in_a_file_with_a_class_in_its_name_stay_yolo(
    tmp_path: Path,
) -> None:
    told = refused(written(tmp_path, {"person_det.txt": GOOD}))
    assert "image 'person_det' is unknown" in told


def test_voc_lines_alone_in_a_folder_are_told_the_name_that_they_need(
    tmp_path: Path,
) -> None:
    said = "if they are VOC results, rename them like comp4_det_test_CLASS.txt"
    assert said in refused(written(tmp_path, {"person.txt": VOC}))


def test_the_folder_of_a_bundle_is_called_so(tmp_path: Path) -> None:
    said = "it is the bundle of a run; `referee bundle verify` judges it again"
    assert said in refused(written(tmp_path, {"manifest.dsse.json": "{}"}))
