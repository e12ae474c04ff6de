"""What a set holds, in figures and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from click.testing import CliRunner, Result
from PIL import Image

from lpirc_testsets import TestSet, TestSetError, import_coco
from referee.cli.testset_command import testset as command

if TYPE_CHECKING:
    from conftest import CocoSource


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_figures_of_a_known_set(coco_source: CocoSource) -> None:
    import_coco(coco_source.write(), coco_source.images, coco_source.out)
    facts = json.loads(run("stats", coco_source.out, "--json").stdout)
    assert facts["images"] == 3
    assert facts["objects"] == 3
    assert facts["images_without_objects"] == 1
    assert facts["crowds"] == 1
    assert facts["objects_per_image"] == {"least": 0, "median": 1, "mean": 1, "most": 2}
    assert facts["width_px"] == {
        "least": 40,
        "median": 40,
        "mean": 40,
        "most": 40,
    }
    # 1000, 41 and 12.5 square pixels.
    assert facts["box_areas"] == {
        "small": 3,
        "medium": 0,
        "large": 0,
    }
    assert facts["box_aspect_ratio"]["most"] == 10.25 / 4
    assert facts["categories"] == [
        {
            "id": 3,
            "name": "car",
            "objects": 1,
            "images": 1,
        },
        {
            "id": 18,
            "name": "dog",
            "objects": 2,
            "images": 1,
        },
    ]
    assert facts["warnings"][1].startswith("category 'dog' has 2 objects")
    told = run("stats", coco_source.out)
    assert "objects per image: least 0, median 1, mean 1, most 2" in told.stdout
    assert "warning: category 'car' has 1 objects" in told.stderr


def test_a_sheet_shows_the_images_and_outlines_their_boxes(
    test_set: TestSet,
    tmp_path: Path,
) -> None:
    out = tmp_path / "sheet.png"
    result = run("sheet", test_set.folder, "--out", out, "--images", 4)
    assert result.stdout == f"{out}: 4 of 5 images\n"
    with Image.open(out) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    assert pixels.shape == (194, 6 * 240, 3)
    assert [
        bool(pixels[14:, 240 * place : 240 * (place + 1)].any()) for place in range(5)
    ] == [True] * 4 + [False]
    # No scene has a pure colour.
    pure = (pixels == 255).any(axis=2) & (pixels == 0).any(axis=2)
    assert pure[14:, : 4 * 240].sum() > 200
    assert run("sheet", test_set.folder, "--out", tmp_path / "sheet.gif").exit_code == 2


def test_a_sheet_names_the_image_that_is_broken(
    test_set: TestSet,
    tmp_path: Path,
) -> None:
    broken = test_set.image_path(2)
    broken.write_bytes(broken.read_bytes()[:600])
    result = run("sheet", test_set.folder, "--out", tmp_path / "sheet.jpg")
    assert isinstance(result.exception, TestSetError)
    assert result.exception.sentence.startswith(f"{broken}: cannot be read: ")
