"""Models in memory, and pictures with exactly known pixels."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
from PIL import Image

from lpirc_client.harness.model import ModelFile

GREY = (60, 60, 60)
RED = (200, 20, 30)
GREEN = (10, 220, 30)
BLUE = (10, 20, 240)
COLUMN_PX = 16
ROW_PX = 8
"""The pictures of the detection tests are 160 x 80, ten cells each way."""

Cells = dict[tuple[int, int], tuple[int, int, int]]


def model_file(data: bytes) -> ModelFile:
    return ModelFile(Path("m.tflite"), data, hashlib.sha256(data).hexdigest())


def picture(
    cells: Cells,
    mode: str = "RGB",
    ground: tuple[int, int, int] = GREY,
) -> Image.Image:
    """Draw a picture of 160 x 80 whose cells (row, column) have these colours."""
    pixels = np.full((10 * ROW_PX, 10 * COLUMN_PX, 3), ground, np.uint8)
    for (row, column), colour in cells.items():
        top = row * ROW_PX
        left = column * COLUMN_PX
        pixels[top : top + ROW_PX, left : left + COLUMN_PX] = colour
    return Image.fromarray(pixels).convert(mode)


def exact_jpeg(image: Image.Image) -> bytes:
    """Encode a grey JPEG that keeps even blocks of 8 x 8 exactly, since they have only their first coefficient."""
    with io.BytesIO() as file:
        image.convert("L").save(file, "JPEG", quality=100)
        return file.getvalue()


def cell_row(
    image: int,
    category: int,
    level: int,
    row: int,
    column: int,
) -> list[float]:
    """Return the detection of a cell of a picture of 160 x 80."""
    left = column * COLUMN_PX
    top = row * ROW_PX
    return [
        image,
        category,
        level / 255,
        left,
        top,
        left + COLUMN_PX - 1,
        top + ROW_PX - 1,
    ]
