"""`referee rehearse --rule`: a whole run by another rule than mAP / Wh, and words that name no rule."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.contest_day import called, refers

FLOORS = "floors-then-energy,least_accuracy=0.01,least_images_per_s=0.01"


def test_a_rehearsal_by_a_rule_is_judged_reported_bundled_and_verified(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rehearsal"
    options = ["--images", "10", "--out", str(folder), "--json", "--rule", FLOORS]
    done = refers("rehearse", *options)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert f"|rule:{FLOORS}|" in document["signature"]
    (check,) = [one for one in document["checks"] if one["code"] == "contest-rule"]
    assert check["ok"]
    answered = check["figures"]["images_answered"]
    energy_j = document["energy_wh"] * 3600
    if answered < 10:
        energy_j = energy_j * 10 / answered
    assert document["score"] == pytest.approx(100 / math.log2(energy_j))
    report = (folder / "report.html").read_text()
    assert "The score is 100 / log2(energy in J for all images" in report
    verified = refers("bundle", "verify", str(folder / "bundle.zip"), "--interval")
    assert verified.returncode == 0, verified.stdout


def test_words_that_are_no_rule_are_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rehearsal"
    for words, told in (
        ("fastest", "must be one of 'accuracy-per-wh'"),
        ("least-energy", "needs least_accuracy, else the team that logs out at once"),
        ("accuracy-per-excess-wh", "needs the idle board, which no run measures"),
    ):
        done = called("rehearse", "--out", str(folder), "--rule", words)
        assert done.returncode == 2
        assert told in done.stderr
    assert not folder.exists()
