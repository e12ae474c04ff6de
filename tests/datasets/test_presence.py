"""What may not be looked at is told with its path, and never taken for what is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_voc,
    load_test_set,
    read_ground_truth,
)
from lpirc_testsets.class_labels import label_problems
from lpirc_testsets.presence import files_below, is_file, is_folder, is_there, status
from lpirc_testsets.voc_reader import voc_files
from lpirc_testsets.writing import new_folder
from tests.forbidden import LOOP, loop_at


def test_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / "nowhere", file / "below", tmp_path / "no\0name"):
        assert not is_there(path)
        assert not is_file(path)
        assert not is_folder(path)
    assert is_file(file)
    assert is_folder(tmp_path)


def test_what_cannot_be_looked_at_is_one(tmp_path: Path) -> None:
    loop = loop_at(tmp_path / "loop")
    for look in (status, is_there, is_file, is_folder, files_below):
        with pytest.raises(OSError, match=LOOP):
            look(loop)


def test_a_test_set_that_cannot_be_looked_at_is_not_called_missing(
    tmp_path: Path,
) -> None:
    with pytest.raises(TestSetError, match=LOOP) as caught:
        load_test_set(loop_at(tmp_path / "set"))
    assert caught.value.code == "testset-damaged"


def test_a_manifest_that_cannot_be_looked_at_makes_no_folder_of_something_else(
    test_set: TestSet,
    tmp_path: Path,
) -> None:
    (test_set.folder / "manifest.json").unlink()
    loop_at(test_set.folder / "manifest.json")
    with pytest.raises(TestSetError, match=LOOP):
        load_test_set(test_set.folder)
    with pytest.raises(TestSetError, match=LOOP) as caught:
        read_ground_truth(test_set.folder)
    assert caught.value.code == "ground-truth-unreadable"


def test_labels_that_cannot_be_looked_at_are_not_left_out(test_set: TestSet) -> None:
    loop_at(test_set.labels_path)
    with pytest.raises(TestSetError, match=LOOP):
        read_ground_truth(test_set.folder)
    assert label_problems(test_set) == (f"{test_set.labels_path}: {LOOP}",)


@pytest.mark.usefixtures("as_on_python_3_14")
def test_ground_truth_that_may_not_be_entered_is_told(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    (open_folder / "closed").mkdir()
    (open_folder / "closed").chmod(0)
    request.getfixturevalue("unprivileged")
    for name in ("set", "truth.json"):
        with pytest.raises(TestSetError, match="Permission denied") as caught:
            read_ground_truth(open_folder / "closed" / name)
        assert caught.value.code == "ground-truth-unreadable"
    with pytest.raises(TestSetError, match="Permission denied"):
        load_test_set(open_folder / "closed" / "set")


def test_annotations_in_a_folder_that_may_not_be_listed_are_not_left_out(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    for name in ("seen", "closed"):
        (open_folder / name).mkdir()
        (open_folder / name / "one.xml").touch()
    (open_folder / "closed").chmod(0o111)
    request.getfixturevalue("unprivileged")
    with pytest.raises(PermissionError, match="closed"):
        voc_files(open_folder)
    with pytest.raises(TestSetError, match="closed: Permission denied") as caught:
        import_voc(open_folder, open_folder, open_folder / "out")
    assert caught.value.code == "import-missing"


def test_a_check_names_a_folder_that_may_not_be_listed(
    test_set: TestSet,
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    copy = shutil.copytree(test_set.folder, open_folder / "set")
    (copy / "more").mkdir()
    (copy / "more").chmod(0)
    request.getfixturevalue("unprivileged")
    assert check(copy) == (f"{copy / 'more'}: Permission denied",)


def test_a_check_names_an_image_that_cannot_be_looked_at_once(
    test_set: TestSet,
) -> None:
    image = test_set.image_path(1)
    image.unlink()
    loop_at(image)
    assert check(test_set.folder) == (f"{image}: {LOOP}",)


def test_a_place_that_cannot_be_looked_at_is_not_free_for_a_new_set(
    tmp_path: Path,
) -> None:
    out = loop_at(tmp_path / "loop") / "set"
    with pytest.raises(TestSetError, match=LOOP) as caught, new_folder(out):
        pass
    assert caught.value.code == "testset-not-written"
