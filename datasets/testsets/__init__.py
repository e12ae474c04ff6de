"""Test sets: readers, importers, the synthetic set, the manifest and its checks."""

from testsets.check import check
from testsets.coco import import_coco
from testsets.errors import TestSetError
from testsets.folder import Category, Image, TestSet, load_test_set, verify
from testsets.ground_truth import GroundTruth
from testsets.label_import import import_labels
from testsets.labels import Labels, read_labels
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
