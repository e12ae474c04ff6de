"""A model: the bytes of its file, and the runtime's description of its tensors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpirc_client.errors import ModelError
from lpirc_client.files import read_regular

LARGEST_FILE_MB = 500
IDENTIFIER = b"TFL3"
SHORTEST_FILE_BYTES = 12
"""Minimum size of a flatbuffer: the offset of its root, its identifier, and the smallest root."""
ONNX_START = b"\x08"
"""The tag of the IR version, written first by every exporter; ONNX files have no other identifier."""
OTHER_FILES = {
    b"\x89HDF": "HDF5, as Keras saves it: convert it to TFLite first",
    b"PK\x03\x04": "a ZIP archive, as Keras and PyTorch save: convert it to TFLite, or unpack it",
    b"\x1f\x8b": "compressed by gzip: unpack it first",
    b"version https://git-lfs": "a pointer of Git LFS: run git lfs pull",
    b"<": "a web page or XML: download the file itself",
    ONNX_START: "an ONNX model: convert it to TFLite first",
}
"""First bytes of files that are given in place of a model, and what they are."""

CHANNELS = 3


@dataclass(frozen=True)
class ModelFile:
    """The bytes of a model file, read only once, so the hash is of exactly the bytes that run."""

    path: Path
    data: bytes
    sha256: str
    runtime: str = "litert"


@dataclass(frozen=True)
class Tensor:
    """An input or output: `dtype` is numpy's name; value = scale * (number - zero) if `scale` is above 0."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero: int

    @property
    def is_channels_first(self) -> bool:
        """Return True if the shape of an image tensor is [1, 3, H, W] and not [1, H, W, 3]."""
        return self.shape[1] == CHANNELS != self.shape[3]

    @property
    def sides(self) -> tuple[int, int]:
        """Return the height and width of an image tensor with four dimensions."""
        height, width = self.shape[2:] if self.is_channels_first else self.shape[1:3]
        return height, width

    @property
    def size_bytes(self) -> int:
        """Return the tensor's memory in bytes; an element of an unknown type takes 8."""
        widths = {
            "uint8": 1,
            "int8": 1,
            "bool": 1,
            "float16": 2,
            "int16": 2,
            "float32": 4,
            "int32": 4,
        }
        return math.prod(self.shape) * widths.get(self.dtype, 8)


@dataclass(frozen=True)
class Signature:
    """The runtime's description of a loaded model, with facts about the runtime."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    delegate: str
    runtime_version: str
    load_ms: float = 0.0


def read_model(
    path: Path,
    runtime: str | None = None,
    largest_mb: int = LARGEST_FILE_MB,
) -> ModelFile:
    """Read a model file for `runtime`; None takes the runtime from the content, whatever the file's name.

    Raises ModelError `unreadable-model`, `empty-model`, `model-too-large`, `not-tflite`, `not-onnx`.
    """
    file = str(path)
    try:
        data = read_regular(path, (largest_mb << 20) + 1)
    except OSError as error:
        sentence = f"{path}: cannot be read: {error.strerror}"
        raise ModelError("unreadable-model", sentence, file=file) from error
    if not data:
        raise ModelError("empty-model", f"{path}: the file is empty", file=file)
    if len(data) > largest_mb << 20:
        sentence = (
            f"{path}: the file is larger than the {largest_mb} MB that a model may have"
        )
        raise ModelError("model-too-large", sentence, file=file, limit_mb=largest_mb)
    is_tflite = len(data) >= SHORTEST_FILE_BYTES and data[4:8] == IDENTIFIER
    if runtime is None and not is_tflite and data.startswith(ONNX_START):
        runtime = "onnxruntime"
    if is_tflite and runtime == "onnxruntime":
        sentence = f"{path}: a TFLite flatbuffer, not an ONNX model; leave out --runtime onnxruntime"
        raise ModelError("not-onnx", sentence, file=file)
    if not is_tflite and runtime != "onnxruntime":
        neither = "" if runtime else "not an ONNX model, "
        sentence = (
            f"not a TFLite flatbuffer, which has TFL3 at byte 4; {_instead(data)}"
        )
        raise ModelError(
            "not-tflite",
            f"{path}: {neither}{sentence}",
            file=file,
            identifier=repr(data[4:8]),
        )
    return ModelFile(path, data, hashlib.sha256(data).hexdigest(), runtime or "litert")


def _instead(data: bytes) -> str:
    """Say what a file is in place of a model, as far as its first bytes tell, and what to do."""
    for start, what in OTHER_FILES.items():
        if data.startswith(start):
            return f"it seems to be {what}"
    return "convert the model to TFLite first"


def signature_from(answer: Mapping[str, Any]) -> Signature:
    """Parse the model process's answer. Raises KeyError, TypeError, ValueError or OverflowError for anything else."""
    return Signature(
        tuple(_tensor(one) for one in answer["inputs"]),
        tuple(_tensor(one) for one in answer["outputs"]),
        str(answer["delegate"]),
        str(answer["runtime_version"]),
        float(answer["load_ms"]),
    )


def _tensor(one: Mapping[str, Any]) -> Tensor:
    shape = tuple(int(side) for side in one["shape"])
    return Tensor(
        str(one["name"]),
        shape,
        str(one["dtype"]),
        float(one["scale"]),
        int(one["zero"]),
    )
