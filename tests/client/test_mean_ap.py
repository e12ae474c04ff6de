"""The client's mAP beside the referee's: the same to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lpirc_client import cli
from lpirc_client.mean_ap import mean_ap
from lpirc_score import evaluate
from tests.contest_day import called, shared
from tests.scoring import oracle
from tests.scoring.test_laws import contests

REPLAYED = """
import csv, hashlib, json, pathlib

folder = pathlib.Path({folder!r})
found = {{}}
for row in csv.DictReader((folder / "detections" / "yolo.csv").read_text().splitlines()):
    found.setdefault(row["image"], []).append(row)
names = {{
    hashlib.sha256((folder / "images" / name).read_bytes()).digest(): name
    for name in (one.name for one in (folder / "images").iterdir())
}}

def detect(jpeg, categories):
    ids = {{one.name: one.id for one in categories}}
    for row in found.get(names[hashlib.sha256(jpeg).digest()], ()):
        box = (float(row[side]) for side in ("xmin", "ymin", "xmax", "ymax"))
        yield (ids[row["category"]], float(row["confidence"]), *box)
"""


@given(contests())
def test_it_is_the_referees(contest: Any) -> None:
    truth, rows, _ = contest
    objects = zip(
        truth.image.tolist(),
        truth.category.tolist(),
        truth.boxes.tolist(),
        truth.crowd,
        strict=True,
    )
    mine = mean_ap([one[:3] for one in objects if not one[3]], rows)
    assert mine == (
        evaluate(truth, oracle.detections(rows)).map or 0.0
    )  # None: no object


@pytest.mark.parametrize(("bottom", "expected"), [(4, 1.0), (3, 0.0)])
def test_a_box_that_overlaps_by_half_is_found(bottom: float, expected: float) -> None:
    assert mean_ap([(1, 1, (0, 0, 9, 9))], [(1, 1, 0.5, 0, 0, 9, bottom)]) == expected


def test_it_is_the_referees_for_real_detections_by_file_name(
    tmp_path: Path,
    monkeypatch: Any,
    capsys: Any,
) -> None:
    folder = shared("voc100")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replayed_yolo.py").write_text(REPLAYED.format(folder=str(folder)))
    truth = str(folder / "annotations_coco" / "instances.json")
    scored = called("score", truth, str(folder / "detections" / "yolo.csv"), "--json")
    wanted = ["--images", str(folder / "images"), "--ground-truth", truth, "--json"]
    assert cli.main(["check", "--detector", "replayed_yolo:detect", *wanted]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["map"] == json.loads(scored.stdout)["map"]
    assert document["images"] == 100
    assert document["rows"] == 452
    assert document["problems"] == []
