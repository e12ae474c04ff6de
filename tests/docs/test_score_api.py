"""The examples of the scorer's page say what happens, and the page names all that the package offers."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

import pytest
from click.testing import CliRunner

import lpirc_score
from lpirc_score.cli.program import main as command

PAGE = Path(__file__).parents[2] / "docs" / "score-api.md"
OF_CONTESTS = {
    "COCO",
    "METRICS",
    "STRICT",
    "Tolerance",
    "format_score",
    "lists_ties_by_image",
    "metric_names",
    "score",
    "signature_of",
    "tolerance_of",
}
"""What the referee uses; no page explains it to users of the library."""


def test_every_example_gives_what_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 40


def test_the_page_names_everything_that_is_offered() -> None:
    text = PAGE.read_text()
    offered = {*lpirc_score.__all__} - OF_CONTESTS
    assert [name for name in sorted(offered) if name not in text] == []


def test_the_table_of_types_has_every_field() -> None:
    rows = dict(
        line.split("|")[1:3]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    )
    missing = []
    for name in lpirc_score.__all__:
        value = getattr(lpirc_score, name)
        row = rows.get(f" `{name}` ", "")
        if inspect.isclass(value) and issubclass(value, Enum):
            names = [str(one) for one in value]
        elif is_dataclass(value) and row:
            names = [field.name for field in fields(value)]
        else:
            continue
        missing += [f"{name}.{one}" for one in names if f"`{one}`" not in row]
    assert missing == []


def test_the_table_of_the_document_has_every_field(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(
        "image,class,xmin,ymin,xmax,ymax\n1,1,0,0,9,9\n"
    )
    (tmp_path / "found.txt").write_text("1 1 0.9 50 50 59 59\n")
    (tmp_path / "some.txt").write_text("1\n")
    flags = [
        f"--{name}"
        for name in (
            "errors",
            "confusion",
            "f1",
            "calibration",
            "sizes",
            "labels",
            "json",
        )
    ]
    paths = [str(tmp_path / "truth.csv"), str(tmp_path / "found.txt")]
    parts = ["--slice", f"some={tmp_path}/some.txt", "--img-ids", "1"]
    done = CliRunner().invoke(command, [*paths, *flags, *parts])
    told = json.loads(done.stdout)
    of_part = {
        "errors": [*told["errors"], *told["errors"]["worst_images"][0]],
        "confusion": [*told["confusion"]],
        "f1": [*told["f1"]],
        "calibration": [*told["calibration"]],
        "sizes": [*told["sizes"]["small"]],
        "slices": [*told["slices"]["some"]],
        "selection": [*told["selection"]],
    }
    text = PAGE.read_text().partition("| part | fields |")[2]
    for part, wanted in of_part.items():
        (row,) = re.findall(rf"^\| `{part}` \|(.*)\|$", text, re.MULTILINE)
        assert [one for one in wanted if f"`{one}`" not in row] == []
    candidate = [field.name for field in fields(lpirc_score.LabelCandidate)]
    assert [*told["labels"][0]] == candidate


def test_each_function_is_explained_and_typed() -> None:
    for name in {*lpirc_score.__all__} - OF_CONTESTS:
        value = getattr(lpirc_score, name)
        assert inspect.getdoc(value)
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            assert signature.return_annotation is not signature.empty
