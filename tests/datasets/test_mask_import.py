"""Label maps as PNG: every bit depth, void, and masks that lie."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from lpirc_testsets import (
    Reports,
    TestSetError,
    check,
    load_test_set,
    read_label_maps,
)
from lpirc_testsets.mask_import import import_masks
from lpirc_testsets.mask_reader import read_mask
from referee.cli.testset_command import testset as command

Jpeg = Callable[..., bytes]
CLASSES = "number,name\n0,background\n3,ant\n1,fox\n300,bee\n"


def png(labels: NDArray[np.int64], mode: str = "L") -> bytes:
    out = io.BytesIO()
    depth = np.uint16 if mode == "I;16" else np.uint8
    picture = Image.fromarray(labels.astype(depth))
    if mode == "P":
        picture = _paletted(picture)
    picture.save(out, "PNG")
    return out.getvalue()


def _paletted(picture: Image.Image) -> Image.Image:
    indices = Image.new("P", picture.size)
    indices.putdata(list(picture.tobytes()))
    indices.putpalette(
        [value for place in range(256) for value in (place, 90, 255 - place)]
    )
    return indices


def raw_png(width: int, height: int, bits: int, kind: int, rows: bytes) -> bytes:
    """A PNG written by hand: any header, any content."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def labels_of(seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).choice([0, 1, 3], (30, 40))


@pytest.fixture
def data(tmp_path: Path, jpeg: Jpeg) -> Path:
    """Three images of 40 x 30, two with a label map."""
    (tmp_path / "images" / "x").mkdir(parents=True)
    (tmp_path / "masks" / "x").mkdir(parents=True)
    for number, name in enumerate(("b", "x/a", "c")):
        (tmp_path / "images" / f"{name}.jpg").write_bytes(jpeg(seed=number))
    (tmp_path / "masks" / "b.png").write_bytes(png(labels_of(1)))
    (tmp_path / "masks" / "x" / "a.png").write_bytes(png(labels_of(2), "P"))
    (tmp_path / "classes.csv").write_text(CLASSES)
    return tmp_path


def imported(data: Path, *void: int, **more: Path) -> Reports:
    reports = Reports()
    import_masks(
        data / "masks",
        data / "classes.csv",
        data / "images",
        data / "set",
        void,
        reports=reports,
        **more,
    )
    return reports


def refused(data: Path, *void: int, **more: Path) -> TestSetError:
    with pytest.raises(TestSetError) as failure:
        imported(data, *void, **more)
    assert not (data / "set").exists()
    return failure.value


def test_grey_and_palette_maps_are_read_pixel_for_pixel(data: Path) -> None:
    result = CliRunner().invoke(
        command,
        [
            *("import", "masks", "--masks", str(data / "masks")),
            *("--classes", str(data / "classes.csv")),
            *("--images", str(data / "images"), "--out", str(data / "set")),
        ],
    )
    assert result.exit_code == 0, result.output
    first, note = result.stdout.splitlines()
    assert "2 images, 6 regions in 3 of 4 categories" in first
    assert note == f"{data / 'images'}: left out, since they have no label map: c.jpg."
    assert check(data / "set") == ()


def test_the_maps_of_the_set_are_those_of_the_files(data: Path) -> None:
    imported(data)
    test_set = load_test_set(data / "set")
    categories, maps = read_label_maps(test_set)
    assert [one.file for one in test_set.images] == ["b.jpg", "x/a.jpg"]
    assert [one.id for one in categories] == [0, 1, 3, 300]
    assert np.array_equal(maps[1], labels_of(1))
    assert np.array_equal(maps[2], labels_of(2))


def test_void_pixels_belong_to_no_class(data: Path) -> None:
    labels = labels_of(1)
    labels[:5] = 255
    labels[5:7] = 254
    (data / "masks/b.png").write_bytes(png(labels))
    imported(data, 255, 254)
    _, maps = read_label_maps(load_test_set(data / "set"))
    assert np.array_equal(maps[1], np.where(labels >= 254, -1, labels))


def test_maps_of_sixteen_bits_and_of_one_two_and_four_keep_their_numbers(
    data: Path,
) -> None:
    deep = labels_of(1)
    deep[0] = 300
    (data / "masks/b.png").write_bytes(png(deep, "I;16"))
    for bits in (1, 2, 4):
        few = np.random.default_rng(bits).choice(
            [0, 1] if bits == 1 else [0, 1, 3], (30, 40)
        )
        unpacked = ((few[:, :, None] >> np.arange(bits)[::-1]) & 1).reshape(30, -1)
        rows = np.packbits(unpacked.astype(np.uint8), axis=1)
        content = b"".join(b"\0" + row.tobytes() for row in rows)
        for kind in (0, 3):
            file = raw_png(40, 30, bits, kind, content)
            if kind == 3:
                file = _with_palette(file, bits)
            (data / "masks/x/a.png").write_bytes(file)
            out = data / f"set-{bits}-{kind}"
            made = import_masks(
                data / "masks", data / "classes.csv", data / "images", out
            )
            _, maps = read_label_maps(load_test_set(made.folder))
            assert np.array_equal(maps[1], deep)
            assert np.array_equal(maps[2], few), (bits, kind)


def _with_palette(file: bytes, bits: int) -> bytes:
    colours = bytes(range(3 * 2**bits))
    crc = zlib.crc32(b"PLTE" + colours)
    chunk = struct.pack(">I", len(colours)) + b"PLTE" + colours + struct.pack(">I", crc)
    return file[:33] + chunk + file[33:]


def _colour(mode: str) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (40, 30)).save(out, "PNG")
    return out.getvalue()


def _jpeg() -> bytes:
    out = io.BytesIO()
    Image.new("L", (40, 30)).save(out, "JPEG")
    return out.getvalue()


WRONG = {
    "another size": (
        png(np.zeros((40, 30), np.int64)),
        "is 30 x 40 pixels, its image 40 x 30",
    ),
    "bomb": (
        raw_png(60000, 60000, 8, 0, b""),
        "is 60000 x 60000 pixels, its image 40 x 30",
    ),
    "bomb inside": (raw_png(40, 30, 8, 0, b"\0" * 10**7), "label"),
    "colour": (
        _colour("RGB"),
        "is a colour PNG (RGB), which has no number for each pixel",
    ),
    "colour and alpha": (_colour("RGBA"), "is a colour PNG (RGB with alpha)"),
    "grey and alpha": (_colour("LA"), "is a colour PNG (grey with alpha)"),
    "another format": (_jpeg(), "is not a PNG"),
    "empty": (b"", "is not a PNG"),
    "header": (
        raw_png(40, 30, 8, 0, b"")[:20],
        "is a PNG that breaks off in its header",
    ),
    "broken off": (png(labels_of(1))[:200], "cannot be decoded: "),
    "nothing in it": (raw_png(40, 30, 8, 0, b""), "cannot be decoded: "),
    "kind": (raw_png(40, 30, 8, 5, b""), "is a colour PNG (colour type 5)"),
    "label": (
        png(np.full((30, 40), 77)),
        "label 77 is neither a class nor void: 1200 pixels, the first at x 0, y 0",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_mask_is_named_with_file_and_value(data: Path, what: str) -> None:
    content, problem = WRONG[what]
    (data / "masks/b.png").write_bytes(content)
    if what == "bomb inside":  # what lies beyond the last row is never unpacked
        imported(data)
        return
    error = refused(data)
    assert len(error.problems) == 1
    assert error.sentence.startswith(f"{data / 'masks/b.png'}: ")
    assert problem in error.sentence


@settings(max_examples=400)
@given(st.data())
def test_a_png_with_other_bytes_is_a_label_map_or_refused(data: st.DataObject) -> None:
    whole = bytearray(png(labels_of(1), data.draw(st.sampled_from(["L", "P", "I;16"]))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        end = place + data.draw(st.integers(0, 3))
        whole[place:end] = data.draw(st.binary(max_size=4))
    try:
        labels = read_mask(bytes(whole), (40, 30))
    except ValueError:
        return
    assert labels.shape == (30, 40)
    assert labels.min() >= 0


def test_labels_outside_the_classes_are_counted_and_placed(data: Path) -> None:
    labels = labels_of(1)
    labels[7, 9] = 12
    labels[8, 1:3] = 255
    (data / "masks/b.png").write_bytes(png(labels))
    assert (
        "label 12 (and 1 other numbers) is neither a class nor void: 1 pixels, the first at x 9, y 7"
        in (refused(data).sentence)
    )
    assert "label 12 is neither" in refused(data, 255).sentence


def test_a_missing_mask_of_a_listed_image_and_a_missing_image_are_named(
    data: Path,
) -> None:
    listed = data / "val.txt"
    listed.write_text("c\nx/a\nnone\n")
    error = refused(data, listed=listed)
    assert list(error.problems) == [
        f"{listed}: image c has no label map c.png",
        f"{listed}: there is no JPEG image none",
        f"{listed}: image none has no label map none.png",
    ]
    listed.write_text("x/a\n\n")
    reports = imported(data, listed=listed)
    assert reports.notes == [
        f"{data / 'images'}: left out, since the list does not name them: b.jpg, c.jpg."
    ]


def test_a_mask_without_image_and_no_mask_at_all_are_named(data: Path) -> None:
    (data / "masks/d.png").write_bytes(png(labels_of(1)))
    assert refused(data).sentence == f"{data / 'masks/d.png'}: there is no JPEG image d"
    for file in (data / "masks").rglob("*.png"):
        file.unlink()
    assert "no label map .png with the name of an image" in refused(data).sentence
    reports = Reports()
    places = (data / "images", data / "classes.csv", data / "images", data / "set")
    with pytest.raises(TestSetError):
        import_masks(*places, reports=reports)
    (row,) = reports.problems.rows
    assert row.remedy == "name the folder of label maps with --masks"


def test_two_images_of_one_name_are_named(data: Path, jpeg: Jpeg) -> None:
    (data / "images/b.jpeg").write_bytes(jpeg(seed=9))
    assert "b.jpeg and b.jpg have the same name" in refused(data).sentence


BAD_CLASSES = {
    "number,name\n70000,ant\n": "line 2: number 70000 is not from 0 to 65535",
    "number,name\n-1,ant\n": "line 2: number -1 is not from 0 to 65535",
    "number,name\nx,ant\n": "line 2: number 'x' is not a whole number",
    "number,name\n1,ant\n1,fox\n": "category 1 is listed more than once",
    "number,name\n1,ant\n2,ant\n": "category 'ant' is listed more than once",
    "name,number\nant,1\n": "the header is 'name,number', expected \"number,name\"",
    "number,name\n255,void\n": "line 2: number 255 is void, too",
    "number,name\n": "no categories in it",
}


@pytest.mark.parametrize("text", BAD_CLASSES)
def test_wrong_classes_are_named(data: Path, text: str) -> None:
    (data / "classes.csv").write_text(text)
    error = refused(data, 255)
    found = error.problems or (error.sentence,)
    assert any(BAD_CLASSES[text] in one for one in found), found


@pytest.mark.parametrize("void", ["x", "-1", "1.5", "1,,2", "\u0661", "9" * 30])
def test_void_takes_whole_numbers(data: Path, void: str) -> None:
    given = ["--masks", "m", "--classes", "c", "--images", "i", "--out", "o"]
    result = CliRunner().invoke(command, ["import", "masks", *given, "--void", void])
    assert result.exit_code == 2
    assert "is not whole numbers such as 255 or 0,255" in result.output
