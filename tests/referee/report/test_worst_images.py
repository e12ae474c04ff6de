"""Test images in a report: one that cannot be read costs no report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from referee.report.worst_images import data_uri


@pytest.fixture
def png(tmp_path: Path) -> Path:
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    return tmp_path / "noise.png"


def test_an_image_is_shown_as_a_small_jpeg(png: Path) -> None:
    assert (data_uri(png) or "").startswith("data:image/jpeg;base64,")


def test_an_image_that_breaks_off_or_is_damaged_is_not_shown(png: Path) -> None:
    whole = png.read_bytes()
    for damaged in (b"", whole[:50], whole[:90_000], _second_chunk_damaged(whole)):
        png.write_bytes(damaged)
        assert data_uri(png) is None


def _second_chunk_damaged(whole: bytes) -> bytes:
    first, second, *rest = whole.split(b"IDAT")
    return b"IDAT".join([first, second]) + b"\x1fa\x87\xa9" + b"IDAT".join(rest)
