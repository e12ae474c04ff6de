"""The instances of ground truth: of a test set, or of a COCO file."""

from __future__ import annotations

from lpirc_score.tasks.instance_masks import TrueInstance, mask_of, mask_program
from lpirc_score.tasks.task_kinds import Truth
from lpirc_testsets import Problems, TestSet, TestSetError
from lpirc_testsets.truth_marks import Mark, Marks, Sizes, read_marks, sizes_of
from lpirc_testsets.values import LARGEST_NUMBER, shown


def read_truth(test_set: TestSet) -> Truth:
    """Return the instances of each image.

    Raises `TestSetError` `no-truth-for-task` if the set has none, and `CodedError` `pycocotools-missing`.
    """
    mask_program()
    marks = read_marks(test_set)
    return true_instances(marks, sizes_of(test_set), str(test_set.folder))


def true_instances(
    marks: Marks,
    sizes: Sizes,
    source: str,
) -> Truth:
    """Return the instances of each image; `source` names the set in sentences. Raises `TestSetError`."""
    if "instances" not in marks.kinds:
        sentence = f"{source}: it has {marks.has}, and instances are needed: annotations with bbox and segmentation"
        raise TestSetError("no-truth-for-task", sentence)
    problems = Problems()
    found: dict[int, list[TrueInstance]] = {image: [] for image in sizes}
    for mark in marks.marks:
        if mark.segmentation is None or not mark.has_box:
            problems.add(f"{mark.place}: it has no bbox with a segmentation")
            continue
        try:
            found[mark.image].append(_instance(mark, sizes[mark.image]))
        except ValueError as error:
            problems.add(f"{mark.place}: {error}")
    problems.raise_if_any("ground-truth-invalid")
    by_image = {image: tuple(instances) for image, instances in found.items()}
    return Truth(marks.categories, by_image)


def _instance(mark: Mark, size: tuple[int, int]) -> TrueInstance:
    mask = mask_of(mark.segmentation, size)
    area = mark.entry.get("area")
    if area is None:
        area = float(mask_program().area([mask.coco])[0])
    if type(area) not in (int, float) or not 0 <= area <= LARGEST_NUMBER**2:
        raise ValueError(f"area {shown(area)} is not a number of square pixels")
    is_crowd = mark.entry.get("iscrowd", 0)
    if is_crowd not in (0, 1):
        raise ValueError(f"iscrowd {shown(is_crowd)} is neither 0 nor 1")
    return TrueInstance(mark.category, mask, float(area), bool(is_crowd))
