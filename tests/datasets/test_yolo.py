"""YOLO's text files: folders as they come, names in every form, and each bad line by its name."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pycocotools.coco import COCO

from lpirc_testsets import (
    Reports,
    TestSetError,
    check,
    read_ground_truth,
    read_instances,
    run_lengths,
)
from lpirc_testsets.errors import Problems
from lpirc_testsets.yolo_import import import_yolo
from lpirc_testsets.yolo_names import read_classes
from referee.cli.testset_command import testset as command

Jpeg = Callable[..., bytes]
YAML = "path: ../data\ntrain: images/train\nval: images/val\nnc: 2\nnames: ['ant', 'fox']\n"


@pytest.fixture
def data(tmp_path: Path, jpeg: Jpeg) -> Path:
    """Images of 40 x 20 in nested folders of both kinds, one without text file."""
    root = tmp_path / "data"
    files = {
        "images/val/a.jpg": "1 0.5 0.5 0.5 0.5\n\n0 0.1 0.2 0.2 0.4\n",
        "images/val/b.jpg": "",
        "valid/images/c.jpg": "0 0.25 0.5 0.5 1.0\n",
        "valid/images/d.jpg": None,
    }
    for number, (file, text) in enumerate(files.items()):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg((40, 20), seed=number))
        if text is not None:
            label = root / file.replace("images", "labels").replace(".jpg", ".txt")
            label.parent.mkdir(parents=True, exist_ok=True)
            label.write_text(text)
    (root / "data.yaml").write_text(YAML)
    return root


def refused(data: Path, images: str = ".") -> TestSetError:
    with pytest.raises(TestSetError) as failure:
        import_yolo(data / "data.yaml", data / images, data.parent / "set")
    assert not (data.parent / "set").exists()
    return failure.value


def test_nested_folders_of_both_layouts_are_found_from_the_root(data: Path) -> None:
    reports = Reports()
    made = import_yolo(data / "data.yaml", data, data.parent / "set", reports=reports)
    assert [one.file for one in made.images] == [
        "images/val/a.jpg",
        "images/val/b.jpg",
        "valid/images/c.jpg",
        "valid/images/d.jpg",
    ]
    truth = read_ground_truth(made.folder)
    assert truth.category_names == ("ant", "fox")
    assert truth.image.tolist() == [1, 1, 3]
    assert truth.category.tolist() == [2, 1, 1]
    assert truth.coco_boxes.tolist() == [[10, 5, 20, 10], [0, 0, 8, 8], [0, 0, 20, 20]]
    assert check(made.folder) == ()
    assert reports.notes == ["1 of 4 images have no text file, so no objects."]


def test_one_folder_of_images_has_the_same_text_files(data: Path) -> None:
    made = import_yolo(data / "data.yaml", data / "images/val", data.parent / "set")
    assert [one.file for one in made.images] == ["a.jpg", "b.jpg"]
    assert made.objects == 2


def test_the_folder_of_text_files_can_be_named_or_be_that_of_the_images(
    data: Path,
) -> None:
    (data / "labels").rename(data / "texts")
    named = import_yolo(
        data / "data.yaml",
        data / "images/val",
        data.parent / "named",
        labels=data / "texts/val",
    )
    assert named.objects == 2
    beside = data / "beside"
    (data / "images/val").rename(beside)
    (data / "texts/val/a.txt").rename(beside / "a.txt")
    made = import_yolo(data / "data.yaml", beside, data.parent / "set")
    assert made.objects == 2


def test_the_command_says_what_it_left_out(data: Path) -> None:
    (data / "images/val/e.png").write_bytes(b"\x89PNG")
    (data / "labels/val/f.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    result = CliRunner().invoke(
        command,
        [
            "import",
            "yolo",
            *("--classes", str(data / "data.yaml")),
            *("--images", str(data)),
            *("--out", str(data.parent / "set")),
        ],
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "4 images (2 without objects), 3 objects in 2 of 2 categories" in lines[0]
    assert lines[1] == f"{data}: left out, since they are not JPEG: images/val/e.png."
    assert lines[2] == "1 of 4 images have no text file, so no objects."
    assert "f.txt" in lines[3]
    assert len(lines) == 4


BAD_LINES = {
    "2 0.5 0.5 0.1 0.1": "data.yaml, which names 2 classes, counted from 0",
    "-1 0.5 0.5 0.1 0.1": "class '-1' is not a whole number from 0",
    "1.0 0.5 0.5 0.1 0.1": "class '1.0' is not a whole number from 0",
    "\u0661 0.5 0.5 0.1 0.1": "is not a whole number from 0",
    "9999999999999999999 0.5 0.5 0.1 0.1": "is not a whole number from 0",
    "0 0.5 0.5 0.1": "4 values, neither CLASS X Y WIDTH HEIGHT nor CLASS and the corners of a polygon",
    "0 0.5 0.5 0.1 0.1 0.93": "6 values, neither",
    "0 x 0.5 0.1 0.1": "X 'x' is not a finite number",
    "0 nan 0.5 0.1 0.1": "X 'nan' is not a finite number",
    "0 0.5 0.5 0 0.1": "WIDTH 0 and HEIGHT 0.1 must be above 0",
    "0 0.5 0.5 0.1 -0.1": "WIDTH 0.1 and HEIGHT -0.1 must be above 0",
    "0 0.95 0.5 0.2 0.1": "the box leaves the image's width of 40 pixels by 2.0",
    "0 0.5 0.0 0.2 0.2": "the box leaves the image's height of 20 pixels by 2.0",
    "0 20 10 8 4": "X is 20, and a share of the image is from 0 to 1: are these pixels?",
    "0 0.5 0.5 8 4": "WIDTH is 8, and a share",
    "0 20 1 30 1 30 9": "a corner is 20, and a share",
    "0 0.1 0.1 0.9 0.1 0.5 1.5": "the polygon leaves the image by 10.0 pixels",
    "0 0.1 0.1 0.1 0.9 0.1 0.5": "the polygon has no width or no height",
    "0 0.1 0.1 0.1 inf 0.1 0.5": "a corner 'inf' is not a finite number",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_every_bad_line_is_named_with_its_value(data: Path, line: str) -> None:
    file = data / "labels/val/a.txt"
    file.write_text(f"1 0.5 0.5 0.5 0.5\n{line}\n", encoding="utf-8")
    error = refused(data)
    assert len(error.problems) == 1
    assert error.sentence.startswith(f"{file}: line 2: ")
    assert BAD_LINES[line] in error.sentence


def test_a_class_without_a_name_may_be_missing_in_the_file_of_names(data: Path) -> None:
    (data / "labels/val/a.txt").write_text("2 0.5 0.5 0.1 0.1\n", encoding="utf-8")
    names = data / "data.yaml"
    reports = Reports()
    with pytest.raises(TestSetError):
        import_yolo(names, data, data.parent / "set", reports=reports)
    assert (
        reports.problems.rows[0].remedy
        == f"add its name to {names}, or correct the line"
    )


def test_all_bad_lines_are_named_at_once(data: Path) -> None:
    (data / "labels/val/a.txt").write_text("\n".join(BAD_LINES), encoding="utf-8")
    (data / "labels/val/b.txt").write_bytes(b"\xff\xfe0 0.5")
    error = refused(data)
    assert len(error.problems) == len(BAD_LINES) + 1
    assert "b.txt: line 1 is not UTF-8; as Windows-1252 it" in error.problems[-1]


def test_a_box_that_leaves_the_image_by_rounding_ends_at_the_edge(data: Path) -> None:
    (data / "labels/val/a.txt").write_text("0 0.166667 0.5 0.333338 1.000001\n")
    made = import_yolo(data / "data.yaml", data, data.parent / "set")
    x, y, _, height = read_ground_truth(made.folder).coco_boxes[0].tolist()
    assert (x, y, height) == (0, 0, 20)
    assert check(made.folder) == ()


def test_polygons_are_instances_with_the_box_around_them(data: Path) -> None:
    polygon = [0.1, 0.2, 0.9, 0.25, 0.55, 0.95]
    for file in data.rglob("*.txt"):
        file.write_text("")
    (data / "labels/val/a.txt").write_text(f"1 {' '.join(map(str, polygon))}\n")
    made = import_yolo(data / "data.yaml", data, data.parent / "set")
    _, instances = read_instances(made)
    (one,) = instances[1]
    assert np.allclose(one.box, [4, 4, 32, 15])
    theirs = COCO(str(made.ground_truth_path))
    (annotation,) = theirs.loadAnns(theirs.getAnnIds([1]))
    assert theirs.annToRLE(annotation)["counts"].decode() == one.counts
    assert run_lengths.area(one.counts, 20, 40) == one.area == annotation["area"]


def test_no_text_file_at_all_says_where_the_first_would_be(data: Path) -> None:
    (data / "labels").rename(data / "texts")
    error = refused(data, "images")
    assert error.sentence == (
        f"none of 2 images has a text file: that of val/a.jpg would be {data / 'labels/val/a.txt'}"
    )


def test_text_files_without_objects_are_no_set(data: Path) -> None:
    for file in data.rglob("*.txt"):
        file.write_text("\n")
    assert refused(data).sentence == "no objects in any of the text files"


def test_a_photograph_that_is_shown_turned_is_named(data: Path) -> None:
    picture = Image.new("RGB", (40, 20))
    exif = picture.getexif()
    exif[274] = 6
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif)
    (data / "images/val/a.jpg").write_bytes(out.getvalue())
    sentence = refused(data).sentence
    assert (
        "a.jpg: its EXIF data say that it is shown turned (orientation 6)" in sentence
    )


def test_a_broken_image_is_named_once(data: Path) -> None:
    (data / "images/val/a.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
    error = refused(data)
    assert len(error.problems) == 1
    assert "a.jpg: cannot be decoded" in error.sentence


FORMS = {
    "names: [ant, 'red fox', \"bee\"]  # three": ["ant", "red fox", "bee"],
    "nc: 2\nnames: [ 'person',\n  'it''s, a [dog]' ] # end\nroboflow:\n  version: 1\n": [
        "person",
        "it's, a [dog]",
    ],
    "names:\n- ant\n- 'fox'\nnc: 2": ["ant", "fox"],
    "names:\n  - ant\n\n  # some\n  - fox # red\ntrain: x": ["ant", "fox"],
    'names:\n  0: traffic light\n  1: "fox"\ndownload: |\n  names: x\n': [
        "traffic light",
        "fox",
    ],
    "names: {0: ant, 1: fox}": ["ant", "fox"],
    "names:\n  - chair, with arms\n  - ratio 4:3\n": ["chair, with arms", "ratio 4:3"],
    "train: names: x\nnames: [5, 6]": ["5", "6"],
    "\ufeffnames: [ant, fox]": ["ant", "fox"],
    '{"nc": 2, "names": ["ant", "f\\u00f6x"]}': ["ant", "f\u00f6x"],
    "---\n{names: {0: ant,\n 1: fox}, nc: 2}\n": ["ant", "fox"],
    "\"names\": ['ant']\n'nc': 1\n": ["ant"],
    "names:\n  '0': ant\n  \"1\": fox\n": ["ant", "fox"],
    "names: [x's, it\"s, c#, no] # 4\n": ["x's", 'it"s', "c#", "no"],
    'names:\n  - x\'s\n  - say "no"\n': ["x's", 'say "no"'],
    'names: ["a \\"b\\"", "\\x41\\u0042\\\\", "\\ud83d\\ude00"]\n': [
        'a "b"',
        "AB\\",
        "\U0001f600",
    ],
    "names:\n  [ant, # one\n   fox]\n": ["ant", "fox"],
    "names:\r\n  0: ant\r\n  1: fox # two\r\nnc: 2\r\n": ["ant", "fox"],
}


@pytest.mark.parametrize("text", FORMS)
def test_names_in_each_form_of_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.yaml"
    path.write_bytes(text.encode())
    problems = Problems()
    assert read_classes(path, problems) == dict(enumerate(FORMS[text]))
    assert problems.kept == ()


def test_numbers_of_names_may_have_gaps(tmp_path: Path) -> None:
    path = tmp_path / "data.yml"
    path.write_text("names:\n  3: ant\n  10: fox\n")
    assert read_classes(path, Problems()) == {3: "ant", 10: "fox"}


@settings(max_examples=300)
@given(st.text("names:[]{},'\"-# \n012abc\t\\\u0663\u00b2", max_size=60))
def test_names_in_any_text_are_read_or_named(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.yaml"
        path.write_text(f"names:{text}", encoding="utf-8")
        problems = Problems()
        try:
            found = read_classes(path, problems)
        except TestSetError:
            return
        assert found or problems.count


BAD_NAMES = {
    "train: x\n": "no line that begins with `names:`",
    "names: ant\n": "names: 'ant' is not a list of names",
    "names: [ant, fox\n": "names: the list has no ']' at its end",
    "names: [ant, [fox]]\n": "names: class '1' has a list and no name",
    "names: [ant fox\n  bee]\n": "'bee]' cannot be read as names: a comma or ']' is missing",
    "names: &all [ant]\n": "'&all [ant]': anchors, aliases and tags are not read",
    "names: *all\n": "'*all': anchors, aliases and tags are not read; write the names",
    "names:\n  - &one ant\n": "anchors (&) are not read; write the names themselves",
    "names:\n  0: !!str ant\n": "tags (!) are not read",
    "names:\n  0: |\n    ant\n": "block texts (|) are not read",
    "names:\n  - traffic\n    light\n": "'light' does not continue the list before it",
    "names:\n  traffic\n  light\n": "'traffic' is not a name, or NUMBER: NAME",
    "names:\n  - ant\n  1: fox\n": "'1: fox' does not continue the list before it",
    "names:\n  - 0: ant\n": "'0: ant' is not a name; quote what has a colon",
    "names:\n  - - ant\n": "'- ant' is not a name",
    "names:\n  0:\n  1: fox\n": "'' is not a name",
    "names: [ant, ~]\n": "~ is nothing to YAML; quote it if it is a name",
    "names: {ant: 0}\n": "'ant' is not the number of a class",
    "names: {007: ant}\n": "'007' is not the number of a class",
    "names: {0:ant}\n": "'0:ant' has no value after a colon and a blank",
    "names: ['\\q', \"\\q\"]\n": "is no escape of YAML",
    "names: [ant]\nnames: [fox]\n": "names: the key is there twice",
    "{names: [ant], names: [fox]}": "names: the key is there 2 times, not once",
    "names: [ant] fox\n": "' fox' stands behind the list",
    f"names: {'[' * 9999}": "nested too deep",
    "names: [ant, ant]\n": "the name 'ant' is used 2 times",
    "names: []\n": "no names in it",
    "names:\ntrain: x\n": "no names in it",
    "nc: 3\nnames: [ant, fox]\n": "nc is 3, but there are 2 names",
    "names: {0: ant, 0: fox}\n": "class 0 is not a number of its own",
    "names: ['', fox]\n": "names: 0: '' is not a name",
}


@pytest.mark.parametrize("text", BAD_NAMES)
def test_names_that_cannot_be_read_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.yaml"
    path.write_text(text)
    problems = Problems()
    read_classes(path, problems)
    assert any(BAD_NAMES[text] in one for one in problems.kept), problems.kept
    assert all(one.startswith(f"{path}: ") for one in problems.kept)


def test_a_file_of_names_has_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "classes.txt"
    path.write_text("\ufeffant\nred fox\n\n", encoding="utf-8")
    assert read_classes(path, Problems()) == {0: "ant", 1: "red fox"}
    path.write_text("ant\n\nant\n")
    problems = Problems()
    read_classes(path, problems)
    assert [one.removeprefix(f"{path}: ") for one in problems.kept] == [
        "the name 'ant' is used 2 times",
        "line 2: '' is not a name",
    ]
    with pytest.raises(TestSetError, match=re.escape("no such file")):
        read_classes(tmp_path / "none.yaml", Problems())


def test_the_same_command_makes_the_same_set(data: Path) -> None:
    digests = []
    for name in ("one", "two"):
        made = import_yolo(data / "data.yaml", data, data.parent / name)
        digests.append(made.digest)
        document = json.loads(made.ground_truth_path.read_text())
        assert "info" not in document
    assert digests[0] == digests[1]
