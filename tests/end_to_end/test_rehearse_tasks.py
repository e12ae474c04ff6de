"""`referee rehearse --task`: a whole run of another task than boxes, judged, reported, bundled and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contest_day import refers
from tests.end_to_end.test_rehearse import failed, rehearsed

ACCURACY = {
    "segmentation": "mean IoU",
    "instances": "mask AP",
    "classification": "top-1",
}


@pytest.mark.parametrize("task", ACCURACY)
def test_a_run_of_the_task_is_judged_reported_bundled_and_verified(
    task: str,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rehearsal"
    document = rehearsed(
        folder,
        "--task",
        task,
        "--images",
        "12",
    )
    assert failed(document) == ["official-meter"]
    assert 0.4 < document["map"] < 1
    assert document["score"] == document["map"] / document["energy_wh"]
    assert document["signature"].startswith(f"{task}|gt:")
    assert (folder / "report.html").exists()

    bundle = str(folder / "bundle.zip")
    verified = refers(
        "bundle",
        "verify",
        bundle,
        "--interval",
        "--json",
    )
    assert verified.returncode == 0, verified.stdout
    items = json.loads(verified.stdout)["items"]
    assert {one["outcome"] for one in items} <= {"ok", "not checked"}
    by_name = {one["name"]: one["sentence"] for one in items}
    assert ACCURACY[task] in by_name["map"]
    assert "identical bit for bit" in by_name["map"]
    assert "interval" in by_name
