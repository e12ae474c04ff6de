"""A model: its file's bytes, and what the runtime says of its tensors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpirc_client.harness.failures import ModelError
from lpirc_client.regular import regular_bytes

LARGEST_FILE_MB = 500
IDENTIFIER = b"TFL3"
SHORTEST_FILE_BYTES = 12
"""A flatbuffer's offset to its root, its identifier, and at least the root itself."""


@dataclass(frozen=True)
class ModelFile:
    """The bytes of a model file, read once: what is hashed is what runs."""

    path: Path
    data: bytes
    sha256: str


@dataclass(frozen=True)
class Tensor:
    """An input or output: `dtype` by numpy's name; value = scale * (number - zero) where `scale` is above 0."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero: int

    @property
    def size_bytes(self) -> int:
        """How much memory it takes; 8 bytes each where the type is an unknown one."""
        widths = {"uint8": 1, "int8": 1, "bool": 1, "float16": 2, "int16": 2, "float32": 4, "int32": 4}
        return math.prod(self.shape) * widths.get(self.dtype, 8)


@dataclass(frozen=True)
class Signature:
    """What the runtime says of a loaded model, and of itself."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    delegate: str
    runtime_version: str


def read_model(path: Path, largest_mb: int = LARGEST_FILE_MB) -> ModelFile:
    """Read a model file; ModelError `unreadable-model`, `empty-model`, `model-too-large`, `not-tflite`."""
    data = _content(path, (largest_mb << 20) + 1)
    if not data:
        raise ModelError("empty-model", f"{path}: the file is empty", file=str(path))
    if len(data) > largest_mb << 20:
        raise ModelError(
            "model-too-large",
            f"{path}: the file is larger than the {largest_mb} MB that a model may have",
            file=str(path),
            limit_mb=largest_mb,
        )
    if len(data) < SHORTEST_FILE_BYTES or data[4:8] != IDENTIFIER:
        raise ModelError(
            "not-tflite",
            f"{path}: not a TFLite flatbuffer: its identifier is {data[4:8]!r} instead of {IDENTIFIER!r}",
            file=str(path),
            identifier=repr(data[4:8]),
        )
    return ModelFile(path, data, hashlib.sha256(data).hexdigest())


def _content(path: Path, most_bytes: int) -> bytes:
    try:
        return regular_bytes(path, most_bytes)
    except OSError as error:
        raise ModelError(
            "unreadable-model", f"{path}: cannot be read: {error.strerror}", file=str(path)
        ) from error


def signature_from(answer: Mapping[str, Any]) -> Signature:
    """Take the model process's answer apart; KeyError, TypeError, ValueError or OverflowError for anything else."""
    return Signature(
        tuple(_tensor(one) for one in answer["inputs"]),
        tuple(_tensor(one) for one in answer["outputs"]),
        str(answer["delegate"]),
        str(answer["runtime_version"]),
    )


def _tensor(told: Mapping[str, Any]) -> Tensor:
    shape = tuple(int(side) for side in told["shape"])
    return Tensor(str(told["name"]), shape, str(told["dtype"]), float(told["scale"]), int(told["zero"]))
