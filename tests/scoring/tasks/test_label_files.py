"""A folder of label maps is scored as a contest scores them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lpirc_score.errors import CodedError
from lpirc_score.tasks.label_files import evaluate_label_maps
from lpirc_score.tasks.segmentation import read_truth
from lpirc_testsets import TestSet, synthesize
from tests.scoring.tasks.label_map_sets import png_of


@pytest.fixture
def made(tmp_path: Path) -> TestSet:
    return synthesize(
        tmp_path / "set",
        3,
        task="segmentation",
    )


def write(made: TestSet, folder: Path) -> None:
    folder.mkdir()
    truth = read_truth(made)
    for image in made.images:
        labels = truth.by_image[image.number].astype(np.uint8)
        path = folder / Path(image.file).with_suffix(".png").name
        path.write_bytes(
            png_of(
                np.where(
                    labels == 255,
                    0,
                    labels,
                )
            )
        )


def test_the_truth_itself_is_perfect_and_a_missing_file_costs(
    made: TestSet, tmp_path: Path
) -> None:
    folder = tmp_path / "answers"
    write(made, folder)
    assert evaluate_label_maps(made.folder, folder).accuracy == 1.0
    next(folder.iterdir()).unlink()
    assert evaluate_label_maps(made.folder, folder).accuracy < 1.0


def test_what_is_wrong_is_named_with_its_file(made: TestSet, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    write(made, folder)
    (folder / "000001.png").write_bytes(b"\xff\xd8\xff")
    (folder / "000002.png").write_bytes(
        png_of(
            np.full(
                (240, 320),
                99,
                np.uint8,
            )
        )
    )
    (folder / "other.png").write_bytes(b"")
    with pytest.raises(CodedError) as failure:
        evaluate_label_maps(made.folder, folder)
    problems = failure.value.facts["problems"]
    assert isinstance(problems, list)
    told = {one["image"]: one["problem"] for one in problems}
    assert told["'000001.png'"].startswith("it is a JPEG")
    assert told["'000002.png'"].startswith("76,800 pixels have the value 99")
    assert told["'other.png'"] == "the test set has no image of this name"


def test_a_folder_that_is_not_there_or_has_no_png_is_refused_not_scored_as_zero(
    made: TestSet, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(CodedError, match=r"nowhere: no such folder") as failure:
        evaluate_label_maps(made.folder, nowhere)
    assert failure.value.code == "answers-missing"
    nowhere.write_bytes(b"")
    with pytest.raises(CodedError, match=r"nowhere: it is not a folder"):
        evaluate_label_maps(made.folder, nowhere)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "000001.npy").write_bytes(b"")
    with pytest.raises(CodedError, match=r"empty: no PNG in it"):
        evaluate_label_maps(made.folder, empty)


def test_a_sentence_names_the_folder_and_the_png(made: TestSet, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    write(made, folder)
    (folder / "000002.png").unlink()
    (folder / "000002.png").symlink_to(tmp_path / "gone.png")
    (folder / "000003.PNG").write_bytes((folder / "000003.png").read_bytes())
    with pytest.raises(CodedError) as failure:
        evaluate_label_maps(made.folder, folder)
    problems = failure.value.facts["problems"]
    assert isinstance(problems, list)
    assert [(one["image"], one["problem"]) for one in problems] == [
        ("'000002.png'", "it cannot be read: No such file or directory"),
        ("'000003.png'", "another PNG here is for the same image"),
    ]
    first = "answer 2, image '000002.png': it cannot be read: No such file or directory"
    assert failure.value.sentence == f"{folder}: {first} (and 1 more)."


def test_a_name_may_be_text(made: TestSet, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    write(made, folder)
    assert evaluate_label_maps(str(made.folder), str(folder)).accuracy == 1.0
    with pytest.raises(CodedError, match="3 was given as file or folder, not its name"):
        evaluate_label_maps(made.folder, 3)  # type: ignore[arg-type]
