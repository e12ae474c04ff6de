"""`lpirc-score`, the command of the distribution itself, beside `referee score`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lpirc_score.cli.program import main as command
from lpirc_score.cli.score_command import score
from tests import warm_programs

TRUTH = "image,class,xmin,ymin,xmax,ymax\n1,1,0,0,9,9\n"
FOUND = "1 1 0.9 0 0 9 9\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A ground truth with one object, and a file that finds it."""
    truth = tmp_path / "truth.csv"
    found = tmp_path / "found.txt"
    truth.write_text(TRUTH)
    found.write_text(FOUND)
    return [str(truth), str(found)]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_it_scores_as_the_referees_command_does(files: list[str]) -> None:
    result = call(*files, "--json")
    assert result.exit_code == 0, result.output
    theirs = CliRunner().invoke(score, [*files, "--json"])
    assert json.loads(result.stdout) == json.loads(theirs.stdout)
    assert json.loads(result.stdout)["map"] == 1.0


def test_it_has_the_options_of_the_referees_command_and_a_version() -> None:
    assert {one.name for one in command.params} == {
        *(one.name for one in score.params),
        "version",
    }
    result = call("--version")
    assert result.stdout == f"lpirc-score {version('lpirc-score')}\n"


def test_installed_it_is_a_command(files: list[str]) -> None:
    done = warm_programs.run(["lpirc-score", *files, "--json"])
    assert json.loads(done.stdout)["map"] == 1.0


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--host", "No such option '--host'. The options are --images, --blacklist, "),
        (
            "--gt",
            "No such option '--gt'. Write it without --gt: lpirc-score GROUND_TRUTH DETECTIONS...\n",
        ),
        ("--detection", "Write it without --detection: lpirc-score GROUND_TRUTH DE"),
        ("--met", "No such option '--met'. Did you mean '--metric'?\n"),
        ("--metrik", "No such option '--metrik'. Did you mean '--metric'?\n"),
    ],
)
def test_only_an_option_that_may_be_meant_is_suggested(option: str, told: str) -> None:
    refused = call("truth.csv", "found.txt", option, "1")
    assert refused.exit_code == 2
    assert told in refused.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.json", "no such file"),
        ("folder.csv", "no manifest.json in it"),
        ("empty.csv", "empty.csv"),
    ],
)
def test_a_failure_is_one_line_and_exit_code_1(
    files: list[str],
    tmp_path: Path,
    name: str,
    said: str,
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "empty.csv").touch()
    result = call(str(tmp_path / name), files[1])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("lpirc-score: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


def test_a_warning_names_the_program_that_was_called(
    files: list[str],
    tmp_path: Path,
) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text(f"{FOUND}1 1 0.3 5 5 4 9\n")
    result = call(files[0], str(odd), "--metric", "ilsvrc-det")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"lpirc-score: warning: {odd}: line 2: ")


def test_a_warning_is_told_once_for_all_metrics(
    files: list[str],
    tmp_path: Path,
) -> None:
    shares = tmp_path / "shares.txt"
    shares.write_text("1 1 0.3 0 0 1 1\n")
    result = call(files[0], str(shares), "--metric", "lpirc", "--metric", "coco")
    assert result.stderr.count("lie within 0..1") == 1


def test_an_option_that_is_wrong_is_exit_code_2(files: list[str]) -> None:
    assert call(*files, "--metric", "other").exit_code == 2
    told = call("http://a/b.csv", files[1]).stderr
    assert "http://a/b.csv is an address; name a file or folder of this host" in told


def test_a_reader_that_is_gone_is_no_traceback(files: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as nowhere:
        done = subprocess.run(
            warm_programs.cold(["lpirc-score", *files]),
            stdout=nowhere,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("module", "options", "package"),
    [
        (
            "pycocotools.coco",
            ["--metric", "coco", "--engine", "pycocotools"],
            "pycocotools",
        ),
        ("matplotlib.figure", ["--curves", "curves.png"], "matplotlib"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    options: list[str],
    package: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(
        sys.modules,
        "lpirc_score.metrics.coco_reference",
        raising=False,
    )
    monkeypatch.setitem(sys.modules, module, None)
    result = call(*files, *options)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert f"pip install {package}\n" in result.stderr
