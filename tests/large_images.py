"""A test set whose batches no buffer on the way takes whole: sending one stops when its client does not read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from lpirc_testsets import synthesize
from lpirc_testsets.writing import ObjectRecord, write_records

IMAGES = 24


def large_test_set(folder: Path) -> Path:
    """Make it in `folder`; bytes after a JPEG's end do no harm."""
    made = synthesize(
        folder,
        images=IMAGES,
        categories=3,
        seed=5,
        size=(96, 64),
    )
    largest_buffer = int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])
    padding = bytes(largest_buffer * 8 // IMAGES)
    images = []
    for image in made.images:
        path = made.image_path(image.number)
        path.write_bytes(path.read_bytes() + padding)
        images.append(
            replace(image, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
        )
    write_records(
        folder,
        "large",
        images,
        made.categories,
        [ObjectRecord(1, 1, (0, 0, 5, 5), 25)],
    )
    return folder
