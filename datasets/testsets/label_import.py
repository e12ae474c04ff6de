"""Importing images for classification: a CSV of labels and a folder of images."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from testsets.folder import TestSet
from testsets.importing import SourceImage, build_test_set, require_folder
from testsets.labels import COLUMNS, parse_labels
from testsets.problems import Problems


def import_labels(labels: Path, images: Path, out: Path) -> TestSet:
    """Import the images that the CSV `labels` (`file,label`) lists, from the folder `images` into the new folder `out`.

    Images are numbered by ascending file name; those without a label are left out. The set has neither categories nor
    boxes.

    Raises TestSetError: `import-missing`, `import-invalid` with all problems found (20 at most), `testset-exists`,
    `testset-not-written`, and `ground-truth-missing` or `ground-truth-unreadable` for the CSV.
    """
    require_folder(images)
    problems = Problems()
    found = dict(sorted(parse_labels(labels, problems).items()))
    sources = [SourceImage(images / file, file, None, Path(file).stem, origin=labels) for file in found]
    return build_test_set(out, sources, (), (), problems, _csv(found))


def _csv(labels: Mapping[str, int]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *labels.items()])
    return text.getvalue().encode()
