"""Imports images for classification: a CSV with the header `file,label` and a folder of images."""

from __future__ import annotations

from pathlib import Path

from lpirc_testsets.class_labels import labels_csv, parse_labels
from lpirc_testsets.errors import Reports
from lpirc_testsets.folder import TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.set_building import SourceImage, build_test_set, require_folder


def import_labels(
    labels: Path,
    images: Path,
    out: Path,
    reports: Reports | None = None,
) -> TestSet:
    """Import the images that the CSV `labels` (`file,label`) lists from the folder `images` into the new folder `out`.

    Images are numbered by ascending file name; those without a label are left out. The set has neither categories nor
    boxes.

    Raises TestSetError: `import-missing`, `import-invalid` with all problems found (20 at most), `testset-exists`,
    `testset-not-written`, and `ground-truth-missing` or `ground-truth-unreadable` for the CSV.
    """
    require_folder(images)
    reports = reports or Reports()
    found = dict(sorted(parse_labels(labels, reports.problems).items()))
    sources = [
        SourceImage(
            images / file,
            file,
            None,
            Path(file).stem,
            origin=labels,
        )
        for file in found
    ]
    return build_test_set(
        out,
        sources,
        (),
        (),
        reports,
        labels_csv(found),
    )


FORMAT = Format(
    import_labels,
    "Import labels for the model tracks; images without one are left out.",
    (
        FileOption(
            "csv",
            "CSV file with the header `file,label`; labels are from 1 to 1000.",
            parameter="labels",
        ),
    ),
)
