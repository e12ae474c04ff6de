from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_tracks.cli import suite_run_command, suite_status_command
from lpirc_tracks.suites.implementations import DeviceRuntimes
from lpirc_tracks.suites.suite_table import read_rows
from tests import onnx_models
from tests import tflite_models as models
from tests.contest_day import called
from tests.tracks.submissions.model_days import colour_set

RUNNABLE = 6
FLOAT = models.constant_answers(
    (1, 8, 8, 3), "float32", [("scores", np.eye(1, 1001, 7, dtype=np.float32))]
)
LINUX = DeviceRuntimes("Linux", frozenset({"litert", "onnxruntime"}))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite in a folder whose name a shell would take apart, without pauses and for a few images."""
    for module in (suite_status_command, suite_run_command):
        monkeypatch.setattr(module, "runtimes_here", lambda: LINUX)
    made = tmp_path / "my suite"
    told = called("suite", "init", "aiotbench", "--out", str(made))
    assert told.returncode == 0, told.stderr
    change(made, "cooldown_s = 300", "cooldown_s = 0")
    change(made, "limit = 5000", "limit = 5")
    change(made, 'device = ""', 'device = "board"')
    return made


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "suite.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def put(folder: Path, model: str, data: bytes) -> None:
    (folder / "models" / f"{model}.tflite").write_bytes(data)


def status(folder: Path) -> Any:
    told = called("suite", "status", str(folder), "--json")
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def colours(folder: Path) -> str:
    colour_set(
        folder,
        ("red", models.RED),
        ("green", models.GREEN),
        ("blue", models.BLUE),
        ("green", models.GREEN),
        ("red", models.BLUE),
    )
    return str(folder / "colours")


def test_init_says_of_each_of_the_24_tests_whether_it_can_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_status_command, "runtimes_here", lambda: LINUX)
    monkeypatch.chdir(tmp_path)
    told = called("suite", "init", "aiotbench")
    assert told.returncode == 0, told.stderr
    first, *lines = told.stdout.splitlines()
    assert first.startswith("Made aiotbench/suite.toml: the 18 models of AIoTBench")
    tests = [
        line
        for line in lines
        if re.match(r"(tflite_cpu|tflite_nnapi|caffe2|pytorch_mobile) ", line)
    ]
    assert len(tests) == 24
    can = [line for line in tests if "it can run here" in line]
    cannot = [line for line in tests if "cannot run" in line]
    assert len(can) == RUNNABLE
    assert len(can) + len(cannot) == 24
    assert all(line.startswith("tflite_cpu ") for line in can)
    assert "6 missing, 18 cannot run" in told.stdout
    assert "Runtimes installed here: LiteRT, ONNX Runtime" in told.stdout
    assert lines[-1].startswith("Next: put the models' files into aiotbench/models")
    assert lines[-1].endswith("then: referee suite status aiotbench")


def test_without_a_runtime_the_next_step_is_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = DeviceRuntimes("Linux", frozenset())
    monkeypatch.setattr(suite_status_command, "runtimes_here", lambda: bare)
    found = status(folder)
    assert found["counts"] == {"cannot run": 24}
    assert found["next"].startswith('pip install "./client[models]"')


def test_an_unknown_suite_is_told_with_those_there_are(tmp_path: Path) -> None:
    told = called("suite", "init", "mlperf", "--out", str(tmp_path / "x"))
    assert told.returncode == 1
    expected = "referee: There is no suite 'mlperf'; the suites are: aiotbench.\n"
    assert told.stderr == expected
    assert not (tmp_path / "x").exists()


def test_an_existing_suite_is_left_as_it_is(folder: Path) -> None:
    before = (folder / "suite.toml").read_text()
    told = called("suite", "init", "aiotbench", "--out", str(folder))
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert f"referee suite status {shlex.quote(str(folder))}" in told.stderr
    assert (folder / "suite.toml").read_text() == before


@pytest.mark.parametrize(
    "words", [("status",), ("run", "--images", "x"), ("score",)], ids=lambda w: w[0]
)
def test_a_folder_that_is_no_suite_is_told(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    command, *more = words
    told = called("suite", command, str(tmp_path), *more)
    assert told.returncode == 1
    assert told.stderr.startswith(f"referee: {tmp_path} has no suite.toml; make")
    assert told.stderr.count("\n") == 1


def test_a_run_before_there_is_a_model_says_what_is_missing(folder: Path) -> None:
    images = colours(folder.parent)
    told = called("suite", "run", str(folder), "--images", images)
    assert told.returncode == 1
    assert "No test of" in told.stderr
    assert "6 missing, 18 cannot run" in told.stderr
    assert f"referee suite status {shlex.quote(str(folder))}" in told.stderr
    assert not (folder / "suite.csv").exists()
    told = called("suite", "score", str(folder))
    assert told.returncode == 1
    assert "suite.csv has no test; measure some with: referee suite run" in told.stderr


def test_from_an_empty_folder_to_the_score(folder: Path) -> None:
    images = colours(folder.parent)
    name = shlex.quote(str(folder))
    put(folder, "resnet50", models.classifier())
    put(folder, "mnasnet", FLOAT)
    found = status(folder)
    assert found["counts"] == {"ready": 1, "wrong": 1, "missing": 4, "cannot run": 18}
    assert found["next"] == f"correct what is wrong, then: referee suite status {name}"
    (wrong,) = [test for test in found["tests"] if test["state"] == "wrong"]
    assert wrong["model"] == "mnasnet"
    assert wrong["sentence"].endswith("for a model that takes levels as they are")

    told = called("suite", "run", str(folder), "--images", images)
    assert told.returncode == 1
    problem, last = told.stderr.splitlines()
    assert problem == f"mnasnet (tflite_cpu): {wrong['sentence']}."
    assert last.startswith("referee: 1 test is not as ")
    assert not (folder / "suite.csv").exists()

    put(folder, "mnasnet", models.classifier(9, 9))
    found = status(folder)
    assert found["counts"] == {"ready": 2, "missing": 4, "cannot run": 18}
    assert found["next"].startswith(f"referee suite run {name} --images TESTSET")
    (ready, _) = [test for test in found["tests"] if test["state"] == "ready"]
    assert ready["input_shape"] == [1, 8, 8, 3]
    assert ready["published_percent"] == 72.5

    told = called("suite", "run", str(folder), "--images", images)
    assert told.returncode == 0, told.stderr
    assert "left out, caffe2 of resnet50, inception_v3, " in told.stderr
    assert told.stderr.splitlines()[-1] == f"Next: referee suite score {name}"
    rows = read_rows(folder / "suite.csv")
    assert [(row.model, row.implementation) for row in rows] == [
        ("resnet50", "tflite_cpu"),
        ("mnasnet", "tflite_cpu"),
    ]
    assert [row.test.accuracy_percent for row in rows] == [80.0, 80.0]

    found = status(folder)
    assert found["counts"] == {"measured": 2, "missing": 4, "cannot run": 18}
    assert found["next"] == f"referee suite score {name}"
    told = called("suite", "score", str(folder), "--json")
    document = json.loads(told.stdout)
    (score,) = document["scores"]
    vips = [row.test.images_per_s for row in rows]
    assert score["vips"] == pytest.approx(sum(vips))
    vops = vips[0] * 3.8 + vips[1] * 0.315
    assert score["vops_gflops"] == pytest.approx(vops)
    assert len(score["missing"]) == 22
    told = called("suite", "score", str(folder))
    assert "2 of 24" in told.stdout
    lacking = "tflite_cpu (inception_v3, densenet121, squeezenet, mobilenet_v2)"
    assert lacking in told.stdout
    assert "caffe2 (all 6)" in told.stdout
    assert "Compare its sums only with sums over the same tests." in told.stdout
    doubt = "board: 2 tests have 5 images instead of AIoTBench's 5000."
    assert doubt in told.stdout
    table = str(folder / "suite.csv")
    again = called("suite", "score", table, "--suite", str(folder), "--json")
    assert json.loads(again.stdout) == document


def test_a_model_in_onnx_runtime_adds_nothing_to_aiotbench(folder: Path) -> None:
    images = colours(folder.parent)
    put(folder, "resnet50", models.classifier())
    data = onnx_models.classifier("float32", first=True, outputs=1000)
    (folder / "models" / "resnet50.onnx").write_bytes(data)
    change(
        folder,
        "# 1 of 18",
        '[[tests]]\nmodel = "resnet50"\nimplementation = "onnxruntime"\n'
        'file = "models/resnet50.onnx"\nmflops = 3800\nlayout = "NCHW"\n',
    )
    words = ("suite", "run", str(folder), "--images", images)
    told = called(*words, "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    processor, onnx = [row.test.images_per_s for row in read_rows(folder / "suite.csv")]
    (score,) = document["scores"]
    (own,) = document["own_scores"]
    assert score["vips"] == pytest.approx(processor)
    assert own["vips"] == pytest.approx(onnx)
    assert len(score["missing"]) == 23
    assert own["missing"] == []
    again = json.loads(called("suite", "score", str(folder), "--json").stdout)
    assert again["scores"] == document["scores"]
    assert again["own_scores"] == document["own_scores"]
    for told in (called(*words), called("suite", "score", str(folder))):
        assert "Tests of your own" in told.stdout


def test_a_run_names_all_24_tests_for_programs(folder: Path) -> None:
    put(folder, "resnet50", models.classifier())
    images = colours(folder.parent)
    out = folder.parent / "table.csv"
    words = ("--images", images, "--out", str(out), "--json")
    told = called("suite", "run", str(folder), *words)
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert len(document["tests"]) == 24
    with_figures = [test for test in document["tests"] if test["time_ms"] is not None]
    assert [test["model"] for test in with_figures] == ["resnet50"]
    assert all(
        bool(test["sentence"]) is (test["time_ms"] is None)
        for test in document["tests"]
    )
    assert len(document["scores"][0]["missing"]) == 23
    assert [row.model for row in read_rows(out)] == ["resnet50"]
    told = called("suite", "status", str(folder), "--out", str(out), "--json")
    found = json.loads(told.stdout)
    assert found["counts"]["measured"] == 1
    suite = shlex.quote(str(folder))
    assert found["next"] == f"referee suite score {out} --suite {suite}"


def test_a_measured_test_whose_model_is_gone_still_counts_in_a_run(
    folder: Path,
) -> None:
    images = colours(folder.parent)
    for model, side in (("resnet50", 8), ("mnasnet", 9)):
        put(folder, model, models.classifier(side, side))
    words = ("suite", "run", str(folder), "--images", images, "--json")
    first = json.loads(called(*words).stdout)
    (folder / "models" / "mnasnet.tflite").unlink()
    again = json.loads(called(*words).stdout)
    assert again["scores"] == first["scores"]
    other = colour_set(folder.parent, ("red", models.RED), name="others").folder
    told = called("suite", "run", str(folder), "--images", str(other))
    assert told.returncode == 1
    assert "with other images" in told.stderr


def test_levels_corrected_after_a_run_are_not_scored_with_the_old_figures(
    folder: Path,
) -> None:
    images = colours(folder.parent)
    put(folder, "resnet50", FLOAT)
    change(folder, 'mean = ""\nsigma = ""', "mean = 0\nsigma = 1")
    run = ("suite", "run", str(folder), "--images", images)
    assert called(*run).returncode == 0
    change(folder, "mean = 0\nsigma = 1", "mean = 127.5\nsigma = 127.5")
    told = called(*run)
    assert told.returncode == 1
    assert "'mean=0 sigma=1' instead of 'mean=127.5 sigma=127.5'" in told.stderr
    (wrong,) = [one for one in status(folder)["tests"] if one["state"] == "wrong"]
    assert "delete that line to measure it again" in wrong["sentence"]


@pytest.mark.parametrize(
    "more", [("--flops", "f.csv"), ("--suite", "x"), ("--flops", "f", "--suite", "x")]
)
def test_a_suites_folder_has_its_flops_already(
    folder: Path, more: tuple[str, ...]
) -> None:
    told = called("suite", "score", str(folder), *more)
    assert told.returncode == 2
    assert "Give one of --flops FLOPS.csv and --suite FOLDER" in told.stderr
