"""`referee judge`: gives a closed run a score, with checks and a signature."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_score import format_score
from lpirc_testsets import read_ground_truth, synthesize
from referee.cli.main import main
from referee.store.records import RunState
from tests.contest_day import KEYS, TEAM, contest_day, until


def test_runs_are_judged_by_number_and_all_together(tmp_path: Path) -> None:
    images = synthesize(
        tmp_path / "set",
        images=4,
        categories=2,
        seed=4,
        size=(96, 64),
    )
    truth = read_ground_truth(images.folder)
    rows = [
        [image, category, 0.9, *box]
        for image, category, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    with contest_day(tmp_path / "contest", images.folder, window_s=2) as day:
        server = day.serve()
        token = day.fetched(day.login()["token"])
        with day.store() as store:
            order = store.runs.image_order(1).tolist()
        day.post(token, [[order.index(row[0]) + 1, *row[1:]] for row in rows])
        too_early = day.refers("judge", "1")
        assert (
            stated(too_early)
            == "referee: Run 1 is open; only a closed run can be judged.\n"
        )
        until(lambda: day.runs(RunState.CLOSED))
        server.ask("DELETE", "/v1/session", day.login()["token"])

        one = day.refers("judge", "1", "--json")
        assert one.returncode == 0
        assert one.stderr == ""
        judged = json.loads(one.stdout)
        assert judged.keys() >= KEYS
        assert judged["map"] == 1.0
        assert judged["detections"] == len(rows)
        assert judged["images"] == 4
        assert judged["score"] == judged["map"] / judged["energy_wh"]
        assert judged["mean_power_w"] == pytest.approx(36, rel=0.01)
        assert judged["run"] == 1
        assert judged["team"] == TEAM
        assert judged["closed_by"] == "deadline"
        assert images.digest[:8] in judged["signature"]

        shown = day.refers("run", "show", "1").stdout
        assert "posted none that count" not in shown
        rest = json.loads(day.refers("judge", "--all", "--json").stdout)
        assert [
            (document["run"], document["map"], document["detections"])
            for document in rest
        ] == [(2, 0.0, 0)]
        assert json.loads(day.refers("judge", "--all", "--json").stdout) == []
        again = day.refers("judge", "1")
        assert again.returncode == 0
        assert f"{format_score(judged['score'])} mAP/Wh" in again.stdout
        states = [
            run["state"]
            for run in json.loads(day.refers("run", "list", "--json").stdout)
        ]
        assert states == ["judged", "judged"]
        shown = json.loads(day.refers("run", "show", "1", "--json").stdout)
        assert shown["judged"]["score"] == judged["score"]
        assert "1.00000" in day.refers("run", "show", "1").stdout
        assert (
            "No detections are scored: the team posted none"
            in day.refers("run", "show", "2").stdout
        )


def stated(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_test_set_for_rejudge_is_named_as_contest_toml_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    synthesize(Path("set"), images=1, categories=1)
    Path("yolo").mkdir()
    given = ["rejudge", "--all", "--contest", "day", "--testset"]
    told = CliRunner().invoke(main, [*given, "set"]).stderr
    assert 'write testset = "../set" into day/contest.toml.' in told
    told = CliRunner().invoke(main, [*given, "yolo"]).stderr
    assert "yolo is no test set; `referee testset import` makes one." in told
