"""`check --detector`: a dry run without a referee, of detectors as people write them the evening before."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_client import cli
from lpirc_testsets import synthesize

DETECTORS = """
import hashlib, json, pathlib
import numpy as np

folder = pathlib.Path({folder!r})
images = json.loads((folder / "manifest.json").read_text())["images"]
objects = json.loads((folder / "ground_truth.json").read_text())["annotations"]
numbers = {{one["sha256"]: one["number"] for one in images}}

def sized(jpeg):
    number = numbers[hashlib.sha256(jpeg).hexdigest()]
    return [(one["category_id"], 0.9, *one["bbox"]) for one in objects if one["image_id"] == number]

def right(jpeg, categories):
    return [(k, p, x, y, x + w - 1, y + h - 1) for k, p, x, y, w, h in sized(jpeg)]

def array(jpeg, categories):
    return np.array(right(jpeg, categories), np.float32)

def names(jpeg, categories):
    named = {{one.id: one.name for one in categories}}
    return [(named[row[0]], *row[1:]) for row in right(jpeg, categories)]

def percent(jpeg, categories):
    return [(row[0], 100 * row[1], *row[2:]) for row in right(jpeg, categories)]

def fractions(jpeg, categories):
    return [(k, p, a / 96, b / 64, c / 96, d / 64) for k, p, a, b, c, d in right(jpeg, categories)]

def xywh(jpeg, categories):
    return [(one[0], 0.9, 60, 40, 20, 10) for one in sized(jpeg)]

def nothing(jpeg, categories):
    pass

def leaves(jpeg, categories):
    raise SystemExit("no licence")

def midway(jpeg, categories):
    yield right(jpeg, categories)[0]
    raise IndexError("anchor\\n8400")

def cats(jpeg, categories):
    return [("cat", 0.5, 1, 2, 3, 4)]
def one_row(jpeg, categories):
    return right(jpeg, categories)[0]
"""

Check = Callable[..., "tuple[int, Any, str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trial")
    synthesize(
        made / "set",
        images=4,
        categories=3,
        seed=1,
        size=(96, 64),
    )
    (made / "detectors_of_people.py").write_text(
        DETECTORS.format(folder=str(made / "set"))
    )
    return made


@pytest.fixture
def check(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Check:
    """Check one of the detectors; the exit code, the document or the text, and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(
        name: str,
        *more: str,
        images: str = "set",
    ) -> tuple[int, Any, str]:
        code = cli.main(
            [
                "check",
                "--detector",
                f"detectors_of_people:{name}",
                "--images",
                images,
                *more,
            ]
        )
        told = capsys.readouterr()
        return (
            code,
            json.loads(told.out) if "--json" in more and told.out else told.out,
            told.err,
        )

    return run


@pytest.mark.parametrize("name", ["right", "array"])
def test_a_good_detector_has_its_map_and_its_time(
    check: Check,
    folder: Path,
    name: str,
) -> None:
    code, document, said = check(name, "--ground-truth", "set", "--json")
    objects = len(
        json.loads((folder / "set" / "ground_truth.json").read_text())["annotations"]
    )
    assert code == 0
    assert said == ""
    assert document["images"] == 4
    assert document["rows"] == objects
    assert document["problems"] == []
    assert document["map"] == 1.0
    assert 0 < document["median_s"] <= document["p95_s"] <= document["slowest_s"]
    assert document["in_600_s"] == pytest.approx(
        600 / document["all_images_s"] * 4,
        rel=0.01,
        abs=1,
    )


CORNERS = "xmin <= xmax and ymin <= ymax: corners, not a corner with width and height"
FAILED = "the detector failed"
ROWS = "rows, [] where nothing is found"


@pytest.mark.parametrize(
    ("name", "weight", "what", "value", "expected"),
    [
        ("names", "refused", "category", "the name 'blue-triangle'", "its id, 3"),
        ("percent", "warned", "the confidence", "90", "0 to 1, not percent"),
        (
            "fractions",
            "warned",
            "a box of fractions",
            "0.",
            "pixels of an image of 96 x 64",
        ),
        ("xywh", "refused", "the box", "60, 40, 20, 10", CORNERS),
        ("nothing", "refused", "the answer", "None", ROWS),
        ("leaves", "refused", FAILED, "SystemExit: no licence (", "no exception"),
        ("midway", "refused", FAILED, "IndexError: anchor 8400 (", "no exception"),
        (
            "one_row",
            "refused",
            "the row",
            "",
            "six numbers: category, confidence, xmin, ymin, xmax, ymax",
        ),
    ],
)
def test_each_mistake_is_counted_and_its_first_place_is_named(
    check: Check,
    name: str,
    weight: str,
    what: str,
    value: str,
    expected: str,
) -> None:
    code, document, _ = check(name, "--json")
    (problem,) = document["problems"]
    assert problem["weight"] == weight
    assert problem["what"] == what
    assert problem["expected"] == expected
    assert problem["image"] == "000001.jpg"
    assert problem["row"] == 1
    assert problem["value"].startswith(value)
    assert problem["times"] == (document["rows"] or 4)
    assert code == (1 if weight == "refused" else 0)


def test_people_get_a_table_and_one_sentence(check: Check) -> None:
    code, told, said = check("midway", "--limit", "2")
    assert code == 1
    assert said.startswith("lpirc-client: the detector failed on 2 of 2 images: Index")
    assert "anchor 8400 (" in said
    assert told.startswith("2 images, 0 rows, 0.0 an image\n")
    assert told.count("\n") == 3  # and no times
    said = check("midway", "--limit", "2", images="set/images")[2]
    assert said.endswith("; it was given no categories: name them with --images set\n")
    line = DETECTORS.split('raise IndexError("anchor')[0].count("\n") + 1
    assert "IndexError: anchor 8400 (" in told.splitlines()[-1]
    assert f"/detectors_of_people.py, line {line})" in told.splitlines()[-1]


def test_a_limit_projects_to_all_images_and_scores_what_was_looked_at(
    check: Check,
) -> None:
    _, document, _ = check("right", "--limit", "1", "--ground-truth", "set", "--json")
    assert document["images"] == 1
    assert document["all_images"] == 4
    assert document["map"] == 1.0


def test_without_categories_a_name_in_place_of_an_id_is_told_what_an_id_is(
    check: Check,
) -> None:
    code, told, _ = check("cats", images="set/images")
    assert code == 1
    assert "'cat' " in told
    assert "an id: a whole number from 0 to 9999, not a name\n" in told


def test_a_folder_without_a_manifest_takes_its_categories_from_a_file(
    check: Check,
    folder: Path,
) -> None:
    code, told, _ = check("right", images="set/images")
    assert code == 0
    assert "ids are not checked; to give them to the detector: --images set\n" in told
    (folder / "names.txt").write_text("[red]-disc\n")
    code, told, _ = check("right", "--categories", "names.txt", images="set/images")
    assert code == 1
    assert "ids not checked" not in told
    assert "refused  category " in told


@pytest.mark.parametrize(
    ("more", "images", "words"),
    [
        ([], "nowhere", "nowhere: there is no such folder"),
        ([], ".", ".: neither a test set nor a folder with JPEG files"),
        ([], "not_jpeg", "a.jpg: not a JPEG file"),
        (["--ground-truth", "nowhere.json"], "set", "nowhere.json: cannot be read"),
        (
            ["--ground-truth", "detectors_of_people.py"],
            "set",
            "not the ground truth of these images",
        ),
        (
            ["--ground-truth", "set"],
            "not_jpeg",
            "of these images in COCO format: it has no image 'a.jpg'",
        ),
        (["--categories", "nowhere.txt"], "set", "nowhere.txt: cannot be read"),
        (
            ["--categories", "set/ground_truth.json"],
            "set",
            "ground_truth.json: it is JSON; write one name per line, or give ",
        ),
        (["--categories", "names.jsonl"], "set", "names.jsonl: it is JSON; write one"),
        (["--categories", "slip.json"], "set", "slip.json: it is JSON; write one name"),
        (["--categories", "bare.json"], "set", "bare.json: it is JSON; write one name"),
    ],
)
def test_what_cannot_be_read_is_named(
    check: Check,
    folder: Path,
    more: list[str],
    images: str,
    words: str,
) -> None:
    (folder / "not_jpeg").mkdir(exist_ok=True)
    (folder / "not_jpeg" / "a.jpg").write_text("GIF89a")
    (folder / "names.jsonl").write_text('{"id": 1, "name": "cat"}\n' * 2)
    (folder / "slip.json").write_text('{\n  "images": [\n  ],,\n}\n')
    (folder / "bare.json").write_text("[\n  cat,\n]\n")
    code, told, said = check("right", *more, images=images)
    assert code == 1
    assert told == ""
    assert said.count("\n") == 1
    assert words in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give --detector and --images, or a referee's URL"),
        (["--images", "x"], "give --detector and --images, or a referee's URL"),
        (["http://a", "--detector", "b:c"], "--detector is for a check without a URL"),
        (["http://a", "--limit", "3"], "--limit is for a check without a URL"),
        (
            ["--detector", "b:c", "--images", "x", "--junit", "y"],
            "--junit is for a check of a referee: give its URL",
        ),
    ],
)
def test_the_two_uses_do_not_mix(
    arguments: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["check", *arguments])
    assert left.value.code == 2
    assert f"error: {told}" in capsys.readouterr().err


@pytest.mark.usefixtures("as_on_python_3_14")
def test_images_and_ground_truth_that_may_not_be_entered_are_told(
    check: Check,
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    closed = open_folder / "closed"
    closed.mkdir()
    closed.chmod(0o111)
    request.getfixturevalue("unprivileged")
    told = check("right", images=str(closed))
    assert told[0] == 1
    assert told[2] == f"lpirc-client: {closed}: cannot be read: Permission denied\n"
