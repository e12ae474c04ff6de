"""Crops and resizing against numbers computed by hand and against the runtime's own resizing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from PIL import Image

from lpirc_client.errors import ModelError
from lpirc_client.harness.images import ImageFile
from lpirc_client.harness.preprocessing import (
    Crop,
    Pixels,
    central_crop,
    central_square,
    decode,
    prepared,
    resized,
)
from tests.tflite_models import Model

IMAGE = ImageFile(3, Path("three.jpg"))


def line(*levels: int) -> Pixels:
    return np.repeat(np.array(levels, np.uint8)[None, :, None], 3, axis=2)


def levels(pixels: Pixels) -> list[int]:
    assert (pixels[..., 0] == pixels[..., 1]).all()
    return pixels[0, :, 0].tolist()


def encoded(
    image: Image.Image,
    kind: str,
    **options: object,
) -> bytes:
    with io.BytesIO() as file:
        image.save(file, kind, **options)
        return file.getvalue()


@pytest.mark.parametrize(
    ("side", "start", "new"),
    [
        (8, 1, 6),  # (8 - 7) / 2 = 0.5 rounds up to 1
        (24, 2, 20),  # 1.5 rounds up to 2, where half to even also gives 2
        (40, 3, 34),  # 2.5 rounds up to 3, where half to even gives 2
        (256, 16, 224),
        (100, 6, 88),
        (1, 0, 1),
        (640, 40, 560),
        (427, 27, 373),  # 26.6875
    ],
)
def test_ovic_crops_each_side_with_halves_up(
    side: int,
    start: int,
    new: int,
) -> None:
    assert central_crop(side, 256) == Crop(start, 16, new, 224)
    assert central_crop(256, side) == Crop(16, start, 224, new)


def test_the_central_square_has_the_shorter_side() -> None:
    assert central_square(48, 65) == Crop(0, 8, 48, 48)
    assert central_square(65, 48) == Crop(8, 0, 48, 48)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            (0, 100),
            (0, 50, 100, 100),
        ),  # at 0, 0.5, 1, 1.5: beyond the last pixel there is only itself
        ((0, 10, 20, 30), (0, 20)),  # at 0 and 2: no mean of neighbours when it shrinks
        ((0, 10, 40), (0, 25)),  # at 0 and 1.5
        ((0, 1), (0, 1, 1, 1)),  # 0.5 is rounded up
        ((7,), (7, 7, 7)),
        ((0, 90, 180), (0, 90, 180)),
    ],
)
def test_resizing_takes_places_from_the_first_pixel_on(
    old: tuple[int, ...],
    new: tuple[int, ...],
) -> None:
    assert levels(resized(line(*old), 1, len(new))) == list(new)
    assert resized(line(*old).swapaxes(0, 1), len(new), 1)[:, 0, 1].tolist() == list(
        new
    )


def test_resizing_mixes_rows_and_columns() -> None:
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[:, :, 0] = [[0, 40], [80, 200]]
    assert resized(pixels, 4, 4)[1, 1].tolist() == [80, 0, 0]  # (0 + 40 + 80 + 200) / 4


@pytest.mark.parametrize("level", [1, 85, 127, 200, 254, 255])
def test_an_even_colour_stays_as_it_is_at_every_size(level: int) -> None:
    even = np.full((37, 91, 3), level, np.uint8)
    for height, width in ((7, 13), (300, 300), (224, 31)):
        assert (resized(even, height, width) == level).all()


@pytest.mark.parametrize(
    "size",
    [
        (30, 41, 17, 23),
        (20, 20, 33, 47),
        (64, 48, 30, 30),
        (5, 90, 50, 9),
    ],
)
def test_resizing_is_that_of_tensorflow(size: tuple[int, int, int, int]) -> None:
    height, width, new_height, new_width = size
    pixels = np.random.default_rng(5).integers(0, 256, (height, width, 3), np.uint8)
    model = Model()
    graph = model.graph()
    graph.inputs = [graph.tensor("image", (1, height, width, 3))]
    graph.outputs = [graph.tensor("resized", (1, new_height, new_width, 3))]
    wanted = graph.constant("size", np.array([new_height, new_width], np.int32))
    options = schema.ResizeBilinearOptionsT()
    graph.operator("RESIZE_BILINEAR", [*graph.inputs, wanted], graph.outputs, options)
    runtime = Interpreter(
        model_content=model.data(),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    runtime.allocate_tensors()
    runtime.set_tensor(
        runtime.get_input_details()[0]["index"],
        pixels[None].astype(np.float32),
    )
    runtime.invoke()
    exact = runtime.get_tensor(runtime.get_output_details()[0]["index"])[0]
    assert np.abs(resized(pixels, new_height, new_width) - exact).max() <= 0.5 + 1e-3


def test_the_crop_is_cut_before_it_is_resized() -> None:
    pixels = np.arange(8, dtype=np.uint8)[None, :, None] * np.ones((8, 1, 3), np.uint8)
    assert levels(prepared(pixels, "central-crop", 1, 6)) == [1, 2, 3, 4, 5, 6]
    assert levels(prepared(pixels, "resize", 1, 4)) == [0, 2, 4, 6]
    assert levels(prepared(pixels[:4], "central-square", 1, 4)) == [2, 3, 4, 5]


def test_grey_cmyk_and_palette_images_become_rgb() -> None:
    grey = decode(IMAGE, encoded(Image.new("L", (8, 8), 128), "JPEG"))
    assert grey.shape == (8, 8, 3)
    assert (grey == 128).all()
    values = decode(IMAGE, encoded(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG"))[
        0, 0
    ].tolist()
    assert values == [255] * 3
    palette = Image.new("RGB", (2, 2), (255, 0, 0)).convert(
        "P",
        palette=Image.Palette.ADAPTIVE,
    )
    assert decode(IMAGE, encoded(palette, "PNG"))[0, 0].tolist() == [255, 0, 0]


def test_transparency_is_dropped_and_exif_orientation_left_aside() -> None:
    seen_through = encoded(Image.new("RGBA", (2, 2), (9, 8, 7, 0)), "PNG")
    assert decode(IMAGE, seen_through)[0, 0].tolist() == [9, 8, 7]
    exif = Image.Exif()
    exif[0x0112] = 6  # stored turned by 90 degrees
    assert decode(
        IMAGE,
        encoded(Image.new("RGB", (16, 8)), "JPEG", exif=exif),
    ).shape == (8, 16, 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no image", "it is not an image of a known kind"),
        (
            encoded(Image.new("RGB", (64, 64), (1, 2, 3)), "JPEG")[:-200],
            "cannot be decoded",
        ),
        (encoded(Image.new("I;16", (4, 4)), "PNG"), "mode I;16, not 8 bits"),
    ],
)
def test_what_is_not_a_complete_8_bit_image_is_refused_by_number_and_name(
    data: bytes,
    said: str,
) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        decode(IMAGE, data)
    assert caught.value.code == "bad-image"
    assert caught.value.sentence.startswith("image 3 (three.jpg): ")


def test_a_picture_of_a_kind_that_is_not_listed_is_not_opened_by_another_program() -> (
    None
):
    eps = (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(ModelError, match="it is not an image of a known kind"):
        decode(ImageFile(1, Path("x.jpg")), eps)
