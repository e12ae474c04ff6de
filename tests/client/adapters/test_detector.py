"""Detectors by name: real models over real JPEGs, every head."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from PIL import Image

from lpirc_client.adapters.detector import HEADS, KEYS, Adapter
from lpirc_client.errors import ModelError
from lpirc_client.wire import Category
from tests import tflite_models
from tests.client.adapters.models import (
    NAMES,
    RED,
    SIDE,
    classifier,
    finder,
    two_inputs,
)
from tests.forbidden import LOOP, loop_at

CONTEST = (
    Category(7, "Red Box"),
    Category(9, "Sky"),
)


def jpeg(
    size: tuple[int, int],
    box: tuple[int, int, int, int] | None,
    **options: Any,
) -> bytes:
    image = Image.new("RGB", size, (60, 60, 60))
    if box:
        image.paste((250, 20, 20), box)
    with io.BytesIO() as file:
        image.save(
            file,
            "JPEG",
            quality=100,
            subsampling=0,
            **options,
        )
        return file.getvalue()


def saved(folder: Path, data: bytes, **settings: Any) -> Path:
    file = folder / "model.onnx"
    file.write_bytes(data)
    (folder / "model.json").write_text(json.dumps(settings))
    return file


@pytest.mark.parametrize(
    "head",
    ["yolov5", "yolov8", "yolov10", "tf-ssd", "torchvision"],
)
def test_each_head_is_recognized_and_gives_the_exact_box(
    tmp_path: Path,
    head: str,
) -> None:
    shape = (3, SIDE, SIDE) if head == "torchvision" else (1, 3, SIDE, SIDE)
    stated = {"names": NAMES} if "yolo" not in head else {}
    dtype = TensorProto.UINT8 if head == "tf-ssd" else TensorProto.FLOAT
    detect = Adapter(
        "onnx",
        saved(
            tmp_path,
            finder(head, shape, None if stated else NAMES, dtype),
            **stated,
        ),
    )
    assert f"head = {head}, " in detect.description
    assert list(detect(jpeg((128, 64), (32, 8, 64, 40)), CONTEST)) == [
        (7, 0.75, *(pytest.approx(side, abs=1e-3) for side in (32, 8, 63, 39)))
    ]
    assert list(detect(jpeg((64, 64), None), CONTEST)) == []


def test_a_letterboxed_image_gives_boxes_in_its_own_pixels_whatever_its_exif_says(
    tmp_path: Path,
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees
    detect = Adapter("onnx", saved(tmp_path, finder("yolov8")))
    ((category, _, *box),) = detect(
        jpeg((64, 128), (16, 32, 48, 96), exif=exif),
        CONTEST,
    )
    assert category == 7
    assert box == pytest.approx([16, 32, 47, 95])


def test_bytes_in_nhwc_of_any_size_stretched_and_bgr(tmp_path: Path) -> None:
    data = finder("tf-ssd", (1, "height", "width", 3), None, TensorProto.UINT8)
    file = saved(
        tmp_path,
        data,
        size=64,
        resize="stretch",
        names={str(RED + 1): "red box"},
    )
    detect = Adapter("onnx", file)
    ((category, score, *box),) = detect(jpeg((64, 64), (8, 16, 40, 32)), CONTEST)
    assert category == 7
    assert score == 0.75
    assert box == pytest.approx([8, 16, 39, 31])
    file = saved(
        tmp_path,
        data,
        size=[64, 64],
        colour="bgr",
        names=NAMES,
    )
    # Red is its blue.
    assert list(Adapter("onnx", file)(jpeg((64, 64), (8, 16, 40, 32)), CONTEST)) == []


@pytest.mark.parametrize("quantized", [False, True])
def test_a_tflite_ssd_finds_the_brightest_cells(
    tmp_path: Path,
    quantized: bool,
) -> None:
    (tmp_path / "model.tflite").write_bytes(tflite_models.detector(quantized=quantized))
    settings = 'names = ["red box", "green", "blue"]\nscore = 0.9\nmean = 0\nstd = 1\nthreads = 1\n'
    (tmp_path / "model.toml").write_text(settings)
    detect = Adapter("litert", tmp_path / "model.toml")
    assert "head = tflite-ssd, " in detect.description
    ((category, score, *box),) = detect(jpeg((20, 20), (4, 6, 6, 8)), CONTEST)
    assert category == 7
    assert box == pytest.approx([4, 6, 5, 7], abs=0.01)
    assert score == pytest.approx(250 / 255, abs=0.01)


def test_an_int8_yolo_of_tflite_is_quantized_and_dequantized_by_its_own_scales(
    tmp_path: Path,
) -> None:
    """Output 0 is the mean red, as the x of the first box: pixels go in and fractions come out by their scales."""
    model = tflite_models.Model()
    graph = model.graph()
    image = graph.tensor("image", (1, 32, 32, 3), "int8", 1 / 255, -128)
    mean = graph.tensor("mean", (1, 1, 1, 3), "int8", 1 / 255, -128)
    axes = graph.constant("axes", np.array([1, 2], np.int32))
    options = tflite_models.schema.ReducerOptionsT()
    options.keepDims = True
    graph.operator("MEAN", [image, axes], [mean], options)
    graph.inputs = [image]
    rows = graph.tensor("rows", (1, 1, 1, 5 * 21), "int8", 1 / 255, -128)
    # x, y, width, height and score of 21 boxes: all from the mean red, which is 250 / 255.
    weights = graph.constant(
        "weights",
        np.tile(np.array([127, 0, 0], np.int8), (105, 1, 1, 1)).reshape(105, 1, 1, 3),
        1 / 127,
    )
    bias = graph.constant("bias", np.zeros(105, np.int32), 1 / 255 / 127)
    convolution = tflite_models.schema.Conv2DOptionsT()
    convolution.strideH = convolution.strideW = 1
    graph.operator("CONV_2D", [mean, weights, bias], [rows], convolution)
    shape = graph.constant("shape", np.array([1, 5, 21], np.int32))
    output = graph.tensor("output", (1, 5, 21), "int8", 1 / 255, -128)
    reshape = tflite_models.schema.ReshapeOptionsT()
    reshape.newShape = [1, 5, 21]
    graph.operator("RESHAPE", [rows, shape], [output], reshape)
    graph.outputs = [output]
    (tmp_path / "model.tflite").write_bytes(model.data())
    (tmp_path / "model.json").write_text('{"names": ["red box"]}')
    detect = Adapter("litert", tmp_path / "model.tflite")
    assert "head = yolov8, " in detect.description
    assert "boxes = fraction" in detect.description
    ((category, score, *box),) = detect(jpeg((100, 100), (0, 0, 100, 100)), CONTEST)
    level = 250 / 255
    assert category == 7
    assert score == pytest.approx(level, abs=0.005)
    assert box == pytest.approx([50 * level, 50 * level, 99, 99], abs=0.5)


def refused(
    tmp_path: Path,
    kind: str,
    data: bytes,
    **settings: Any,
) -> str:
    file = saved(tmp_path, data, **settings)
    with pytest.raises(ModelError) as caught:
        Adapter(kind, file)
    assert "\n" not in caught.value.sentence
    return caught.value.sentence.partition(f"{tmp_path}/")[2]


@pytest.mark.parametrize(
    ("data", "settings", "words"),
    [
        (
            classifier(),
            {},
            "head is unknown: the model's outputs are scores float32 (1, 3); if it is a detector, ",
        ),
        (
            classifier(),
            {"head": "yolov8"},
            "head = yolov8 does not fit the model: the model's outputs are scores float32 (1, 3);",
        ),
        (
            finder("yolov8"),
            {"head": "torchvision"},
            "head = torchvision does not fit the model: the model's outputs are output0 float32 (1, 6, 84);",
        ),
        (b"no model", {}, "Load model from "),
        (
            two_inputs(),
            {},
            "its inputs are [[1, 3, 8, 8], [1, 3, 8, 8]]: a detector takes one image",
        ),
        (
            finder("yolov8", (1, 4, 64, 64)),
            {},
            "its inputs are [[1, 4, 64, 64]]: a detector takes one image of 3",
        ),
        (
            finder("yolov8", (1, 3, "h", "w")),
            {},
            "[[1, 3, None, None]]: a detector takes one image of 3 channels; if",
        ),
        (finder("yolov8"), {"size": 32}, "its inputs are [[1, 3, 64, 64]]: "),
        (
            finder("yolov8", names=None),
            {},
            'it does not name its classes: state names = ["...", ...] in a TOML',
        ),
        (
            finder("yolov8"),
            {"head": "yolo"},
            "head = 'yolo': there is yolov5, yolov8, ",
        ),
        (finder("yolov8"), {"names": "person"}, "names = 'person': must be a list"),
        (
            finder("yolov8"),
            {"iou": "0.5"},
            "model.json: iou = '0.5': must be a number from 0 to 1",
        ),
        (finder("yolov8"), {"mean": [0.5, 0.5]}, "mean = [0.5, 0.5]: must be "),
        (finder("yolov8"), {"std": 0}, "std = 0: must be "),
        (finder("yolov8"), {"names": 5}, "names = 5: must be a list, "),
        (finder("yolov8"), {"names": {"a": "person"}}, "must be a list, "),
        (finder("yolov8"), {"score": 3}, "score = 3: must be a number from 0 to 1"),
        (finder("yolov8"), {"max": 0}, "max = 0: must be a whole number above 0"),
        (finder("yolov8"), {"threads": 1.5}, "threads = 1.5: must be a whole number"),
        (
            finder("yolov8"),
            {"size": [64]},
            "size = [64]: must be a whole number above 0, or [height, width]",
        ),
        (
            finder("yolov8"),
            {"nms": 1, "max": 9},
            "'nms' is not a setting of a model (did you mean names?); there is layout, ",
        ),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path,
    data: bytes,
    settings: dict[str, Any],
    words: str,
) -> None:
    assert words in refused(tmp_path, "onnx", data, **settings)


def test_files_that_are_not_there_or_of_another_kind_are_named(tmp_path: Path) -> None:
    assert "model.onnx: " in refused(tmp_path, "litert", finder("yolov8"))
    with pytest.raises(ModelError, match=r"other\.onnx: there is no such model"):
        Adapter("onnx", tmp_path / "other.onnx")
    (tmp_path / "other.toml").write_text("head = ")
    with pytest.raises(ModelError, match=r"other\.toml: it is not TOML: Invalid value"):
        Adapter("onnx", tmp_path / "other.toml")


def test_categories_that_match_nothing_are_named_on_both_sides(tmp_path: Path) -> None:
    detect = Adapter("onnx", saved(tmp_path, finder("yolov8")))
    with pytest.raises(
        ModelError,
        match=r"has the classes sky, red box .* but not car, bus",
    ):
        list(
            detect(
                jpeg((64, 64), None),
                (
                    Category(1, "car"),
                    Category(2, "bus"),
                ),
            )
        )


def test_where_categories_are_unknown_the_class_numbers_stand_for_them(
    tmp_path: Path,
) -> None:
    detect = Adapter("onnx", saved(tmp_path, finder("yolov8")))
    ((category, *_),) = detect(jpeg((64, 64), (8, 16, 40, 32)), ())
    assert category == RED


def test_categories_without_a_class_are_said_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    detect = Adapter("onnx", saved(tmp_path, finder("yolov8")))
    contest = (*CONTEST, Category(1, "car"))
    for _ in range(2):
        list(detect(jpeg((64, 64), None), contest))
    assert capsys.readouterr().err.count("car") == 1


def test_without_its_extra_it_says_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    file = saved(tmp_path, finder("yolov8"))
    with pytest.raises(
        ModelError,
        match=r"needs onnxruntime, which is not installed: pip install .*onnxruntime",
    ):
        Adapter("onnx", file)


def test_names_that_a_file_states_in_another_form_are_none(tmp_path: Path) -> None:
    file = saved(
        tmp_path,
        finder("yolov8").replace(
            b"{0: 'sky', 1: 'red box'}",
            b"sky, red box, and no dict"[:24],
        ),
    )
    with pytest.raises(ModelError, match="does not name its classes"):
        Adapter("onnx", file)


def test_the_page_lists_every_key_and_head() -> None:
    page = (Path(__file__).parents[3] / "docs" / "detectors.md").read_text()
    assert [one for one in (*KEYS, *HEADS) if f"`{one}`" not in page] == []


def test_settings_and_a_model_that_cannot_be_looked_at_are_told(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.touch()
    loop = loop_at(tmp_path / "model.json")
    with pytest.raises(ModelError, match=LOOP) as caught:
        Adapter("onnx", model)
    assert caught.value.code == "bad-settings"
    loop.unlink()
    with pytest.raises(ModelError, match=r"no model that onnx can load: [^\[]*$"):
        Adapter("onnx", model)
    (tmp_path / "m.tflite").touch()
    with pytest.raises(ModelError, match="a model for litert: --detector litert:/"):
        Adapter("onnx", tmp_path / "m.tflite")
    with pytest.raises(ModelError, match=f"cannot be read: {LOOP}") as caught:
        Adapter("onnx", loop_at(tmp_path / "other.onnx"))
    assert caught.value.code == "bad-model"
