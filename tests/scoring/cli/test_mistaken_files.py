"""Files that are swapped or empty are called so by the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRUTH = "image,class,xmin,ymin,xmax,ymax\n1,1,1,1,9,9\n"
FOUND = "image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.5,1,1,9,9\n"
RESULTS = '[{"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.5}]'


@pytest.mark.parametrize(
    ("truth", "told"),
    [
        ("found.csv", "it has confidences, as detections have: is it given in place"),
        ("found.json", "a list, as detections in COCO's form are, and no ground truth"),
        ("empty.csv", "empty.csv: the file is empty\n"),
    ],
)
def test_detections_in_place_of_the_ground_truth_are_called_so(
    tmp_path: Path, truth: str, told: str
) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "found.csv").write_text(FOUND)
    (tmp_path / "found.json").write_text(RESULTS)
    (tmp_path / "empty.csv").write_text("")
    program = [str(Path(sys.executable).with_name("lpirc-score")), truth, "truth.csv"]
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
