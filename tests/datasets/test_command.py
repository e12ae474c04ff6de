"""The commands of `referee testset`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from lpirc_score.errors import CodedError
from lpirc_testsets import TestSet, TestSetError, load_test_set
from referee.cli.testset_command import testset as command

if TYPE_CHECKING:
    from conftest import CocoSource, VocSource


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_synthesize_makes_the_set_that_it_describes(tmp_path: Path) -> None:
    out = tmp_path / "set"
    wish = (
        "--images",
        3,
        "--categories",
        5,
        "--seed",
        2,
        "--width",
        96,
        "--height",
        64,
    )
    result = run("synthesize", *wish, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    made = load_test_set(out)
    assert facts["images"] == 3
    assert facts["categories"] == 5
    assert facts["objects"] == made.objects
    assert facts["digest"] == made.digest
    assert facts["name"] == "synthetic-3x5-seed-2"
    assert facts["folder"] == str(out)
    assert made.digest in run("synthesize", *wish, "--out", tmp_path / "again").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--images", "0", "--out", "x"],
        ["--images", "1"],
        ["--images", "many"],
    ],
)
def test_wrong_usage_ends_with_two(arguments: list[str]) -> None:
    assert run("synthesize", *arguments).exit_code == 2


def test_coco_is_imported_and_passes_its_check(
    coco_source: CocoSource,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    out = tmp_path_factory.mktemp("imports") / "coco"
    annotations = coco_source.write()
    result = run(
        "import",
        "coco",
        "--annotations",
        annotations,
        "--images",
        coco_source.images,
        "--out",
        out,
    )
    assert result.exit_code == 0, result.output
    assert (
        "3 images (1 without objects), 3 objects in 2 of 2 categories" in result.stdout
    )
    assert run("check", out).stdout == f"{out}: nothing wrong\n"


def test_voc_is_imported_with_names(voc_source: VocSource, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("zebra\nant\nfox\n", encoding="utf-8")
    folders = ("--annotations", voc_source.annotations, "--images", voc_source.images)
    result = run(
        "import",
        "voc",
        *folders,
        "--out",
        voc_source.out,
        "--categories",
        names,
        "--json",
    )
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["images"] == 2
    assert facts["categories"] == 3
    assert facts["categories_with_objects"] == 2


def test_ilsvrc_needs_the_list_of_categories(
    voc_source: VocSource,
    tmp_path: Path,
) -> None:
    where = (
        "--annotations",
        voc_source.annotations,
        "--images",
        voc_source.images,
        "--out",
        voc_source.out,
    )
    assert run("import", "ilsvrc", *where).exit_code == 2
    (tmp_path / "ids").write_text("ant\nzebra\n", encoding="utf-8")
    exit_code = run(
        "import", "ilsvrc", *where, "--categories", tmp_path / "ids"
    ).exit_code
    assert exit_code == 0


def test_a_refused_import_prints_every_problem_and_fails(
    coco_source: CocoSource,
) -> None:
    coco_source.add_object(7, 98, [0, 0, 2, 2])
    where = (
        "--annotations",
        coco_source.write(),
        "--images",
        coco_source.images,
        "--out",
        coco_source.out,
    )
    coco_source.add_object(7, 99, [0, 0, 2, 2])
    coco_source.write()
    result = run("import", "coco", *where)
    assert isinstance(result.exception, TestSetError)
    heading, *rows, kinds = result.stdout.splitlines()
    assert heading.split() == [
        "file",
        "line",
        "or",
        "image",
        "problem",
        "value",
        "what",
        "to",
        "do",
    ]
    kind = "category_id ... is not among the categories"
    for row, place, value in zip(
        rows,
        ("annotations[3]", "annotations[4]"),
        ("98", "99"),
        strict=True,
    ):
        said = kind.replace("...", value)
        cells = (str(where[1]), place, said, f" {value} ", "correct it in that file")
        assert [row.count(cell) for cell in cells] == [1, 1, 1, 2, 1]
    assert kinds.split(maxsplit=1) == ["2", kind]
    as_json = json.loads(run("import", "coco", *where, "--json").stdout)
    assert as_json["code"] == "import-invalid"
    assert len(as_json["problems"]) == as_json["total"] == as_json["kinds"][kind] == 2
    assert as_json["table"][1]["value"] == "99"
    shown = json.loads(run("import", "coco", *where, "--json", "--show", 1).stdout)
    assert len(shown["table"]) == 1
    assert shown["total"] == 2
    assert "1 more are not shown" in run("import", "coco", *where, "--show", 1).stdout


def test_check_prints_every_problem_and_fails_with_their_number(
    test_set: TestSet,
) -> None:
    test_set.image_path(1).unlink()
    (test_set.folder / "extra").write_text("x", encoding="utf-8")
    result = run("check", test_set.folder)
    assert "copy the file again" in result.stdout.splitlines()[1]
    assert "remove it from the folder" in result.stdout.splitlines()[2]
    assert isinstance(result.exception, TestSetError)
    assert result.exception.code == "testset-problems"
    assert "2" in result.exception.sentence
    assert (
        len(json.loads(run("check", test_set.folder, "--json").stdout)["problems"]) == 2
    )


def test_check_of_a_sound_set_as_json_says_so(test_set: TestSet) -> None:
    result = run("check", test_set.folder, "--json")
    assert result.exit_code == 0
    found = {
        "problems": [],
        "total": 0,
        "kinds": {},
        "table": [],
    }
    assert json.loads(result.stdout) == {"folder": str(test_set.folder)} | found


def test_a_set_is_not_made_in_the_folder_of_its_images(coco_source: CocoSource) -> None:
    images = coco_source.images
    options = "--annotations", coco_source.write(), "--images", images
    result = run("import", "coco", *options, "--out", images / "new")
    assert isinstance(result.exception, CodedError)
    said = f"--out {images}/new is in {images}, which is the folder of --images and is"
    assert result.exception.sentence.startswith(said)
    assert not (images / "new").exists()
