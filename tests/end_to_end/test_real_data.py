"""Real photographs and real detections through the whole contest, against the scorer alone and published figures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lpirc_score import format_score, score
from tests.contest_day import called, refers, shared


def imported(form: str, out: Path) -> Path:
    annotations = (
        "annotations_coco/instances.json" if form == "coco" else "annotations_voc"
    )
    where = [
        "--annotations",
        str(shared("voc100", annotations)),
        "--images",
        str(shared("voc100", "images")),
    ]
    result = called("testset", "import", form, *where, "--out", str(out), "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["images"] == 100
    assert json.loads(result.stdout)["objects"] == 273
    return out


def scored(truth: Path) -> dict[str, Any]:
    result = called(
        "score", str(truth), str(shared("voc100", "detections", "yolo.csv")), "--json"
    )
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_a_replayed_run_scores_exactly_what_the_file_scores(tmp_path: Path) -> None:
    folder = imported("voc", tmp_path / "voc")
    replay = [
        "--testset",
        str(folder),
        "--replay",
        str(shared("voc100", "detections", "yolo.csv")),
    ]
    result = refers("rehearse", *replay, "--out", str(tmp_path / "rehearsal"), "--json")
    assert result.returncode == 0, result.stderr
    run = json.loads(result.stdout)
    file = scored(folder)
    assert run["map"] == file["map"]
    assert run["ap"] == file["ap"]
    assert run["images"] == 100
    assert run["detections"] == 452
    assert 0.5 < run["map"] < 0.7


def test_both_forms_of_the_annotations_score_nearly_the_same(tmp_path: Path) -> None:
    by_voc, by_coco = (
        scored(imported(form, tmp_path / form))["map"] for form in ("voc", "coco")
    )
    assert by_voc != by_coco
    assert by_voc == pytest.approx(by_coco, abs=0.02)


def test_a_coco_file_scores_as_its_imported_folder_does(tmp_path: Path) -> None:
    folder = scored(imported("coco", tmp_path / "coco"))
    file = scored(shared("voc100", "annotations_coco", "instances.json"))
    assert file["map"] == folder["map"]
    assert file["ap"] == folder["ap"]


def test_the_champions_scores_are_those_published() -> None:
    with shared("tables", "lpirc_champions.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    ours = [
        format_score(score(float(row["map"]), float(row["energy_wh"]))) for row in rows
    ]
    assert ours == [row["score"] for row in rows] == ["0.0182", "0.0440", "0.1193"]
