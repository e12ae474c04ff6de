"""Images with one class each, from folders or a CSV, and sets of photographs without ground truth."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from lpirc_testsets import (
    TestSetError,
    check,
    load_test_set,
    read_class_truth,
    read_ground_truth,
    read_label_maps,
)
from lpirc_testsets.class_import import import_classes
from lpirc_testsets.coco_names import COCO_NAMES
from lpirc_testsets.errors import Reports
from lpirc_testsets.image_import import import_images
from lpirc_testsets.selection import split, write_selection
from lpirc_testsets.truth_records import kind_of, truth_of
from referee.cli.testset_command import testset as command

Jpeg = Callable[..., bytes]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def pictures(tmp_path: Path, jpeg: Jpeg) -> Path:
    """Two images of a fox, one below a subfolder, and one of an ant; the folder `zebra` is empty."""
    root = tmp_path / "pictures"
    for number, file in enumerate(("fox/b.jpg", "fox/old/a.jpg", "ant/c.jpg")):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(jpeg(seed=number))
    (root / "zebra").mkdir()
    (root / ".cache").mkdir()
    return root


def test_the_folder_of_an_image_is_its_class(pictures: Path, tmp_path: Path) -> None:
    (pictures / "ant/notes.txt").write_text("no image")
    result = run("import", "classes", "--images", pictures, "--out", tmp_path / "set")
    assert result.exit_code == 0, result.output
    first, note = result.stdout.splitlines()
    assert "3 images of 2 of 3 categories" in first
    assert note == f"{pictures}: left out, since they are not JPEG: ant/notes.txt."
    made = load_test_set(tmp_path / "set")
    categories, classes = read_class_truth(made)
    assert [(one.id, one.name) for one in categories] == [
        (1, "ant"),
        (2, "fox"),
        (3, "zebra"),
    ]
    assert [one.file for one in made.images] == [
        "ant/c.jpg",
        "fox/b.jpg",
        "fox/old/a.jpg",
    ]
    assert classes == {1: 1, 2: 2, 3: 2}
    assert check(made.folder) == ()
    assert kind_of(made) == "classes"


def test_each_import_draws_its_own_nonce_so_the_digest_tells_no_class(
    pictures: Path,
    tmp_path: Path,
) -> None:
    made = [import_classes(pictures, tmp_path / name) for name in ("one", "two")]
    assert made[0].digest != made[1].digest
    for one in made:
        nonce = json.loads(one.ground_truth_path.read_text())["info"]["nonce"]
        assert len(nonce) == 32
        assert nonce not in (one.folder / "manifest.json").read_text()


def test_a_csv_names_the_classes_and_a_file_their_numbers(
    pictures: Path,
    tmp_path: Path,
) -> None:
    table = tmp_path / "classes.csv"
    table.write_text("file,class\nfox/b.jpg,big fox\nant/c.jpg,ant\n")
    names = tmp_path / "names"
    names.write_text("zebra\nbig fox\nant\n")
    made = import_classes(pictures, tmp_path / "set", table, names)
    categories, classes = read_class_truth(made)
    assert [one.name for one in categories] == ["zebra", "big fox", "ant"]
    assert classes == {1: 3, 2: 2}


def test_classes_that_are_whole_numbers_keep_them(
    pictures: Path,
    tmp_path: Path,
) -> None:
    table = tmp_path / "classes.csv"
    table.write_text("file,class\nfox/b.jpg,10\nant/c.jpg,9\n")
    categories, classes = read_class_truth(
        import_classes(pictures, tmp_path / "set", table)
    )
    assert [(one.id, one.name) for one in categories] == [(9, "9"), (10, "10")]
    assert classes == {1: 9, 2: 10}


WRONG_TABLES = {
    "file,class\n../a.jpg,fox\n": "line 2: '../a.jpg' is not a plain file name",
    "file,class\nfox/b.jpg,fox\nfox/b.jpg,ant\n": "line 3: fox/b.jpg is listed more than once",
    "file,class\nfox/b.jpg, \n": "line 2: ' ' is not a name",
    "file,class\nnone.jpg,fox\n": "none.jpg: No such file or directory",
    "file,class\n": "no classes below the header",
    "file,label\nfox/b.jpg,1\n": 'expected "file,class"',
}


@pytest.mark.parametrize("text", WRONG_TABLES)
def test_a_wrong_csv_is_named(pictures: Path, tmp_path: Path, text: str) -> None:
    table = tmp_path / "classes.csv"
    table.write_text(text)
    with pytest.raises(TestSetError) as failure:
        import_classes(pictures, tmp_path / "set", table)
    assert WRONG_TABLES[text] in failure.value.sentence


def test_a_test_set_and_a_file_that_is_no_list_are_named(
    pictures: Path, tmp_path: Path
) -> None:
    (tmp_path / "coco.json").write_text('{"images": []}')
    with pytest.raises(TestSetError, match=r"it is JSON, and no list of names"):
        import_classes(pictures, tmp_path / "set", classes=tmp_path / "coco.json")
    import_classes(pictures, tmp_path / "set")
    with pytest.raises(TestSetError, match=r"is a test set; name the folder of images"):
        import_classes(tmp_path / "set", tmp_path / "other")


def test_an_image_in_no_folder_and_a_class_that_is_not_listed_are_named(
    pictures: Path,
    tmp_path: Path,
    jpeg: Jpeg,
) -> None:
    names = tmp_path / "names"
    names.write_text("fox\n")
    with pytest.raises(TestSetError) as failure:
        import_classes(pictures, tmp_path / "set", classes=names)
    assert failure.value.problems == (
        f"{pictures}: ant/c.jpg has class 'ant', not in {names}",
    )
    (pictures / "d.jpg").write_bytes(jpeg(seed=9))
    with pytest.raises(
        TestSetError, match=r"image d\.jpg lies in no folder of a class"
    ):
        import_classes(pictures, tmp_path / "set")


def test_photographs_alone_are_a_set_for_energy_and_timing_only(
    pictures: Path,
    tmp_path: Path,
) -> None:
    (pictures / "p.png").write_bytes(b"\x89PNG")
    (pictures / "q.HEIC").write_bytes(b"heic")
    (pictures / "r.webp").write_bytes(b"webp")
    (pictures / "s.txt").write_text("text")
    (pictures / ".DS_Store").write_text("hidden")
    out = tmp_path / "set"
    result = run("import", "images", "--images", pictures, "--out", out)
    assert result.exit_code == 0, result.output
    first, others, truth = result.stdout.splitlines()
    assert "3 images, digest" in first
    assert others == (
        f"{pictures}: left out, since they are not JPEG: p.png, q.HEIC, r.webp and 1 more."
    )
    assert truth == "The test set has no ground truth: energy and timing only."
    made = load_test_set(out)
    assert made.objects == 0
    assert {one.id: one.name for one in made.categories} == COCO_NAMES
    assert check(out) == ()
    assert kind_of(made) == "nothing"
    assert run("stats", out).exit_code == 0
    assert len(truth_of(made).image) == 0


def test_a_photograph_with_broken_exif_data_is_taken_without_a_warning(
    pictures: Path,
    tmp_path: Path,
) -> None:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[271] = "maker" * 9
    Image.new("RGB", (40, 30)).save(out, "JPEG", exif=exif)
    place = out.getvalue().index(b"Exif") + 6 + 10 + 4  # the length of the tag
    broken = out.getvalue()[:place] + b"\xee" * 4 + out.getvalue()[place + 4 :]
    with pytest.warns(UserWarning, match="EXIF|Tag data"):
        Image.open(io.BytesIO(broken)).close()
    (pictures / "ant/e.jpg").write_bytes(broken)
    result = run("import", "classes", "--images", pictures, "--out", tmp_path / "set")
    assert result.exit_code == 0, result.output
    assert "4 images" in result.stdout
    assert "Warning" not in result.stderr


def test_the_categories_of_photographs_can_be_named(
    pictures: Path,
    tmp_path: Path,
) -> None:
    names = tmp_path / "names"
    names.write_text("ant\nfox\n")
    made = import_images(pictures, tmp_path / "set", names)
    assert [(one.id, one.name) for one in made.categories] == [(1, "ant"), (2, "fox")]


def test_a_set_without_ground_truth_says_so_to_each_reader(
    pictures: Path,
    tmp_path: Path,
) -> None:
    made = import_images(pictures, tmp_path / "set")
    with pytest.raises(
        TestSetError, match="The test set has no ground truth"
    ) as failure:
        read_ground_truth(made.folder)
    assert failure.value.code == "no-truth"
    for read in (read_class_truth, read_label_maps):
        with pytest.raises(TestSetError, match="the set has nothing, and") as failure:
            read(made)
        assert failure.value.code == "no-truth-for-task"


def test_parts_of_photographs_are_sets_of_photographs(
    pictures: Path,
    tmp_path: Path,
) -> None:
    made = import_images(pictures, tmp_path / "set")
    rows, _ = split(made, [67, 33], seed=1)
    part = write_selection(made, rows, tmp_path / "part", Reports())
    assert len(part.images) == 2
    assert check(part.folder) == ()


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_a_folder_without_jpeg_is_refused_with_what_is_in_it(
    tmp_path: Path,
    kind: str,
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    out = tmp_path / "set"
    result = run("import", kind, "--images", folder, "--out", out)
    assert str(result.exception) == (
        f"{folder}: no JPEG image in it or its subfolders; name the folder that has them"
    )
    (folder / "p.png").write_bytes(b"\x89PNG")
    result = run("import", kind, "--images", folder, "--out", out)
    assert str(result.exception) == (
        f"{folder}: no JPEG image in it or its subfolders, only p.png; name the folder that has them"
    )
    result = run("import", kind, "--images", tmp_path / "none", "--out", out)
    assert (
        str(result.exception) == f"{tmp_path / 'none'}: no such folder; check the path"
    )
    assert not out.exists()


def test_a_broken_photograph_is_named(pictures: Path, tmp_path: Path) -> None:
    whole = (pictures / "fox/b.jpg").read_bytes()
    (pictures / "fox/b.jpg").write_bytes(whole[:-200])
    with pytest.raises(TestSetError, match=r"fox/b\.jpg: cannot be decoded"):
        import_images(pictures, tmp_path / "set")


def test_an_image_that_a_csv_names_and_that_is_missing_is_told_with_its_line(
    pictures: Path, tmp_path: Path
) -> None:
    table = tmp_path / "classes.csv"
    table.write_text("file,class\nfox/b.jpg,fox\nfox/none.jpg,fox\n")
    reports = Reports()
    said = f"{table}: line 3: {pictures}/fox/none.jpg: No such file or directory"
    with pytest.raises(TestSetError, match=said):
        import_classes(pictures, tmp_path / "set", table, reports=reports)
    assert "or correct the line or take it out" in reports.problems.rows[0].remedy
