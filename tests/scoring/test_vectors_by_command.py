"""The vectors, scored by `referee score` from the files as they are handed out."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lpirc_score import Counts, evaluate
from lpirc_score.detections.files import read_detections
from lpirc_testsets import read_ground_truth
from referee.cli import main

EXACT = 1e-12
VECTORS = Path(__file__).parents[3] / "shared" / "data" / "vectors"


@pytest.fixture(autouse=True)
def _need_vectors() -> None:
    if not VECTORS.is_dir():
        reason = f"{VECTORS} is absent: the vectors are not part of the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def scored(
    name: str,
    metric: str,
    *options: str,
    suffix: str = "csv",
) -> tuple[dict[str, Any], list[str]]:
    folder = VECTORS / name
    files = [str(folder / f"gt.{suffix}"), str(folder / f"det.{suffix}")]
    for option in ("images", "blacklist"):
        if (folder / f"{option}.csv").exists():
            files += [f"--{option}", str(folder / f"{option}.csv")]
    result = CliRunner().invoke(
        main,
        ["score", *files, "--metric", metric, *options, "--json"],
    )
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr.splitlines()


def expected(
    name: str,
    file: str,
) -> list[dict[str, str]]:
    with (VECTORS / name / file).open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ilsvrc_plain", "line 204: the box 148.4"),
        ("ilsvrc_one_image", "line 3: category 3 is not"),
    ],
)
def test_the_official_ilsvrc_program_agrees(
    name: str,
    words: str,
) -> None:
    document, warnings = scored(name, "ilsvrc-det")
    answers = {
        row["class"]: float(row["ap"]) for row in expected(name, "expected_ap.csv")
    }
    assert {
        key: ap for key, ap in document["ap"].items() if ap is not None
    } == pytest.approx(answers, abs=EXACT)
    assert document["map"] == pytest.approx(
        sum(answers.values()) / len(answers),
        abs=EXACT,
    )
    # One vector's ground truth has rows twice, which the official program counts.
    of_found = [one for one in warnings if "gt.csv: 3 rows repeat" not in one]
    assert len(of_found) == 1
    assert words in of_found[0]


@pytest.mark.parametrize("name", ["voc_random", "rp_review_toyexample"])
def test_the_official_voc_programs_agree(name: str) -> None:
    rows = expected(name, "expected.csv")
    assert rows
    for row in rows:
        metric = row["method"].replace("_", "-")
        iou = row["iou"]
        document, warnings = scored(name, metric, "--iou", iou)
        assert document["ap"][row["class"]] == pytest.approx(
            float(row["ap"]),
            abs=EXACT,
        )
        # Images that only detections name.
        assert len(warnings) == (name == "voc_random")
        assert all(
            "line 200: image 36 is not in the ground truth" in warning
            for warning in warnings
        )


def test_counts_are_those_of_the_toy_example() -> None:
    folder = VECTORS / "rp_review_toyexample"
    truth = read_ground_truth(folder / "gt.csv", folder / "images.csv")
    found = read_detections(folder / "det.csv", truth)
    for row in expected("rp_review_toyexample", "expected.csv"):
        result = evaluate(
            truth,
            found,
            row["method"].replace("_", "-"),
            float(row["iou"]),
        )
        assert result.counts[int(row["class"])] == Counts(
            int(row["npos"]),
            int(row["tp"]),
            int(row["fp"]),
        )


@pytest.mark.parametrize("engine", ["own", "pycocotools"])
def test_pycocotools_agrees(engine: str) -> None:
    document, warnings = scored(
        "coco_rp_review_sample", "coco", "--engine", engine, suffix="json"
    )
    answers = json.loads(
        (VECTORS / "coco_rp_review_sample" / "expected.json").read_text()
    )
    assert document["summary"] == pytest.approx(answers["summary"], abs=EXACT)
    assert list(document["summary"]) == list(answers["summary"])
    by_category = {str(each["id"]): each["AP"] for each in answers["per_category"]}
    assert {
        key: -1 if ap is None else ap for key, ap in document["ap"].items()
    } == pytest.approx(by_category, abs=EXACT)
    assert document["map"] == document["summary"]["AP"]
    assert warnings == []
