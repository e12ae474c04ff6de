"""Splitting a set and taking a subset of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_labels,
    import_voc,
    load_test_set,
    read_ground_truth,
    read_labels,
    synthesize,
)
from lpirc_testsets.selection import contents, drawn_order, split, stratified
from referee.cli.testset_command import testset as command


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("whole") / "set",
        images=60,
        categories=6,
        seed=5,
        size=(64, 64),
    )


CHOSEN = [[0, 1, 7, 9], [1, 2, 3, 9]]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_parts_are_sound_disjoint_sets_with_everything(
    whole: TestSet,
    tmp_path: Path,
) -> None:
    result = run("split", whole.folder, "--parts", "75,25", "--out", tmp_path / "part")
    assert result.exit_code == 0, result.output
    parts = [load_test_set(tmp_path / f"part-{number}") for number in (1, 2)]
    assert [len(part.images) for part in parts] == [45, 15]
    assert sum(part.objects for part in parts) == whole.objects
    hashes = [one.sha256 for part in parts for one in part.images]
    assert sorted(hashes) == sorted(one.sha256 for one in whole.images)
    assert [check(part.folder) for part in parts] == [(), ()]
    assert [part.categories for part in parts] == [whole.categories] * 2


def test_objects_follow_their_images(whole: TestSet, tmp_path: Path) -> None:
    exit_code = run(
        "subset", whole.folder, "--images", 10, "--out", tmp_path / "small"
    ).exit_code
    assert exit_code == 0
    small = load_test_set(tmp_path / "small")
    truth = read_ground_truth(whole.folder)
    of_small = read_ground_truth(small.folder)
    number = {one.sha256: one.number for one in whole.images}
    for image in small.images:
        mine = of_small.coco_boxes[of_small.image == image.number]
        values = mine.tolist()
        assert values == truth.coco_boxes[truth.image == number[image.sha256]].tolist()


def test_a_part_has_its_share_of_each_category() -> None:
    chance = np.random.default_rng(1)
    often = chance.dirichlet(np.full(20, 0.5)) * 3
    counts = chance.poisson(often, (1000, 20))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(1000).tolist()
        first, second = stratified(counts, [800, 200], order)
        assert sorted(first + second) == list(range(1000))
        assert len(first) == 800
        assert len(second) == 200
        wanted = 0.2 * counts.sum(axis=0)
        found = counts[second].sum(axis=0)
        assert (np.abs(found - wanted) <= np.maximum(0.05 * wanted, 2)).all()
        small, _ = stratified(counts, [50, 950], order)
        wanted = 0.05 * counts.sum(axis=0)
        found = counts[small].sum(axis=0)
        assert (np.abs(found - wanted) <= np.maximum(0.1 * wanted, 3)).all()


def test_the_same_seed_chooses_the_same_on_every_machine(whole: TestSet) -> None:
    assert split(whole, [1, 1], 7) == split(whole, [50, 50], 7)
    images = tuple(
        replace(one, sha256=f"{one.number:064x}") for one in whole.images[:12]
    )
    known = replace(whole, images=images, folder=Path("elsewhere"))
    counts = np.arange(36).reshape(12, 3) % 5
    # Written down once: it depends neither on hash seeds, NumPy's generators nor the folder's place.
    assert [
        stratified(counts, [8, 4], drawn_order(known, seed, range(12)))[1]
        for seed in (7, 8)
    ] == CHOSEN


def test_a_subset_by_list_and_by_categories(whole: TestSet, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        f"{whole.images[8].file}\n\n{whole.images[2].source_id}\n"
    )
    exit_code = run(
        "subset", whole.folder, "--list", tmp_path / "list", "--out", tmp_path / "a"
    ).exit_code
    assert exit_code == 0
    assert [one.sha256 for one in load_test_set(tmp_path / "a").images] == [
        whole.images[2].sha256,
        whole.images[8].sha256,
    ]
    wanted = whole.categories[3]
    exit_code = run(
        "subset", whole.folder, "--categories", wanted.name, "--out", tmp_path / "b"
    ).exit_code
    assert exit_code == 0
    of_category = load_test_set(tmp_path / "b")
    assert of_category.categories == (wanted,)
    assert len(of_category.images) == (contents(whole)[:, 3] > 0).sum()
    assert of_category.objects == contents(whole)[:, 3].sum()
    assert check(of_category.folder) == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--images", 61), "61 images are wanted, 60 can be chosen"),
        (
            ("--categories", "unicorn"),
            "it has no category 'unicorn'; its categories are 'red-disc', ",
        ),
        (("--categories", "red-disk"), ". Did you mean 'red-disc'?"),
        (("--list", "LIST"), "it has no image 'nowhere.jpg'; give its file name"),
    ],
)
def test_what_cannot_be_chosen_is_said(
    whole: TestSet,
    tmp_path: Path,
    arguments: tuple[object, ...],
    words: str,
) -> None:
    (tmp_path / "list").write_text("nowhere.jpg\n")
    given = [tmp_path / "list" if one == "LIST" else one for one in arguments]
    result = run("subset", whole.folder, *given, "--out", tmp_path / "out")
    assert isinstance(result.exception, TestSetError)
    assert words in result.exception.sentence


@pytest.mark.parametrize("parts", ["80", "80,x", "80,0", "80,-1"])
def test_parts_are_whole_numbers(
    whole: TestSet,
    tmp_path: Path,
    parts: str,
) -> None:
    exit_code = run(
        "split", whole.folder, "--parts", parts, "--out", tmp_path / "part"
    ).exit_code
    assert exit_code == 2


@pytest.mark.parametrize(
    ("parts", "note"),
    [
        ("80,30", "--parts 80,30 add up to 110, so the parts have 72.73 %, 27.27 %."),
        ("80,20", ""),
    ],
)
def test_parts_that_are_no_per_cent_are_told(
    whole: TestSet, tmp_path: Path, parts: str, note: str
) -> None:
    ran = run("split", whole.folder, "--parts", parts, "--out", tmp_path / "part")
    assert ran.exit_code == 0
    assert ("add up" in ran.stderr, note in ran.stderr) == (bool(note), True)


def test_an_image_that_changed_since_is_refused(whole: TestSet, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "set")
    first = tmp_path / "set" / "images" / whole.images[0].file
    first.write_bytes((whole.folder / "images" / whole.images[1].file).read_bytes())
    result = run(
        "subset", tmp_path / "set", "--images", 60, "--out", tmp_path / "out", "--json"
    )
    assert isinstance(result.exception, TestSetError)
    assert "changed since" in json.loads(result.stdout)["problems"][0]
    assert not (tmp_path / "out").exists()


def test_photographs_keep_their_shares(voc100: Path, tmp_path: Path) -> None:
    made = import_voc(
        voc100 / "annotations_voc",
        voc100 / "images",
        tmp_path / "voc",
        voc100 / "voc.names",
    )
    counts = contents(made)
    first, _ = split(made, [50, 50], seed=1)
    assert (np.abs(counts[first].sum(axis=0) - counts.sum(axis=0) / 2) <= 3).all()


@pytest.fixture
def classified(whole: TestSet, tmp_path: Path) -> TestSet:
    """Sixty images of two labels, 40 and 20."""
    lines = [f"{one.file},{7 if one.number % 3 else 9}" for one in whole.images]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *lines]))
    return import_labels(
        tmp_path / "labels.csv",
        whole.folder / "images",
        tmp_path / "classified",
    )


def test_sets_for_classification_are_divided_by_label(
    classified: TestSet,
    tmp_path: Path,
) -> None:
    exit_code = run(
        "split", classified.folder, "--parts", "50,50", "--out", tmp_path / "part"
    ).exit_code
    assert exit_code == 0
    exit_code = run(
        "subset", classified.folder, "--images", 6, "--out", tmp_path / "small"
    ).exit_code
    assert exit_code == 0
    label = dict(
        zip(
            (one.sha256 for one in classified.images),
            read_labels(classified).by_image.tolist(),
            strict=True,
        )
    )
    for name, shares in (
        ("part-1", [20, 10]),
        ("part-2", [20, 10]),
        ("small", [4, 2]),
    ):
        made = load_test_set(tmp_path / name)
        found = read_labels(made).by_image.tolist()
        assert [found.count(7), found.count(9)] == shares
        assert found == [label[one.sha256] for one in made.images]
        assert check(made.folder) == ()


def test_sets_for_classification_have_figures_and_a_sheet_but_no_power(
    classified: TestSet,
    tmp_path: Path,
) -> None:
    facts = json.loads(run("stats", classified.folder, "--json").stdout)
    assert [(one["id"], one["objects"]) for one in facts["categories"]] == [
        (7, 40),
        (9, 20),
    ]
    exit_code = run(
        "sheet", classified.folder, "--out", tmp_path / "sheet.jpg"
    ).exit_code
    assert exit_code == 0
    result = run("power", classified.folder, "--detections", tmp_path / "none")
    assert isinstance(result.exception, TestSetError)
    assert (
        "a set for classification has labels and no boxes" in result.exception.sentence
    )


def test_no_part_is_made_when_one_cannot_be(whole: TestSet, tmp_path: Path) -> None:
    (tmp_path / "part-2").write_text("mine")
    result = run("split", whole.folder, "--parts", "50,50", "--out", tmp_path / "part")
    assert "part-2: exists already" in str(result.exception)
    assert [one.name for one in tmp_path.iterdir()] == ["part-2"]


def test_nothing_is_written_into_the_set_itself(test_set: TestSet) -> None:
    """It may be one that a contest serves."""
    place = test_set.folder / "images" / "small"
    result = run("subset", test_set.folder, "--images", 2, "--out", place)
    assert result.exit_code == 2
    assert f"{place} " in result.output
    assert "in the test set" in result.output
    assert "name another place" in result.output
    assert check(test_set.folder) == ()
