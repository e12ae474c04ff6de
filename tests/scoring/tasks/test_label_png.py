"""PNGs as label maps: every kind that can be one is read exactly, and no other costs more than its image."""

from __future__ import annotations

import io
import struct
import time
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lpirc_score.tasks.label_png import MOST_CHUNKS, SIGNATURE, read_label_png
from tests.scoring.tasks.label_map_sets import png_of

Pixels = np.ndarray[Any, np.dtype[Any]]

ADAM7 = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


def chunk(
    kind: bytes,
    content: bytes,
) -> bytes:
    checked = kind + content
    return (
        struct.pack(">I", len(content))
        + checked
        + struct.pack(">I", zlib.crc32(checked))
    )


def header(
    width: int,
    height: int,
    bits: int = 8,
    colour: int = 0,
    interlace: int = 0,
) -> bytes:
    fields = (width, height, bits, colour, 0, 0, interlace)
    return chunk(b"IHDR", struct.pack(">IIBBBBB", *fields))


def rows_of(pixels: Pixels) -> bytes:
    """The rows of 8 bits as PNG has them, without a filter."""
    return b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in pixels)


def png(*chunks: bytes) -> bytes:
    return SIGNATURE + b"".join(chunks)


def plain(
    pixels: Pixels,
    *between: bytes,
) -> bytes:
    height, width = pixels.shape
    data = chunk(b"IDAT", zlib.compress(rows_of(pixels)))
    return png(
        header(width, height),
        *between,
        data,
        chunk(b"IEND", b""),
    )


def some_pixels(
    seed: int,
    most: int = 256,
) -> Pixels:
    chance = np.random.default_rng(seed)
    return chance.integers(
        0,
        most,
        chance.integers(
            1,
            40,
            2,
        ),
    )


@pytest.mark.parametrize("seed", range(20))
def test_grey_of_8_and_16_bits_is_read_exactly(seed: int) -> None:
    for kind in (np.uint8, np.uint16):
        pixels = some_pixels(seed, np.iinfo(kind).max + 1).astype(kind)
        height, width = pixels.shape
        found = read_label_png(
            png_of(pixels),
            width,
            height,
        )
        assert found.dtype == kind
        assert np.array_equal(found, pixels)


@pytest.mark.parametrize("most", [2, 4, 16, 256])
def test_palettes_of_all_depths_give_their_indices(most: int) -> None:
    for seed in range(5):
        pixels = some_pixels(seed, most)
        height, width = pixels.shape
        image = Image.frombytes(
            "P",
            (width, height),
            pixels.astype(np.uint8).tobytes(),
        )
        image.putpalette([7 * n % 256 for n in range(3 * most)])
        out = io.BytesIO()
        image.save(
            out,
            "PNG",
            bits=most.bit_length() - 1,
        )
        assert np.array_equal(
            read_label_png(
                out.getvalue(),
                width,
                height,
            ),
            pixels,
        )


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (17, 9), (1, 30)])
def test_interlaced_images_are_read(
    size: tuple[int, int],
) -> None:
    pixels = np.random.default_rng(0).integers(
        0,
        256,
        size,
    )
    height, width = size
    passes = [pixels[top::down, left::across] for left, top, across, down in ADAM7]
    data = b"".join(rows_of(part) for part in passes if part.size)
    made = png(
        header(
            width,
            height,
            interlace=1,
        ),
        chunk(b"IDAT", zlib.compress(data)),
        chunk(b"IEND", b""),
    )
    assert np.array_equal(
        read_label_png(
            made,
            width,
            height,
        ),
        pixels,
    )


def test_other_chunks_and_divided_data_change_nothing() -> None:
    pixels = some_pixels(1)
    height, width = pixels.shape
    data = zlib.compress(rows_of(pixels))
    made = png(
        header(width, height),
        chunk(b"tEXt", b"Comment\0made by hand"),
        chunk(b"PLTE", bytes(768)),
        *(
            chunk(b"IDAT", data[at : at + 7])
            for at in range(
                0,
                len(data),
                7,
            )
        ),
        chunk(b"IEND", b""),
    )
    assert np.array_equal(
        read_label_png(
            made,
            width,
            height,
        ),
        pixels,
    )


PIXELS = np.arange(12).reshape(3, 4) % 5
GOOD = plain(PIXELS)


def jpeg() -> bytes:
    out = io.BytesIO()
    Image.new("L", (4, 3)).save(out, "JPEG")
    return out.getvalue()


def coloured(mode: str) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (4, 3)).save(out, "PNG")
    return out.getvalue()


def wrong_sum() -> bytes:
    at = GOOD.index(b"IDAT") + 6
    return GOOD[:at] + bytes([GOOD[at] ^ 1]) + GOOD[at + 1 :]


def with_data(data: bytes) -> bytes:
    return png(
        header(4, 3),
        chunk(b"IDAT", data),
        chunk(b"IEND", b""),
    )


END = chunk(b"IEND", b"")
SMALL = header(4, 3)
ONLY_HEADERS = {
    "two IHDR": (SMALL, SMALL),
    "no pixels": (SMALL,),
    "colour 7": (
        header(
            4,
            3,
            colour=7,
        ),
    ),
    "interlace 2": (
        header(
            4,
            3,
            interlace=2,
        ),
    ),
}
BESIDE = {
    "animated": chunk(b"acTL", bytes(8)),
    "unknown": chunk(b"ABCD", b""),
    "chunks": chunk(b"tEXt", b"") * MOST_CHUNKS,
}
ROWS = bytes(15)
PACKED = {
    "not packed": b"abc",
    "short": zlib.compress(ROWS[:-1]),
    "cut": zlib.compress(ROWS)[:-5],
    "long": zlib.compress(ROWS + b"\0"),
    "filter": zlib.compress(b"\x09" + ROWS[1:]),
}
FILES = {
    "empty": b"",
    "jpeg": jpeg(),
    "text": b"hello",
    "signature alone": SIGNATURE,
    "no IHDR": png(chunk(b"IDAT", b"")),
    "size": plain(PIXELS.T),
    "RGB": coloured("RGB"),
    "RGBA": coloured("RGBA"),
    "LA": coloured("LA"),
    "one bit": coloured("1"),
    "broken off": GOOD[:-20],
    "no end": GOOD[:-12],
    "CRC": wrong_sum(),
    **{name: png(*chunks, END) for name, chunks in ONLY_HEADERS.items()},
    **{name: plain(PIXELS, more) for name, more in BESIDE.items()},
    **{name: with_data(data) for name, data in PACKED.items()},
}
REFUSED = {
    "empty": "its PNG is empty",
    "jpeg": "it is a JPEG, which changes values; send a PNG",
    "text": "it is not a PNG.*its own are 68 65 6C 6C",
    "signature alone": "the PNG breaks off before its end",
    "no IHDR": "the PNG does not begin with IHDR",
    "size": "the label map is 3 x 4 pixels, the image 4 x 3",
    "RGB": "has red, green and blue; a label map has one",
    "RGBA": "has red, green, blue and transparency",
    "LA": "has grey with transparency",
    "one bit": "the PNG has the bit depth 1; save it as grey",
    "broken off": "breaks off within its chunk 'IDAT'",
    "no end": "breaks off before its end",
    "CRC": "its chunk 'IDAT' has a wrong CRC",
    "two IHDR": "the PNG has a chunk 'IHDR' that cannot be there",
    "no pixels": "unpacks to 0 of the 15 bytes",
    "colour 7": "save it as grey",
    "interlace 2": "interlace method that does not exist",
    "animated": "the PNG is animated",
    "unknown": "a chunk 'ABCD' that cannot be there",
    "chunks": "more than 4,096 chunks",
    "not packed": "its pixels cannot be unpacked",
    "short": "unpacks to 14 of the 15",
    "cut": "of the 15 bytes",
    "long": "to more than the 15 bytes",
    "filter": "its pixels cannot be decoded",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_label_map_is_named(case: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[case]):
        read_label_png(
            FILES[case],
            4,
            3,
        )


def test_a_png_bomb_is_refused_before_it_is_unpacked() -> None:
    packer = zlib.compressobj(9)
    zeros = b"".join(packer.compress(bytes(2**20)) for _ in range(256)) + packer.flush()
    bombs = (
        # The size of IHDR is that of the data, not of the image.
        png(
            header(16384, 16384),
            chunk(b"IDAT", zeros),
            chunk(b"IEND", b""),
        ),
        # IHDR has the size of the image, the data do not.
        png(
            header(64, 64),
            chunk(b"IDAT", zeros),
            chunk(b"IEND", b""),
        ),
        # Text that unpacks to as much beside sound pixels.
        plain(np.zeros((64, 64), int), chunk(b"zTXt", b"key\0\0" + zeros)),
    )
    tracemalloc.start()
    for bomb, is_read in zip(
        bombs,
        (False, False, True),
        strict=True,
    ):
        assert len(bomb) < 2**20
        try:
            read_label_png(
                bomb,
                64,
                64,
            )
        except ValueError:
            assert not is_read
        else:
            assert is_read
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20


def test_a_map_of_two_million_pixels_is_checked_in_well_under_100_ms() -> None:
    chance = np.random.default_rng(0)
    pixels = np.kron(
        chance.integers(
            0,
            30,
            (64, 128),
        ),
        np.ones((16, 16), int),
    )
    made = png_of(pixels.astype(np.uint8))
    times_s = []
    for _ in range(5):
        started_s = time.process_time()
        read_label_png(
            made,
            2048,
            1024,
        )
        times_s.append(time.process_time() - started_s)
    assert min(times_s) < 0.1


@pytest.mark.parametrize("seed", range(200))
def test_damaged_bytes_are_read_or_refused_and_nothing_else(seed: int) -> None:
    chance = np.random.default_rng(seed)
    damaged = bytearray(GOOD)
    for at in chance.integers(
        0,
        len(GOOD),
        int(chance.integers(1, 4)),
    ).tolist():
        damaged[at] = int(chance.integers(0, 256))
    cut = bytes(damaged[: int(chance.integers(1, len(GOOD) + 1))])
    for data in (bytes(damaged), cut):
        try:
            assert read_label_png(
                data,
                4,
                3,
            ).shape == (3, 4)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - refused in words, or read
