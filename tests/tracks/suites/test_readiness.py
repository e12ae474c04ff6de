from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from lpirc_tracks import track_named
from lpirc_tracks.submissions import harness
from lpirc_tracks.suites.implementations import DeviceRuntimes
from lpirc_tracks.suites.readiness import Readiness, State, Survey
from lpirc_tracks.suites.suite_plan import read_plan
from lpirc_tracks.suites.suite_table import SuiteRow
from referee.errors import RefereeError
from tests import onnx_models
from tests import tflite_models as models

LINUX = DeviceRuntimes("Linux", frozenset({"litert", "onnxruntime"}))
UINT8 = models.classifier()
QUANTIZED = models.classifier(quantized=True)
SCORES = [("scores", np.eye(1, 1001, 7, dtype=np.float32))]
FLOAT = models.constant_answers((1, 8, 8, 3), "float32", SCORES)
CHANNELS_FIRST = models.constant_answers((1, 3, 8, 8), "float32", SCORES)
LEVELS = "mean = 0\nsigma = 1\n"


def row(*more: str, model: str = "m", implementation: str = "tflite_cpu") -> str:
    lines = [
        "[[models]]",
        f'model = "{model}"',
        f'implementations = ["{implementation}"]',
        f'file = "{model}.tflite"',
        "mflops = 300",
        *more,
    ]
    return "\n".join(lines) + "\n"


def looked(
    folder: Path,
    text: str,
    table: list[SuiteRow] | None = None,
    device: DeviceRuntimes = LINUX,
) -> list[Readiness]:
    path = folder / "suite.toml"
    path.write_text('device = "board"\n' + text)
    rule = track_named("aiotbench")
    place = folder / "suite.csv"
    return Survey(read_plan(path), place, table or [], device, rule).look()


def looked_at(
    folder: Path, data: bytes, *more: str, table: list[SuiteRow] | None = None
) -> Readiness:
    (folder / "m.tflite").write_bytes(data)
    (found,) = looked(folder, row(*more), table)
    return found


def measured(data: bytes, **changes: str) -> SuiteRow:
    cells = {
        "device": "board",
        "implementation": "tflite_cpu",
        "model": "m",
        "accuracy_percent": "70.0",
        "time_ms": "2.0",
        "images": "5000",
        "model_sha256": hashlib.sha256(data).hexdigest(),
        "images_sha256": "aa",
        "sentence": "",
        "settings": "default",
    }
    return SuiteRow(**(cells | changes))


def test_a_model_that_is_as_its_row_says_is_ready(tmp_path: Path) -> None:
    sha256 = hashlib.sha256(UINT8).hexdigest()
    stated = (f'sha256 = "{sha256}"', 'layout = "NHWC"', "side = 8")
    found = looked_at(tmp_path, UINT8, *stated, 'quantization = "none"')
    assert found.state == State.READY, found.sentence
    assert found.sha256 == sha256
    assert found.input_shape == (1, 8, 8, 3)
    assert found.has_model


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    (found,) = looked(tmp_path, row())
    assert found.state == State.MISSING
    expected = f"it can run here; put the model's file at {tmp_path / 'm.tflite'}"
    assert found.sentence == expected
    assert not found.has_model


def test_a_file_of_another_checksum_is_never_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(*_: object) -> None:
        raise AssertionError("it was loaded")

    monkeypatch.setattr(harness, "description", loaded)
    found = looked_at(tmp_path, UINT8, f'sha256 = "{"0" * 64}"')
    assert found.state == State.WRONG
    own = hashlib.sha256(UINT8).hexdigest()
    assert f"has the SHA-256 {own}, but its row says {'0' * 64}" in found.sentence


@pytest.mark.parametrize(
    ("data", "stated", "told"),
    [
        (
            CHANNELS_FIRST,
            'layout = "NHWC"',
            "is [1, 3, 8, 8], which is NCHW, but its row says layout = 'NHWC'",
        ),
        (
            UINT8,
            'layout = "NCHW"',
            "is [1, 8, 8, 3], which is NHWC, but its row says layout = 'NCHW'",
        ),
        (UINT8, "side = 224", "is 8 by 8 pixels, but its row says side = 224"),
        (
            models.classifier(8, 9),
            "side = 8",
            "is 8 by 9 pixels, but its row says side = 8",
        ),
        (FLOAT, "", "is float32, and its row does not say how levels"),
        (FLOAT, "mean = 1", "is float32, and its row does not say how levels"),
        (UINT8, LEVELS, 'its row gives mean and sigma; write mean = ""'),
        (QUANTIZED, 'quantization = "none"', "is uint8, so the model is quantized"),
        (b"no model", "", "not a TFLite flatbuffer"),
        (models.classifier(outputs=10), "", "its output 0 (scores) is [1, 10]"),
    ],
)
def test_a_model_that_contradicts_its_row_is_told_in_one_sentence(
    tmp_path: Path, data: bytes, stated: str, told: str
) -> None:
    found = looked_at(tmp_path, data, stated)
    assert found.state == State.WRONG
    assert told in found.sentence
    assert "\n" not in found.sentence
    assert not found.sentence.endswith(".")


def test_a_model_of_another_runtime_wins_no_test_of_tflite(tmp_path: Path) -> None:
    found = looked_at(tmp_path, onnx_models.classifier("float32"), LEVELS)
    assert found.state == State.WRONG
    assert "not a TFLite flatbuffer" in found.sentence


def test_a_float_model_with_its_levels_is_ready(tmp_path: Path) -> None:
    found = looked_at(tmp_path, FLOAT, LEVELS)
    assert found.state == State.READY, found.sentence


def test_one_file_cannot_be_two_networks(tmp_path: Path) -> None:
    """Who gains: the operations of a large network at the speed of a small one."""
    for name in ("large", "small"):
        (tmp_path / f"{name}.tflite").write_bytes(UINT8)
    text = row(model="large").replace("300", "3800") + row(model="small")
    large, small = looked(tmp_path, text)
    assert large.state == small.state == State.WRONG
    assert "is the same model as" in large.sentence
    assert large.sentence.endswith("the file of small; put the right file there")


def test_what_cannot_run_is_not_loaded_even_where_its_file_is(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(UINT8)
    (found,) = looked(tmp_path, row(implementation="caffe2"))
    assert found.state == State.IMPOSSIBLE
    assert found.sentence.startswith("Caffe2 is a runtime of its own")
    bare = DeviceRuntimes("Linux", frozenset())
    (found,) = looked(tmp_path, row(), device=bare)
    assert found.state == State.IMPOSSIBLE
    assert "LiteRT" in found.sentence


def test_a_runtime_that_turns_out_to_be_missing_is_no_fault_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise RefereeError("missing-extra", "running models needs onnxruntime")

    monkeypatch.setattr(harness, "description", missing)
    found = looked_at(tmp_path, UINT8)
    assert found.state == State.IMPOSSIBLE
    assert found.sentence == "running models needs onnxruntime"


def test_a_test_in_the_table_is_measured_and_not_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(harness, "description")
    found = looked_at(tmp_path, UINT8, table=[measured(UINT8)])
    assert found.state == State.MEASURED
    assert found.has_model
    failed = measured(UINT8, accuracy_percent="", time_ms="", sentence="It broke.")
    found = looked_at(tmp_path, UINT8, table=[failed])
    assert found.state == State.FAILED
    assert found.sentence == "It broke."
    (tmp_path / "m.tflite").unlink()
    (found,) = looked(tmp_path, row(), [measured(UINT8)])
    assert found.state == State.MEASURED
    assert not found.has_model


def test_what_was_measured_stays_so_where_its_runtime_is_gone(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(UINT8)
    bare = DeviceRuntimes("Linux", frozenset())
    (found,) = looked(tmp_path, row(), [measured(UINT8)], bare)
    assert found.state == State.MEASURED
    assert not found.has_model


def test_the_row_of_another_device_is_not_ones_own(tmp_path: Path) -> None:
    table = [measured(UINT8, device="another")]
    assert looked_at(tmp_path, UINT8, table=table).state == State.READY


def test_a_row_of_another_file_or_of_other_settings_is_told(tmp_path: Path) -> None:
    found = looked_at(tmp_path, UINT8, table=[measured(FLOAT)])
    assert found.state == State.WRONG
    assert "has it with another model file; delete that line" in found.sentence
    table = [measured(FLOAT, settings="mean=0 sigma=255")]
    found = looked_at(tmp_path, FLOAT, LEVELS, table=table)
    assert found.state == State.WRONG
    settings = "the settings 'mean=0 sigma=255' instead of 'mean=0 sigma=1'"
    assert f"has it with {settings}" in found.sentence
    # A table of an earlier version does not know its settings.
    found = looked_at(tmp_path, FLOAT, LEVELS, table=[measured(FLOAT, settings="")])
    assert found.state == State.MEASURED


def test_a_test_of_ones_own_without_statements_is_left_to_the_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model at all")
    own = '[[tests]]\nmodel = "m"\nimplementation = "x"\nfile = "m.onnx"\nmflops = 3\n'
    (found,) = looked(tmp_path, own)
    assert found.state == State.READY
    assert found.has_model
    (tmp_path / "m.onnx").write_bytes(onnx_models.classifier("float32", first=True))
    (found,) = looked(tmp_path, own + 'layout = "NHWC"\n')
    assert found.state == State.WRONG
    assert "which is NCHW" in found.sentence
    (found,) = looked(tmp_path, own + 'layout = "NCHW"\nside = 8\n')
    assert found.state == State.READY, found.sentence
