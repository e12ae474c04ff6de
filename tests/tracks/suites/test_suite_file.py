from __future__ import annotations

import csv
import socket
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from lpirc_tracks.suites.aiotbench_models import MFLOPS, published_models
from lpirc_tracks.suites.implementations import IMPLEMENTATIONS
from lpirc_tracks.suites.suite_file import aiotbench_text, write_aiotbench
from lpirc_tracks.suites.suite_plan import read_plan
from referee.errors import RefereeError
from tests.contest_day import shared


def test_the_file_has_the_18_models_and_24_tests_of_the_paper(tmp_path: Path) -> None:
    path = write_aiotbench(tmp_path / "aiotbench")
    assert path == tmp_path / "aiotbench" / "suite.toml"
    assert (path.parent / "models").is_dir()
    rows = tomllib.loads(path.read_text())["models"]
    assert len({(row["model"], row["framework"]) for row in rows}) == len(rows) == 18
    plan = read_plan(path)
    assert (plan.cooldown_s, plan.limit) == (300.0, 5000)
    counts = Counter(test.implementation for test in plan.tests)
    assert counts == dict.fromkeys(IMPLEMENTATIONS, 6)


def test_the_published_figures_are_those_of_the_tables() -> None:
    with shared("tables", "aiotbench_flops.csv").open(newline="") as lines:
        flops = {row["model"]: float(row["mflops"]) for row in csv.DictReader(lines)}
    assert flops == MFLOPS
    with shared("tables", "aiotbench_table6.csv").open(newline="") as lines:
        table = [row for row in csv.DictReader(lines) if row["device"] == "Galaxy s10e"]
    accuracies = {
        (row["implementation"], row["model"]): float(row["accuracy_percent"])
        for row in table
    }
    written = {
        (implementation, one.model): one.accuracy_percent
        for one in published_models()
        for implementation in one.framework.implementations
    }
    assert written == accuracies
    assert len(accuracies) == 24


def test_only_what_is_published_has_a_value() -> None:
    rows = tomllib.loads(aiotbench_text())["models"]
    assert {row["sha256"] for row in rows} == {""}
    sides = {(row["model"], row["side"]) for row in rows if row["side"]}
    assert sides == {("inception_v3", 299)}
    levels = {
        (row["model"], row["framework"]): (row["channels"], row["mean"], row["sigma"])
        for row in rows
        if row["framework"] != "pytorch_mobile" and row["mean"] != ""
    }
    assert levels == {
        ("inception_v3", "tflite"): ("RGB", 127.5, 127.5),
        ("inception_v3", "caffe2"): ("BGR", 0, 255),
    }
    layouts = {(row["framework"], row["layout"]) for row in rows}
    expected = {("tflite", "NHWC"), ("caffe2", "NCHW"), ("pytorch_mobile", "NCHW")}
    assert layouts == expected


def test_the_examples_in_the_file_are_taken_once_their_marks_are_gone(
    tmp_path: Path,
) -> None:
    path = write_aiotbench(tmp_path / "aiotbench")
    lines = path.read_text().splitlines()
    starts = [
        number
        for number, line in enumerate(lines)
        if line in ("# [implementations.tflite_nnapi]", "# [[tests]]")
    ]
    assert len(starts) == 2
    for start in starts:
        for number in range(start, lines.index("", start)):
            lines[number] = lines[number].removeprefix("# ")
    path.write_text("\n".join(lines))
    (path.parent / "models" / "resnet50.onnx").write_bytes(b"x")
    plan = read_plan(path)
    assert len(plan.tests) == 25
    assert plan.tests[-1].stated.layout == "NCHW"
    nnapi = {
        test.options.get("delegate")
        for test in plan.tests
        if test.implementation == "tflite_nnapi"
    }
    assert nnapi == {"/path/of/the/library.so"}


def test_only_rows_that_the_harness_can_run_name_a_file() -> None:
    rows = tomllib.loads(aiotbench_text())["models"]
    named = [row for row in rows if "file" in row]
    assert {row["framework"] for row in named} == {"tflite"}
    assert len({row["file"] for row in named}) == 6


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    write_aiotbench(tmp_path / "aiotbench")


def test_a_folder_with_anything_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "my suite"
    folder.mkdir()
    (folder / "kept").write_text("x")
    with pytest.raises(RefereeError) as failure:
        write_aiotbench(folder)
    assert failure.value.code == "suite-exists"
    assert f"referee suite status '{folder}'" in failure.value.sentence
    assert [one.name for one in folder.iterdir()] == ["kept"]


def test_an_empty_folder_is_taken_and_a_file_is_not(tmp_path: Path) -> None:
    write_aiotbench(tmp_path)
    with pytest.raises(RefereeError) as failure:
        write_aiotbench(tmp_path / "suite.toml")
    assert failure.value.code == "suite-exists"
