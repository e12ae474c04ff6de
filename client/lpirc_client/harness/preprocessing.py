"""Turns an image file's bytes into the model's input, exactly as the tracks state it.

Every step works on whole pixels of the stored picture and ignores EXIF orientation, as TensorFlow's decoder and COCO's
annotations do. Resizing follows TensorFlow's `ResizeBilinear` as the evaluation of these tracks uses it (align_corners
and half_pixel_centers false, no antialiasing), rounded to the nearest level. Sources: tensorflow
`core/kernels/image/resize_bilinear_op.cc`, `lite/tools/evaluation/stages/image_preprocessing_stage.cc`; Pillow's
BILINEAR is a different filter, which widens its support when it shrinks.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from lpirc_client.harness.images import ImageFile, bad_image
from lpirc_client.harness.model import Tensor
from lpirc_client.harness.model_settings import Settings

Pixels = NDArray[np.uint8]
"""An RGB image (H, W, 3)."""

FRACTION = 0.875
FORMATS = (
    "JPEG",
    "PNG",
    "BMP",
    "PPM",
)  # Pillow knows others, some of which start programs
DEEP_MODES = ("I", "I;16", "I;16B", "I;16L", "F")


@dataclass(frozen=True)
class Crop:
    """Rows `top` .. `top + height - 1`, columns `left` .. `left + width - 1`."""

    top: int
    left: int
    height: int
    width: int


def decode(image: ImageFile, data: bytes) -> Pixels:
    """Decode an image of 8 bits per channel, of any mode, to opaque RGB. Raises ModelError `bad-image`."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            if opened.mode in DEEP_MODES:
                raise bad_image(
                    image, f"its pixels have mode {opened.mode}, not 8 bits"
                )
            return np.asarray(opened.convert("RGB"))
    except UnidentifiedImageError as error:
        raise bad_image(image, "it is not an image of a known kind") from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise bad_image(
            image, f"it cannot be decoded: {' '.join(str(error).split())}"
        ) from error


def prepared(
    pixels: Pixels,
    preprocessing: str,
    height: int,
    width: int,
) -> Pixels:
    """Return the input (height, width, 3) for one of `settings.PREPROCESSINGS`."""
    crop = CROPS[preprocessing](*pixels.shape[:2])
    cut = pixels[crop.top : crop.top + crop.height, crop.left : crop.left + crop.width]
    return resized(cut, height, width)


def model_input(
    pixels: Pixels,
    settings: Settings,
    tensor: Tensor,
) -> NDArray[Any]:
    """Return the input of one image, in the tensor's type and order: [H, W, 3] or [3, H, W]."""
    made: NDArray[Any] = prepared(pixels, settings.preprocessing, *tensor.sides)
    if settings.channels == "BGR":
        made = made[..., ::-1]
    if tensor.dtype == "float32":
        made = (made - np.array(settings.mean, np.float32)) / np.array(
            settings.sigma, np.float32
        )
    return made.transpose(2, 0, 1) if tensor.is_channels_first else made


def whole(height: int, width: int) -> Crop:
    """Return a crop that keeps the whole image."""
    return Crop(0, 0, height, width)


def central_crop(height: int, width: int) -> Crop:
    """Return OVIC's central 0.875.

    Per side start = round((side - 0.875 side) / 2) and new = round(side - 2 start), half up.
    """
    top = _half_up((height - FRACTION * height) / 2)
    left = _half_up((width - FRACTION * width) / 2)
    return Crop(top, left, _half_up(height - 2 * top), _half_up(width - 2 * left))


def central_square(height: int, width: int) -> Crop:
    """Return AIoTBench's central square. If the margins cannot be equal, the one after the square is a pixel larger."""
    side = min(height, width)
    return Crop((height - side) // 2, (width - side) // 2, side, side)


CROPS: dict[str, Callable[[int, int], Crop]] = {
    "resize": whole,
    "central-crop": central_crop,
    "central-square": central_square,
}


def resized(
    pixels: Pixels,
    height: int,
    width: int,
) -> Pixels:
    """Resize (H, W, 3) bilinearly: output pixel i lies at i * (old side / new side), between two old ones.

    It computes a + (b - a) * share in float32, which keeps uniform areas exactly, and rounds half up to 8 bits.
    """
    rows = _Weights.of(len(pixels), height)
    columns = _Weights.of(pixels.shape[1], width)
    upper = pixels[rows.first]
    lower = pixels[rows.second]
    top = columns.between(upper)
    bottom = columns.between(lower)
    mixed = top + (bottom - top) * rows.share[:, None, None]
    return np.floor(mixed + np.float32(0.5)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _Weights:
    """For each new pixel of a side: the two old pixels around it, and its distance from the first (float32)."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    share: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        old: int,
        new: int,
    ) -> _Weights:
        at = np.arange(new, dtype=np.float32) * (np.float32(old) / np.float32(new))
        first = at.astype(np.int64)
        return cls(first, np.minimum(first + 1, old - 1), at - first.astype(np.float32))

    def between(self, pixels: Pixels) -> NDArray[np.float32]:
        """Interpolate across the width of (H, W, 3)."""
        left = pixels[:, self.first].astype(np.float32)
        right = pixels[:, self.second].astype(np.float32)
        mixed: NDArray[np.float32] = left + (right - left) * self.share[None, :, None]
        return mixed


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)
