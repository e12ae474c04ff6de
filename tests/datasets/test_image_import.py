"""Photographs alone: each file that cannot be one is named, and a failed import leaves nothing behind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from lpirc_testsets import TestSetError
from lpirc_testsets.image_import import import_images


def picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), (9, 99, 200)).save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photographs"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (picture("PNG"), "is PNG, not JPEG"),
        (picture("JPEG")[:-200], "cannot be decoded"),
        (b"<html>", "is not an image"),
    ],
)
@pytest.mark.parametrize("has_others", [False, True])
def test_a_file_named_as_jpeg_that_is_none_is_named_and_not_left_out(
    photographs: Path,
    content: bytes,
    problem: str,
    has_others: bool,
) -> None:
    wrong = photographs / "wrong.JPG"
    wrong.write_bytes(content)
    if has_others:
        (photographs / "right.jpg").write_bytes(picture("JPEG"))
    out = photographs.parent / "sets" / "of" / "mine"
    with pytest.raises(TestSetError) as refused:
        import_images(photographs, out)
    assert refused.value.sentence.startswith(f"{wrong}: {problem}")
    assert not (photographs.parent / "sets").exists()
    wrong.write_bytes(picture("JPEG"))
    assert len(import_images(photographs, out).images) == 1 + has_others


def test_a_folder_that_was_there_is_kept_when_an_import_fails(
    photographs: Path,
) -> None:
    (photographs / "wrong.jpg").write_bytes(b"")
    kept = photographs.parent / "kept"
    kept.mkdir()
    with pytest.raises(TestSetError):
        import_images(photographs, kept / "new" / "set")
    assert [*kept.iterdir()] == []


def test_an_empty_folder_is_named(photographs: Path) -> None:
    with pytest.raises(TestSetError, match=r"photographs: no JPEG image in it"):
        import_images(photographs, photographs.parent / "set")
