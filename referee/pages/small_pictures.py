"""Test images made smaller, as JPEGs that a page can hold."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import BinaryIO

from PIL import Image

WIDTH = 420
QUALITY = 70


def data_uri(path: Path, width: int = WIDTH, quality: int = QUALITY) -> str | None:
    """Return the image, at most `width` wide, as a data: URI; None if the file is missing or not an image."""
    small = small_jpeg(path, width, quality)
    if small is None:
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(small).decode()}"


def small_jpeg(source: Path | BinaryIO, width: int, quality: int) -> bytes | None:
    """Return the image, at most `width` wide, as a JPEG; None if it is missing or not an image."""
    try:
        with Image.open(source) as image:
            image.draft("RGB", (width, width))  # decodes a JPEG at reduced size
            small = image.convert("RGB")
        small.thumbnail((width, width * 4))
        packed = io.BytesIO()
        small.save(packed, "JPEG", quality=quality)
    except (
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ):  # a bad PNG raises SyntaxError
        return None
    return packed.getvalue()
