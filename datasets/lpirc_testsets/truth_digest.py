"""The digest of ground truth, which a signature states: the same for the same files under any path."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lpirc_testsets.folder import MANIFEST, load_test_set, sha256_of
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.presence import is_folder, is_there
from lpirc_testsets.voc_reader import voc_files


def truth_digest(
    path: Path,
    truth: GroundTruth,
    images: Path | None = None,
) -> str:
    """Return the digest of ground truth that was read from a path, in hexadecimal.

    It is that of a test set, of the files of VOC, of a file's content, or, of YOLO's text files, of the columns that
    they give. A list of images is part of it. Raises TestSetError as `load_test_set`; OSError.
    """
    digest = _of_path(path, truth)
    if images is None or is_folder(images):
        return digest
    return hashlib.sha256(digest.encode() + images.read_bytes()).hexdigest()


def _of_path(path: Path, truth: GroundTruth) -> str:
    if not is_folder(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if is_there(path / MANIFEST):
        return load_test_set(path).digest
    annotations = voc_files(path)
    if annotations:
        each = "".join(map(sha256_of, annotations))
        return hashlib.sha256(each.encode()).hexdigest()
    return _of_columns(truth)


def _of_columns(truth: GroundTruth) -> str:
    whole = hashlib.sha256()
    names = (truth.image_names, truth.category_names, sorted(truth.sizes.items()))
    whole.update(repr(names).encode())
    columns = (
        truth.image_ids,
        truth.category_ids,
        truth.image,
        truth.category,
        truth.coco_boxes,
        truth.area,
    )
    for column in columns:
        little_endian = column.astype(column.dtype.newbyteorder("<"))
        whole.update(little_endian.tobytes())
    return whole.hexdigest()
