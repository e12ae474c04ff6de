from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_score import evaluate
from lpirc_score.errors import CodedError
from lpirc_score.files.reading import read_detections, read_truth

TRUTH = "image,class,xmin,ymin,xmax,ymax\n3,7,1,1,10,10\n"


def written(folder: Path, rows: str) -> tuple[Path, Path]:
    truth = folder / "truth.csv"
    truth.write_text(TRUTH)
    found = folder / "found.csv"
    found.write_text(f"image,class,confidence,xmin,ymin,xmax,ymax\n{rows}\n")
    return truth, found


def test_names_of_files_may_be_text(tmp_path: Path) -> None:
    truth, found = written(tmp_path, "3,7,0.5,1,1,10,10")
    known = read_truth(str(truth))
    assert evaluate(known, read_detections(str(found), known)).map == 1


def test_a_list_adds_the_images_without_objects(tmp_path: Path) -> None:
    truth, _ = written(tmp_path, "")
    images = tmp_path / "images.csv"
    images.write_text("image\n3\n4\n")
    assert read_truth(truth, str(images)).image_ids.tolist() == [3, 4]


def test_an_inverted_box_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    truth, found = written(tmp_path, "3,7,0.5,10,1,1,10")
    known = read_truth(truth)
    with pytest.raises(CodedError, match=r"line 2: the box 10, 1, 1, 10 is inverted"):
        read_detections(found, known)
    with pytest.warns(UserWarning, match="inverted; scored unchanged"):
        assert len(read_detections(found, known, inverted_boxes=True)) == 1


def test_what_the_command_warns_of_is_a_warning_in_python(tmp_path: Path) -> None:
    truth, found = written(tmp_path, "3,7,0.5,0.1,0.1,0.9,0.9")
    with pytest.warns(UserWarning, match=r"all boxes \(1\) lie within 0\.\.1"):
        assert len(read_detections(found, read_truth(truth))) == 1


def test_rows_that_a_csv_has_twice_are_told_and_each_counts_as_in_the_official_program(
    tmp_path: Path,
) -> None:
    truth, found = written(tmp_path, "3,7,0.5,1,1,10,10")
    known = read_truth(truth)
    one = evaluate(known, read_detections(found, known), "ilsvrc-det")
    truth.write_text(f"{TRUTH}3,7,20,20,30,30\n3,7,1,1,10,10\n")
    told = r"truth\.csv: 1 row repeats an earlier one, .* image 3, class 7, box 1, 1, "
    with pytest.warns(UserWarning, match=told):
        known = read_truth(truth)
    three = evaluate(known, read_detections(found, known), "ilsvrc-det")
    assert (one.map, three.map) == (1, 1 / 3)
