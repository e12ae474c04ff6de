from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from referee.cli import main

DATA = Path(__file__).parents[4] / "shared" / "data"
TRUTH = "image,class,xmin,ymin,xmax,ymax\n1,1,10,10,29,29\n2,1,10,10,29,29\n2,4,0,0,9,9\n"
FOUND = (
    "image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.9,10,10,29,29\n2,4,0.8,0,0,9,9\n2,4,0.9,50,0,59,9\n"
)
KEYS = ["metric", "map", "ap", "categories_with_ground_truth", "images", "detections"]
KEYS += ["energy_wh", "score", "signature"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [write(tmp_path, "truth.csv", TRUTH), write(tmp_path, "found.csv", FOUND)]


def write(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["score", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    parsed: dict[str, Any] = json.loads(result.stdout)
    assert list(parsed) == KEYS
    return parsed


def test_json_is_one_document_with_everything(files: list[str]) -> None:
    parsed = document(*files)
    assert parsed["ap"] == {"1": 0.5, "4": 0.5}
    assert (parsed["map"], parsed["categories_with_ground_truth"]) == (0.5, 2)
    assert (parsed["images"], parsed["detections"], parsed["metric"]) == (2, 3, "lpirc")
    assert (parsed["energy_wh"], parsed["score"]) == (None, None)


def test_energy_gives_a_score(files: list[str]) -> None:
    parsed = document(*files, "--energy-wh", "2.082")
    assert (parsed["energy_wh"], parsed["score"]) == (2.082, 0.5 / 2.082)


def test_the_table_names_categories_counts_map_and_score(files: list[str]) -> None:
    result = call(*files, "--energy-wh", "0.3")
    assert result.exit_code == 0
    assert "mAP 0.50000, the mean of 2 categories" in result.output
    assert "score 1.6667 mAP/Wh with 0.3 Wh" in result.output
    assert "signature lpirc|iou:0.5|" in result.output
    (row,) = (line for line in result.output.splitlines() if line.startswith("│  4"))
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["4", "4", "1", "1", "1", "0.50000"]


def test_without_energy_no_score_is_told(files: list[str]) -> None:
    assert "score" not in call(*files).output


def test_metric_iou_and_blacklist_reach_the_scorer(files: list[str], tmp_path: Path) -> None:
    blacklist = write(tmp_path, "blacklist.csv", "image,class\n2,4\n")
    parsed = document(*files, "--metric", "ilsvrc-det", "--iou", "0.75", "--blacklist", blacklist)
    assert parsed["ap"] == {"1": 0.5, "4": None}
    assert parsed["map"] == 0.5
    assert parsed["categories_with_ground_truth"] == 1
    assert parsed["signature"].startswith("ilsvrc-det|iou:0.75|blacklist:1-")


def test_images_without_objects_are_named_by_their_list(files: list[str], tmp_path: Path) -> None:
    more = write(tmp_path, "more.csv", FOUND + "3,1,0.95,0,0,5,5\n")
    images = write(tmp_path, "images.csv", "image\n1\n2\n3\n")
    refused = call(files[0], more)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "more.csv: line 5: image '3' is unknown" in refused.stderr
    parsed = document(files[0], more, "--images", images)
    assert (parsed["images"], parsed["ap"]["1"]) == (3, 0.25)


def test_signatures_tell_ground_truths_apart(files: list[str], tmp_path: Path) -> None:
    images = write(tmp_path, "images.csv", "image\n1\n2\n")
    other = write(tmp_path, "other.csv", TRUTH + "1,4,0,0,9,9\n")
    signatures = {
        document(*files)["signature"],
        document(other, files[1])["signature"],
        document(*files, "--images", images)["signature"],
    }
    assert len(signatures) == 3
    assert document(*files)["signature"] in signatures


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--iou", "0"], "IoU threshold"),
        (["--energy-wh", "0"], "above 0 Wh"),
        (["--energy-wh", "nan"], "above 0 Wh"),
        (["--blacklist", "nowhere.csv"], "nowhere.csv: No such file"),
    ],
)
def test_failures_are_one_line_on_stderr(files: list[str], options: list[str], words: str) -> None:
    result = call(*files, *options, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_unknown_metric_is_a_mistake_of_usage(files: list[str]) -> None:
    assert call(*files, "--metric", "map").exit_code == 2


def test_real_detections_on_real_photographs() -> None:
    if not DATA.is_dir():
        reason = f"{DATA} is absent: the photographs are not part of the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = DATA / "voc100"
    paths = [str(folder / "annotations_coco" / "instances.json"), str(folder / "detections" / "yolo.csv")]
    parsed = document(*paths)
    assert (parsed["images"], parsed["detections"], len(parsed["ap"])) == (100, 452, 20)
    assert 0.5 < parsed["map"] < 0.7
    assert "│ pottedplant │" in call(*paths).output
