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
