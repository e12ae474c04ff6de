"""Masks on the command line: the figures of the API as a table and as a document, and no option that is for boxes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from lpirc_score import evaluate_label_maps, evaluate_segm
from lpirc_score.cli.program import main as command
from lpirc_testsets import synthesize
from referee.cli import main as referee

SQUARE = [[0, 0, 4, 0, 4, 4, 0, 4]]
COUNTS = [0, 3, 3, 3, 3, 3, 3, 3, 27]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    truth = {
        "images": [{"id": 1, "width": 8, "height": 6}],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {
                "id": 1,
                "image_id": 1,
                "category_id": 1,
                "area": 16,
                "iscrowd": 0,
                "bbox": [0, 0, 4, 4],
                "segmentation": SQUARE,
            }
        ],
    }
    found = {"image_id": 1, "category_id": 1, "score": 0.9}
    found["segmentation"] = {"size": [6, 8], "counts": COUNTS}  # type: ignore[assignment]
    paths = tmp_path / "truth.json", tmp_path / "found.json"
    for path, content in zip(paths, (truth, [found]), strict=True):
        path.write_text(json.dumps(content))
    return paths


def test_instance_masks_have_the_figures_of_the_api(files: tuple[Path, Path]) -> None:
    truth, found = files
    expected = evaluate_segm(truth, found)
    got = json.loads(call("--segm", truth, found, "--energy-wh", 2, "--json").stdout)
    assert got["accuracy"] == expected.accuracy
    assert got["others"] == expected.others
    assert got["by_category"] == {"1": expected.accuracy, "2": None}
    assert got["names"] == {"1": "cat", "2": "dog"}
    assert got["score"] == (expected.accuracy or 0) / 2
    by_referee = ["score", "--segm", str(truth), str(found), "--json"]
    same = json.loads(CliRunner().invoke(referee, by_referee).stdout)
    assert same == got | {"energy_wh": None, "score": None}


def test_a_table_has_all_numbers_and_none_where_there_is_none(
    files: tuple[Path, Path],
) -> None:
    truth, found = files
    text = call("--segm", truth, found, found).output
    assert "mask AP" in text
    for name in evaluate_segm(truth, found).others:
        assert name in text
    assert text.count("0.60000") == 2 * 7
    assert text.count("none") == 2 * 5


def test_label_maps_have_the_figures_of_the_api(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "set", 2, task="segmentation")
    maps = tmp_path / "maps"
    maps.mkdir()
    size = (made.images[0].width, made.images[0].height)
    Image.new("L", size, 0).save(maps / "000001.png")
    expected = evaluate_label_maps(made.folder, maps)
    got = json.loads(call("--label-maps", made.folder, maps, maps, "--json").stdout)[
        "files"
    ]
    assert [one["file"] for one in got] == [str(maps)] * 2
    assert got[0]["accuracy"] == expected.accuracy
    assert got[0]["others"] == expected.others
    assert (got[0]["answers"], got[0]["images"]) == (1, 2)
    refused = call("--label-maps", made.folder, tmp_path / "none")
    assert refused.exit_code == 1
    assert refused.stderr == f"lpirc-score: {tmp_path / 'none'}: no such folder\n"


@pytest.mark.parametrize(
    "option",
    [
        ("--errors",),
        ("--iou", "0.5"),
        ("--metric", "coco"),
        ("--html", "x.html"),
        ("--img-ids", "1"),
        ("--engine", "own"),
    ],
)
def test_an_option_for_boxes_is_refused_by_name(
    files: tuple[Path, Path], option: tuple[str, ...]
) -> None:
    refused = call("--segm", *files, *option)
    assert refused.exit_code == 2
    assert f"{option[0]} is for boxes; leave it out with --segm." in refused.stderr


def test_energies_are_asked_for_once_for_each_file(files: tuple[Path, Path]) -> None:
    wrong: Any = call("--segm", *files, "--energy-wh", 2, "--energy-wh", 3)
    assert "2 --energy-wh for 1 files" in wrong.stderr
