"""What a published number was computed with, in one line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

VERSION = "0.1.0"
"""The program's version; a test holds it equal to the distribution's, since scoring reads no files."""

DIGEST_LENGTH = 12
"""Hexadecimal digits of a digest that a signature shows."""


def signature(
    metric: str,
    iou: float | str,
    blacklist: Iterable[tuple[int, int]],
    ground_truth: str | None,
    engine: str | None = None,
) -> str:
    """One line such as `lpirc|iou:0.5|blacklist:none|gt:9f86d081|v:0.1.0`, in the manner of sacrebleu.

    `ground_truth` is the caller's digest of the ground truth, `engine` the program that computed the number if
    it is not this one; their parts are left out without them.
    """
    parts = [metric, f"iou:{iou}", f"blacklist:{_blacklist(blacklist)}"]
    if ground_truth is not None:
        parts.append(f"gt:{ground_truth[:DIGEST_LENGTH]}")
    if engine is not None:
        parts.append(f"engine:{engine}")
    return "|".join([*parts, f"v:{VERSION}"])


def _blacklist(pairs: Iterable[tuple[int, int]]) -> str:
    lines = [f"{image},{category}" for image, category in sorted(set(pairs))]
    if not lines:
        return "none"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{len(lines)}-{digest[:DIGEST_LENGTH]}"
