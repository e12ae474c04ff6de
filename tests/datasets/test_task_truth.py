"""Sets for tasks beside boxes: made from a seed, read, checked, divided, and refused when they lie."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO

from lpirc_testsets import (
    Reports,
    TestSet,
    TestSetError,
    check,
    import_coco,
    load_test_set,
    read_ground_truth,
    synthesize,
)
from lpirc_testsets.folder import Category, compute_digest
from lpirc_testsets.run_lengths import decode, encode
from lpirc_testsets.selection import split, write_selection
from lpirc_testsets.task_truth import (
    VOID,
    read_class_truth,
    read_instances,
    read_label_maps,
)
from lpirc_testsets.truth_records import truth_of
from tests.datasets.conftest import CocoSource

TASKS = ("boxes", "instances", "segmentation", "classification")
Spoil = Callable[[dict[str, Any]], None]


def made(tmp_path: Path, task: str, images: int = 6, name: str = "set") -> TestSet:
    return synthesize(
        tmp_path / name,
        images=images,
        categories=5,
        seed=4,
        size=(96, 64),
        task=task,
    )


def spoilt(test_set: TestSet, spoil: Spoil) -> TestSet:
    """Change the ground truth and make the manifest agree with it."""
    path = test_set.ground_truth_path
    document = json.loads(path.read_text())
    spoil(document)
    path.write_text(json.dumps(document))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest_path = test_set.folder / "manifest.json"
    manifest = json.loads(manifest_path.read_text())
    manifest["ground_truth"] = {
        "sha256": sha256,
        "objects": len(document["annotations"]),
    }
    manifest["categories"] = document["categories"]
    categories = [Category(**one) for one in document["categories"]]
    manifest["digest"] = compute_digest(test_set.images, sha256, categories)
    manifest_path.write_text(json.dumps(manifest))
    return load_test_set(test_set.folder)


@pytest.mark.parametrize("task", TASKS)
def test_a_synthetic_set_of_each_task_is_the_same_each_time_and_passes_its_check(
    tmp_path: Path,
    task: str,
) -> None:
    first = made(tmp_path, task)
    again = made(tmp_path, task, name="again")
    assert first.digest == again.digest
    assert check(first.folder) == ()
    assert first.objects > 0


def test_the_tasks_of_one_seed_have_other_digests_and_those_of_scenes_the_same_images(
    tmp_path: Path,
) -> None:
    sets = [made(tmp_path, task, name=task) for task in TASKS]
    assert len({one.digest for one in sets}) == 4
    assert sets[0].images == sets[1].images == sets[2].images


def test_an_unknown_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(TestSetError, match="task 'depth': it must be one of boxes"):
        made(tmp_path, "depth")


def test_classes_are_those_of_the_one_object_in_each_image(tmp_path: Path) -> None:
    test_set = made(tmp_path, "classification", images=30)
    categories, classes = read_class_truth(test_set)
    assert categories == test_set.categories
    assert sorted(classes) == list(range(1, 31))
    assert set(classes.values()) == {1, 2, 3, 4, 5}


def test_label_maps_show_the_objects_in_front_of_a_background_with_void_borders(
    tmp_path: Path,
) -> None:
    test_set = made(tmp_path, "segmentation")
    categories, maps = read_label_maps(test_set)
    assert categories[0] == Category(0, "background")
    assert len(maps) == len(test_set.images)
    boxes = truth_of(made(tmp_path, "boxes", name="boxes"))
    for number in maps:
        labels = maps[number]
        assert labels.shape == (64, 96)
        assert labels.dtype == np.int32
        assert np.mean(labels == 0) > 0.3
        assert 0 < np.mean(labels == VOID) < 0.1
        of = boxes.image == number
        assert set(np.unique(labels)) - {0, VOID} == set(boxes.category[of].tolist())


def test_instances_are_read_as_cocos_program_reads_them(tmp_path: Path) -> None:
    test_set = made(tmp_path, "instances")
    categories, found = read_instances(test_set)
    theirs = COCO(str(test_set.ground_truth_path))
    assert [one.id for one in categories] == theirs.getCatIds()
    for number, instances in found.items():
        annotations = theirs.loadAnns(theirs.getAnnIds([number]))
        assert len(annotations) == len(instances)
        for one, annotation in zip(instances, annotations, strict=True):
            mask = decode(one.counts, 64, 96)
            assert theirs.annToRLE(annotation)["counts"] == one.counts
            assert one.area == mask.sum() == annotation["area"]
            assert list(one.box) == annotation["bbox"]
            assert one.category == annotation["category_id"]


def test_an_instance_that_another_hides_loses_these_pixels_and_no_two_share_one(
    tmp_path: Path,
) -> None:
    _, found = read_instances(made(tmp_path, "instances", images=40))
    for instances in found.values():
        masks = [decode(one.counts, 64, 96) for one in instances]
        if masks:
            assert np.max(np.sum(masks, axis=0)) == 1


def test_objects_with_masks_are_boxes_too(tmp_path: Path) -> None:
    test_set = made(tmp_path, "instances")
    truth = read_ground_truth(test_set.folder)
    _, found = read_instances(test_set)
    boxes = [list(one.box) for of_image in found.values() for one in of_image]
    assert truth.coco_boxes.tolist() == boxes


WRONG_TRUTH = {
    (
        "boxes",
        read_class_truth,
    ): "the set has boxes, and classes are needed; make one with testset import classes",
    (
        "boxes",
        read_label_maps,
    ): "the set has boxes, and label maps are needed; make one with testset import masks",
    (
        "boxes",
        read_instances,
    ): "the set has boxes, and instances are needed; make one with testset import coco, from "
    "annotations with segmentation",
    (
        "classification",
        read_label_maps,
    ): "the set has classes, and label maps are needed",
    ("classification", read_instances): "the set has classes, and instances are needed",
    ("classification", read_ground_truth): "the set has classes and no boxes",
    (
        "segmentation",
        read_class_truth,
    ): "the set has label maps, and classes are needed",
    (
        "segmentation",
        read_instances,
    ): "the set has label maps, and instances are needed",
    ("segmentation", read_ground_truth): "the set has label maps and no boxes",
    ("instances", read_class_truth): "the set has instances, and classes are needed",
}


@pytest.mark.parametrize(("task", "read"), WRONG_TRUTH)
def test_a_set_for_another_task_says_what_it_has_and_how_to_make_one(
    tmp_path: Path,
    task: str,
    read: Callable[[Any], object],
) -> None:
    test_set = made(tmp_path, task)
    with pytest.raises(TestSetError) as failure:
        read(test_set.folder if read is read_ground_truth else test_set)
    assert WRONG_TRUTH[task, read] in failure.value.sentence
    assert "\n" not in failure.value.sentence


def test_two_objects_of_one_category_in_an_image_are_no_label_map(
    tmp_path: Path,
) -> None:
    test_set = made(tmp_path, "instances", images=40)
    with pytest.raises(
        TestSetError, match=r"instances, and label maps are needed \(.*has category \d"
    ):
        read_label_maps(test_set)


def test_a_stuff_file_with_boxes_is_read_as_label_maps(coco_source: CocoSource) -> None:
    mask = np.zeros((30, 40), np.bool_)
    mask[:10] = True
    document = coco_source.document
    document["annotations"].clear()
    for category, inside in ((3, mask), (18, ~mask)):
        coco_source.add_object(
            7,
            category,
            [0, 0, 40, 30],
            segmentation={"size": [30, 40], "counts": encode(inside)},
        )
    made = import_coco(coco_source.write(), coco_source.images, coco_source.out)
    _, maps = read_label_maps(made)
    assert np.array_equal(maps[1], np.where(mask, 3, 18))
    assert (maps[2] == VOID).all()


def _other_size(document: dict[str, Any]) -> None:
    document["annotations"][0]["segmentation"]["size"] = [96, 64]


def _short(document: dict[str, Any]) -> None:
    document["annotations"][0]["segmentation"]["counts"] = "0"


def _no_counts(document: dict[str, Any]) -> None:
    del document["annotations"][0]["segmentation"]["counts"]


def _overlapping(document: dict[str, Any]) -> None:
    document["annotations"][0]["segmentation"]["counts"] = encode(
        np.ones((64, 96), np.bool_)
    )


def _twice(document: dict[str, Any]) -> None:
    document["annotations"].append(document["annotations"][0])


def _huge_id(document: dict[str, Any]) -> None:
    for entry in (*document["annotations"], *document["categories"]):
        for key in ("category_id", "id"):
            if ("name" in entry and entry.get(key) == 1) or (
                key == "category_id" and entry.get(key) == 1
            ):
                entry[key] = 70000


def _unknown_category(document: dict[str, Any]) -> None:
    document["annotations"][0]["category_id"] = 99


def _unknown_image(document: dict[str, Any]) -> None:
    document["annotations"][0]["image_id"] = 99


def _no_class(document: dict[str, Any]) -> None:
    del document["annotations"][0]


def _no_nonce(document: dict[str, Any]) -> None:
    del document["info"]


def _mixed(document: dict[str, Any]) -> None:
    document["annotations"][0]["bbox"] = [1, 2, 3, 4]


def _no_list(document: dict[str, Any]) -> None:
    document["annotations"][0] = []


LIES = [
    (
        "segmentation",
        _other_size,
        "annotations[0]: segmentation: size is [96, 64], but the image has",
    ),
    (
        "segmentation",
        _short,
        "the counts add up to 0, but 64 x 96 pixels are 6144",
    ),
    (
        "segmentation",
        _no_counts,
        "the counts None are neither text nor a list",
    ),
    (
        "segmentation",
        _overlapping,
        "have category 0 already",
    ),
    (
        "segmentation",
        _twice,
        "image 1 has category 0 already",
    ),
    (
        "segmentation",
        _huge_id,
        "category 70000: a label map holds ids from 0 to 65535",
    ),
    (
        "segmentation",
        _unknown_category,
        "category_id 99 is not among the categories",
    ),
    (
        "segmentation",
        _unknown_image,
        "image_id 99 is not among the images",
    ),
    (
        "segmentation",
        _mixed,
        "its annotations are instances and label maps, which no task has",
    ),
    (
        "classification",
        _twice,
        "image 1 has a class already",
    ),
    (
        "classification",
        _no_class,
        "image 1 has no class",
    ),
    (
        "classification",
        _no_nonce,
        "info.nonce is None, not 32 hexadecimal digits",
    ),
    (
        "classification",
        _unknown_category,
        "category_id 99 is not among the categories",
    ),
    (
        "classification",
        _mixed,
        "its annotations are boxes and classes, which no task has",
    ),
    (
        "classification",
        _no_list,
        "annotations[0]: [] is not an annotation",
    ),
    (
        "instances",
        _other_size,
        "annotations[0]: segmentation: size is [96, 64], but the image has",
    ),
    (
        "instances",
        _short,
        "the counts add up to 0, but 64 x 96 pixels are 6144",
    ),
]


@pytest.mark.parametrize(("task", "spoil", "problem"), LIES)
def test_the_check_names_what_lies(
    tmp_path: Path,
    task: str,
    spoil: Spoil,
    problem: str,
) -> None:
    test_set = spoilt(made(tmp_path, task), spoil)
    problems = check(test_set.folder)
    assert any(problem in one for one in problems), problems
    assert len(problems) <= 3, problems
    read = {
        "segmentation": read_label_maps,
        "classification": read_class_truth,
        "instances": read_instances,
    }[task]
    if spoil is _no_nonce or (task, spoil) == ("segmentation", _mixed):
        return  # it can be read all the same
    with pytest.raises(TestSetError):
        dict(read(test_set)[1])


@pytest.mark.parametrize("task", TASKS)
def test_the_parts_of_a_set_have_its_ground_truth(tmp_path: Path, task: str) -> None:
    whole = made(tmp_path, task, images=20)
    rows, _ = split(whole, [50, 50], seed=1)
    part = write_selection(whole, rows, tmp_path / "part", Reports())
    assert check(part.folder) == ()
    again = write_selection(whole, rows, tmp_path / "again", Reports())
    assert part.digest == again.digest
    numbers = {number: row + 1 for number, row in enumerate(rows, start=1)}
    if task == "boxes":
        return
    read = {
        "segmentation": read_label_maps,
        "classification": read_class_truth,
        "instances": read_instances,
    }[task]
    _, of_whole = read(whole)
    _, of_part = read(part)
    for number, origin in numbers.items():
        assert np.array_equal(of_part[number], of_whole[origin])


def test_the_nonce_of_a_part_is_its_own(tmp_path: Path) -> None:
    whole = made(tmp_path, "classification")
    infos = []
    for rows in ([0, 1], [2, 3]):
        part = write_selection(whole, rows, tmp_path / str(rows), Reports())
        infos.append(json.loads(part.ground_truth_path.read_text())["info"]["nonce"])
    assert len({*infos, "0" * 32}) == 3


POLYGON = [[2.5, 3.0, 20.0, 4.5, 11.0, 28.0], [30, 2, 39, 2, 39, 12, 30, 12]]


def test_the_import_keeps_polygons_and_run_lengths_as_they_are(
    coco_source: CocoSource,
) -> None:
    masks = [
        POLYGON,
        {"size": [30, 40], "counts": [1000, 200]},
        {"counts": encode(np.eye(30, 40, dtype=np.bool_)), "size": [30, 40]},
    ]
    for annotation, mask in zip(
        coco_source.document["annotations"], masks, strict=True
    ):
        annotation["segmentation"] = mask
    made = import_coco(coco_source.write(), coco_source.images, coco_source.out)
    kept = json.loads(made.ground_truth_path.read_text())["annotations"]
    assert [one["segmentation"] for one in kept] == masks
    assert check(made.folder) == ()
    theirs = COCO(str(made.ground_truth_path))
    _, found = read_instances(made)
    for number, instances in found.items():
        annotations = theirs.loadAnns(theirs.getAnnIds([number]))
        for one, annotation in zip(instances, annotations, strict=True):
            assert theirs.annToRLE(annotation)["counts"] in (
                one.counts,
                one.counts.encode(),
            )
            assert one.is_crowd == bool(annotation["iscrowd"])
    split_one = write_selection(made, [2], coco_source.root / "part", Reports())
    (entry,) = json.loads(split_one.ground_truth_path.read_text())["annotations"]
    assert entry["segmentation"] == POLYGON


def test_empty_segmentations_are_none(coco_source: CocoSource) -> None:
    for annotation, mask in zip(
        coco_source.document["annotations"], ([], None, []), strict=True
    ):
        annotation["segmentation"] = mask
    made = import_coco(coco_source.write(), coco_source.images, coco_source.out)
    assert "segmentation" not in made.ground_truth_path.read_text()
    assert check(made.folder) == ()


BAD_MASKS = [
    (
        [[1, 2, 3, 4]],
        "polygon 1 has 4 numbers, not two for each of at least three vertices",
    ),
    (
        [[1, 2, 3, 4, 5, 6, 7]],
        "polygon 1 has 7 numbers",
    ),
    (
        [[1, 2, 3, 4, 5, "6"]],
        "polygon 1 [1, 2, 3, 4, 5, '6'] is not a list of numbers",
    ),
    (
        [[1, 2, 3, 4, 5, float("nan")]],
        "is not a list of numbers",
    ),
    (
        [POLYGON[0], [0, 0, 81, 0, 5, 5]],
        "vertex [81.0, 0.0] of polygon 2 is neither in nor near the image of 40 x 30 pixels",
    ),
    (
        [[0, -31, 40, 0, 5, 5]],
        "vertex [0.0, -31.0] of polygon 1 is neither in nor near the image",
    ),
    (
        [1, 2, 3, 4, 5, 6],
        "polygon 1 1 is not a list of numbers",
    ),
    (
        "mask.png",
        "segmentation 'mask.png' is neither polygons nor run lengths",
    ),
    (
        {"size": [40, 30], "counts": [1200]},
        "size is [40, 30], but the image has [height, width] [30, 40]",
    ),
    (
        {"size": [30, 40], "counts": [1199]},
        "the counts add up to 1199, but 30 x 40 pixels are 1200",
    ),
    (
        {"counts": [1200]},
        "size is None, but the image has [height, width] [30, 40]",
    ),
    (
        {"size": [30, 40], "counts": 10**30},
        "the counts 1e+30 are neither",
    ),
]


@pytest.mark.parametrize(("mask", "problem"), BAD_MASKS)
def test_a_wrong_segmentation_is_named_with_object_and_image(
    coco_source: CocoSource,
    mask: object,
    problem: str,
) -> None:
    coco_source.document["annotations"][1]["segmentation"] = mask
    with pytest.raises(TestSetError) as failure:
        import_coco(coco_source.write(), coco_source.images, coco_source.out)
    assert len(failure.value.problems) == 1
    sentence = failure.value.sentence
    assert re.match(rf"{re.escape(str(coco_source.annotations))}: object 2: ", sentence)
    assert problem in sentence
    assert "(image a.jpg)" in sentence
    assert not coco_source.out.exists()


def test_some_objects_without_mask_are_named_when_instances_are_read(
    coco_source: CocoSource,
) -> None:
    coco_source.document["annotations"][1]["segmentation"] = POLYGON
    made = import_coco(coco_source.write(), coco_source.images, coco_source.out)
    assert check(made.folder) == ()
    with pytest.raises(TestSetError) as failure:
        read_instances(made)
    assert len(failure.value.problems) == 2
    assert "annotations[0]: it has no bbox with a segmentation" in str(failure.value)


def test_the_truth_that_changed_since_the_manifest_is_refused(tmp_path: Path) -> None:
    test_set = made(tmp_path, "classification")
    path = test_set.ground_truth_path
    path.write_text(path.read_text() + " ")
    with pytest.raises(TestSetError, match="changed since the manifest was written"):
        read_class_truth(test_set)
    path.unlink()
    with pytest.raises(TestSetError, match="No such file"):
        read_class_truth(replace(test_set))


MEMORY = """
import json, resource
from lpirc_testsets.coco_segmentations import read_segmentations

one = {"segmentation": [[float(place) for place in range(40)]]}
text = json.dumps({"annotations": [one] * 30000})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kept = read_segmentations(text)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) // 1024, sum(map(len, kept)) // 2**20)
"""


def test_masks_are_kept_in_the_memory_of_their_text() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY],
        capture_output=True,
        text=True,
        check=True,
    )
    grown_mib, text_mib = map(int, ran.stdout.split())
    assert text_mib >= 5
    assert grown_mib < 60  # 240 when each keeps the buffer that it was written to
