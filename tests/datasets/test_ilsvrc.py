"""Importing ILSVRC DET with the lists of its development kit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_ilsvrc,
    read_ground_truth,
)
from referee.cli.testset_command import testset as command

if TYPE_CHECKING:
    from conftest import VocSource

SYNSETS = (
    "n02672831 1 accordion\nn02691156 2 airplane\nn03085013 49 computer_keyboard\n"
)


@pytest.fixture
def det(voc_source: VocSource, voc_object: Callable[..., str]) -> VocSource:
    """As the kit has it: a folder a synset, names without extension, images that have no annotation."""
    for name in ("a", "b"):
        (voc_source.annotations / f"{name}.xml").unlink()
    for name, wnid in (
        ("n02672831/n02672831_5", "n02672831"),
        ("val_2", "n03085013"),
        ("val_1", "n02691156"),
    ):
        voc_source.add_image(f"{name}.JPEG")
        voc_source.annotate(
            f"{name}.xml",
            Path(name).name,
            voc_object(wnid, 1, 2, 30, 20),
        )
    voc_source.add_image("extra0/negative_7.JPEG")
    (voc_source.root / "map_det.txt").write_text(SYNSETS)
    return voc_source


def imported(
    det: VocSource,
    listed: str | None = None,
    blacklist: str | None = None,
) -> TestSet:
    files = {}
    for name, text in (
        ("image_list", listed),
        ("blacklist", blacklist),
    ):
        if text is not None:
            files[name] = det.root / f"{name}.txt"
            files[name].write_text(text)
    return import_ilsvrc(
        det.annotations,
        det.images,
        det.out,
        det.root / "map_det.txt",
        **files,
    )


def test_the_synsets_give_the_official_numbers_and_names(det: VocSource) -> None:
    made = imported(det)
    truth = read_ground_truth(made.folder)
    assert [(one.id, one.name) for one in made.categories] == [
        (1, "accordion"),
        (2, "airplane"),
        (49, "computer_keyboard"),
    ]
    assert [image.source_id for image in made.images] == [
        "n02672831/n02672831_5",
        "val_1",
        "val_2",
    ]
    assert truth.category.tolist() == [1, 2, 49]
    assert check(made.folder) == ()


def test_a_list_orders_the_images_and_those_without_annotation_have_no_objects(
    det: VocSource,
) -> None:
    made = imported(det, "val_2 1\nn02672831_5 2\nextra0/negative_7 3\n")
    files = ["val_2.JPEG", "n02672831/n02672831_5.JPEG", "extra0/negative_7.JPEG"]
    assert [image.file for image in made.images] == files
    assert read_ground_truth(made.folder).image.tolist() == [1, 2]
    assert check(made.folder) == ()


def test_images_whose_objects_are_not_all_annotated_are_left_out(
    det: VocSource,
) -> None:
    made = imported(det, "val_1 0\nval_2 1\nextra0/negative_7 -1\n")
    assert [image.file for image in made.images] == [
        "val_2.JPEG",
        "extra0/negative_7.JPEG",
    ]


@pytest.mark.parametrize("blacklist", ["2 n02672831\n2 n02691156\n", "val_1\n"])
def test_blacklisted_images_are_left_out_by_number_or_id(
    det: VocSource,
    blacklist: str,
) -> None:
    made = imported(det, "val_2 1\nval_1 2\n", blacklist)
    assert [image.source_id for image in made.images] == ["val_2"]


@pytest.mark.parametrize(
    ("listed", "blacklist"),
    [
        ("val_2 1\nval_1 2\n", "3 n1\n"),
        ("val_1 1\nval_2 1\n", "1 n1\n"),
    ],
)
def test_a_blacklist_of_another_list_is_told(
    det: VocSource,
    listed: str,
    blacklist: str,
) -> None:
    """A training list has 1 for all its images: that is not their number."""
    with pytest.raises(
        TestSetError,
        match=r"blacklist\.txt: line 1: '.' is neither an image of --list nor its number",
    ):
        imported(det, listed, blacklist)


def test_what_is_wrong_with_the_lists_is_told_with_its_line(det: VocSource) -> None:
    (det.root / "map_det.txt").write_text(
        SYNSETS + "n1 x bad\nn02672831 50 other\nn2\n"
    )
    with pytest.raises(TestSetError) as caught:
        imported(det, "val_1 1\nval_1 2\n../up 3\nval_2 x\nnowhere 5\n")
    told = "\n".join(caught.value.problems)
    for expected in (
        "map_det.txt: line 4: 'n1 x bad' is not WNID NUMBER NAME",
        "map_det.txt: line 6: 'n2' is not WNID NUMBER NAME",
        "map_det.txt: category 'n02672831' is listed more than once",
        "image_list.txt: line 3: '../up' is not a plain file name",
        "image_list.txt: line 4: number 'x'",
        "image_list.txt: line 2: the image 'val_1' is listed more than once",
        "nowhere: No such file",
    ):
        assert expected in told, expected


def test_the_command_takes_the_files_of_the_kit(det: VocSource) -> None:
    (det.root / "val.txt").write_text("val_2 1\nval_1 2\n")
    (det.root / "black.txt").write_text("2 n02672831\n")
    given = ["--annotations", det.annotations, "--images", det.images, "--out", det.out]
    lists = ["--synsets", det.root / "map_det.txt", "--list", det.root / "val.txt"]
    black = ["--blacklist", det.root / "black.txt"]
    ended = CliRunner().invoke(
        command,
        ["import", "ilsvrc", *map(str, [*given, *lists, *black])],
    )
    assert ended.exit_code == 0, ended.output
    assert "1 images, 1 objects in 1 of 3 categories" in ended.stdout
    exit_code = (
        CliRunner()
        .invoke(command, ["import", "ilsvrc", *map(str, [*given, *black])])
        .exit_code
    )
    assert exit_code == 2
