"""Labels of a set for classification: reading, importing, checking."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_labels,
    load_test_set,
    read_labels,
)
from referee.cli.testset_command import testset as command

Jpeg = Callable[..., bytes]


@pytest.fixture
def pictures(tmp_path: Path, jpeg: Jpeg) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, name in enumerate(("c.jpg", "a.jpg", "b.jpg", "unlabelled.jpg")):
        (folder / name).write_bytes(jpeg(seed=number))
    return folder


def labelled(
    tmp_path: Path,
    pictures: Path,
    text: str = "file,label\nc.jpg,7\na.jpg,1000\nb.jpg,1\n",
) -> TestSet:
    given = tmp_path / "given.csv"
    given.write_text(text, encoding="utf-8")
    return import_labels(given, pictures, tmp_path / "set")


def complaint(test_set: TestSet, text: str) -> TestSetError:
    test_set.labels_path.write_text(text, encoding="utf-8")
    with pytest.raises(TestSetError) as failure:
        read_labels(test_set)
    assert "\n" not in failure.value.sentence
    assert check(test_set.folder)
    return failure.value


def test_images_are_numbered_by_name_and_have_their_labels(
    tmp_path: Path,
    pictures: Path,
) -> None:
    made = labelled(tmp_path, pictures)
    assert [image.file for image in made.images] == ["a.jpg", "b.jpg", "c.jpg"]
    labels = read_labels(load_test_set(made.folder))
    assert labels.by_image.tolist() == [1000, 1, 7]
    assert labels.by_image.dtype == np.int64


def test_a_set_with_labels_needs_no_boxes_to_pass_its_check(
    tmp_path: Path,
    pictures: Path,
) -> None:
    made = labelled(tmp_path, pictures)
    assert check(made.folder) == ()
    made.labels_path.unlink()
    assert any(
        "no objects" in problem or "list is empty" in problem
        for problem in check(made.folder)
    )


def test_other_labels_have_another_digest(tmp_path: Path, pictures: Path) -> None:
    made = labelled(tmp_path, pictures)
    before = read_labels(made)
    made.labels_path.write_text(
        "file,label\na.jpg,1\nb.jpg,1\nc.jpg,7\n",
        encoding="utf-8",
    )
    assert read_labels(made).sha256 != before.sha256


GOOD = "a.jpg,1\nb.jpg,2\nc.jpg,3\n"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("file,label\n" + GOOD + "d.jpg,4\n", "invalid", "d.jpg is not an image of the set"),
        ("file,label\na.jpg,1\nc.jpg,3\n", "invalid", "the image b.jpg has no label"),
        ("file,label\n" + GOOD + "b.jpg,2\n", "invalid", "line 5: b.jpg is listed more than once"),
        ("file,label\n" + GOOD.replace("2", "0"), "invalid", "line 3: label '0' is not a whole number from 1 to 1000"),
        ("file,label\n" + GOOD.replace("2", "1001"), "invalid", "label '1001' is not a whole number from 1 to 1000"),
        ("file,label\n" + GOOD.replace("2", "-2"), "invalid", "label '-2' is not a whole number"),
        ("file,label\n" + GOOD.replace("2", "2.0"), "invalid", "label '2.0' is not a whole number"),
        ("file,label\n" + GOOD.replace("2", "cat"), "invalid", "label 'cat' is not a whole number"),
        ("file,label\n" + GOOD.replace("2", "\u0662"), "invalid", "is not a whole number"),
        ("file,label\n" + GOOD.replace("2", "9" * 5000), "invalid", "is not a whole number"),
        ("file,label\n" + GOOD.replace(",2", ""), "invalid", "line 3: 1 values, the header has 2"),
        ("file,label\n", "invalid", "no labels below the header"),
        ("", "unreadable", "the file is empty"),
        (GOOD, "unreadable", "the header is 'a.jpg,1'"),
        ("image,label\n" + GOOD, "unreadable", "the header is 'image,label'"),
        ('file,label\n"a.jpg,1\n', "unreadable", "line"),
    ],
)  # fmt: skip
def test_a_fault_is_reported_in_one_sentence(
    tmp_path: Path,
    pictures: Path,
    text: str,
    code: str,
    words: str,
) -> None:
    failure = complaint(labelled(tmp_path, pictures), text)
    assert failure.code == f"ground-truth-{code}"
    assert words in failure.sentence


def test_a_set_without_labels_is_reported(test_set: TestSet) -> None:
    with pytest.raises(TestSetError) as failure:
        read_labels(test_set)
    assert failure.value.code == "ground-truth-missing"
    assert check(test_set.folder) == ()


def test_labels_that_are_not_text_are_reported(tmp_path: Path, pictures: Path) -> None:
    made = labelled(tmp_path, pictures)
    made.labels_path.write_bytes(b"file,label\n\xff\xfe")
    with pytest.raises(TestSetError) as failure:
        read_labels(made)
    assert failure.value.code == "ground-truth-unreadable"
    assert [failure.value.sentence] == [
        problem for problem in check(made.folder) if "labels.csv" in problem
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,label\nnowhere.jpg,1\n", "nowhere.jpg: No such file"),
        ("file,label\n../a.jpg,1\n", "is not a plain file name"),
        ("file,label\na.jpg,0\n", "label '0' is not a whole number"),
        ("file,label\n", "no labels below the header"),
    ],
)
def test_an_import_with_a_fault_leaves_nothing(
    tmp_path: Path,
    pictures: Path,
    text: str,
    words: str,
) -> None:
    with pytest.raises(TestSetError, match=words) as failure:
        labelled(tmp_path, pictures, text)
    assert failure.value.code == "import-invalid"
    assert not (tmp_path / "set").exists()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_command_imports_labels(tmp_path: Path, pictures: Path) -> None:
    given = tmp_path / "given.csv"
    given.write_text("file,label\nc.jpg,7\na.jpg,7\n", encoding="utf-8")
    where = ("import", "labels", "--csv", given, "--images", pictures, "--out")
    words = run(*where, tmp_path / "one")
    assert words.exit_code == 0, words.output
    assert words.stdout.startswith(f"{tmp_path / 'one'}: 2 images of 1 labels, digest ")
    assert (
        words.stdout.splitlines()[1]
        == f"2 files of {pictures} are left out: the annotations do not name them."
    )
    facts = json.loads(run(*where, tmp_path / "two", "--json").stdout)
    assert facts["images"] == 2
    assert facts["labels"] == 1
    assert facts["objects"] == 0
    stdout = run("check", tmp_path / "one").stdout
    assert stdout == f"{tmp_path / 'one'}: nothing wrong\n"
