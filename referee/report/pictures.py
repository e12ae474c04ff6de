"""Test images as small JPEGs inside a page."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image

WIDTH = 420
QUALITY = 70


def data_uri(path: Path) -> str | None:
    """The image, at most WIDTH wide, as a data: URI; None where the file is missing or is no image."""
    try:
        with Image.open(path) as image:
            image.draft("RGB", (WIDTH, WIDTH))  # a JPEG is decoded at a fraction of its size
            small = image.convert("RGB")
        small.thumbnail((WIDTH, WIDTH * 4))
        packed = io.BytesIO()
        small.save(packed, "JPEG", quality=QUALITY)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(packed.getvalue()).decode()}"
