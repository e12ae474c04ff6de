"""Model files: what is refused before any of it is loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lpirc_client.errors import ModelError
from lpirc_client.harness.model import read_model
from tests.tflite_models import classifier


def test_a_model_is_read_once_and_hashed(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    data = classifier()
    path.write_bytes(data)
    model = read_model(path)
    assert model.data == data
    assert model.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", "empty-model", "m.tflite: the file is empty"),
        (
            b"GIF89a, surely no model",
            "not-tflite",
            "not a TFLite flatbuffer, which has TFL3 at byte 4; convert the model",
        ),
        (b"\x1c\0\0\0TFL3", "not-tflite", "not a TFLite flatbuffer"),
        (
            b"\x1c\0\0\0TFL2 and some more",
            "not-tflite",
            "has TFL3 at byte 4; convert the model to TFLite first",
        ),
        (b"\x89HDF\r\n\x1a\n" + bytes(9), "not-tflite", "seems to be HDF5, as Keras"),
        (b"version https://git-lfs.github.com", "not-tflite", "run git lfs pull"),
        (b"<!DOCTYPE html>", "not-tflite", "a web page or XML: download the file"),
        (b"\x1c\0\0\0TFL3" + bytes(1 << 20), "model-too-large", "larger than the 1 MB"),
    ],
)
def test_what_is_not_a_model_is_refused_with_its_value(
    tmp_path: Path,
    data: bytes,
    code: str,
    said: str,
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=said) as caught:
        read_model(path, largest_mb=1)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "path",
    [Path("/nowhere/m.tflite"), Path("/"), Path("/dev/zero")],
)
def test_a_file_that_cannot_be_read_is_reported(path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: ") as caught:
        read_model(path)
    assert caught.value.code == "unreadable-model"
