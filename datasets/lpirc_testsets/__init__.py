"""Test sets: the folder with its manifest and checks, readers of ground truth, importers, the synthetic set.

It knows nothing of runs, HTTP and scoring. Start with `folder` for what a test set is, `ground_truth_reader` for ground
truth, `formats` and `set_building` for imports, or `synthetic` for the synthetic set.

A name is imported when it is first used, so a command that needs no test set does not wait for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpirc_testsets.late_names import late_names

if TYPE_CHECKING:
    from lpirc_testsets.class_labels import Labels, read_labels
    from lpirc_testsets.coco_import import import_coco
    from lpirc_testsets.errors import Problems, Reports, TestSetError
    from lpirc_testsets.folder import Category, Image, TestSet, load_test_set, verify
    from lpirc_testsets.ground_truth import GroundTruth
    from lpirc_testsets.ground_truth_reader import objects_of, read_ground_truth
    from lpirc_testsets.ilsvrc_import import import_ilsvrc
    from lpirc_testsets.label_import import import_labels
    from lpirc_testsets.open_images_import import import_open_images
    from lpirc_testsets.set_check import check
    from lpirc_testsets.synthetic import category_names, synthesize
    from lpirc_testsets.task_truth import (
        Instance,
        read_class_truth,
        read_instances,
        read_label_maps,
    )
    from lpirc_testsets.voc_import import import_voc

__all__ = [
    "Category",
    "GroundTruth",
    "Image",
    "Instance",
    "Labels",
    "Problems",
    "Reports",
    "TestSet",
    "TestSetError",
    "category_names",
    "check",
    "import_coco",
    "import_ilsvrc",
    "import_labels",
    "import_open_images",
    "import_voc",
    "load_test_set",
    "objects_of",
    "read_class_truth",
    "read_ground_truth",
    "read_instances",
    "read_label_maps",
    "read_labels",
    "synthesize",
    "verify",
]

_MODULES = {
    "class_labels": (
        "Labels",
        "read_labels",
    ),
    "coco_import": ("import_coco",),
    "errors": (
        "Problems",
        "Reports",
        "TestSetError",
    ),
    "folder": (
        "Category",
        "Image",
        "TestSet",
        "load_test_set",
        "verify",
    ),
    "ground_truth": ("GroundTruth",),
    "ground_truth_reader": (
        "objects_of",
        "read_ground_truth",
    ),
    "ilsvrc_import": ("import_ilsvrc",),
    "label_import": ("import_labels",),
    "open_images_import": ("import_open_images",),
    "set_check": ("check",),
    "synthetic": (
        "category_names",
        "synthesize",
    ),
    "task_truth": (
        "Instance",
        "read_class_truth",
        "read_instances",
        "read_label_maps",
    ),
    "voc_import": ("import_voc",),
}
__getattr__ = late_names(__name__, _MODULES)
