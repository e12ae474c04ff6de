"""Test sets: the folder with its manifest and checks, readers of ground truth, importers, the synthetic set.

It knows nothing of runs, HTTP and scoring. Start with `folder` for what a test set is, with `reading` for ground truth,
with `importing` for what `coco`, `voc` and `labels` share, with `synthetic` for the synthetic set.
"""

from testsets.check import check
from testsets.coco import import_coco
from testsets.errors import TestSetError
from testsets.folder import Category, Image, TestSet, load_test_set, verify
from testsets.ground_truth import GroundTruth
from testsets.labels import Labels, import_labels, read_labels
from testsets.reading import read_ground_truth
from testsets.synthetic import category_names, synthesize
from testsets.voc import import_voc

__all__ = [
    "Category",
    "GroundTruth",
    "Image",
    "Labels",
    "TestSet",
    "TestSetError",
    "category_names",
    "check",
    "import_coco",
    "import_labels",
    "import_voc",
    "load_test_set",
    "read_ground_truth",
    "read_labels",
    "synthesize",
    "verify",
]
