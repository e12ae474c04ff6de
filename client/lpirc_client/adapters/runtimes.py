"""Loads a model into ONNX Runtime or LiteRT and returns it with a function that runs it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SUFFIXES = {"onnx": ".onnx", "litert": ".tflite"}
CODES = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
MOST_WORDS = 600


class Model(NamedTuple):
    """A loaded model: input shapes (None: a side of variable size), output names, settings implied by it, and `run`."""

    shapes: list[list[Any]]
    names: list[str]
    settings: dict[str, Any]
    run: Callable[[Any], list[Any]]


def why_not(kind: str, path: Path, error: Exception) -> str:
    """Return why a model cannot be loaded, as the end of a sentence: the runtime's words, or that it is another's."""
    other = {"onnx": "litert", "litert": "onnx"}[kind]
    if path.suffix.lower() == SUFFIXES[other]:
        return f"its name is that of a model for {other}: --detector {other}:{path}"
    words = CODES.sub("", str(error)[:MOST_WORDS])
    return f"it is no model that {kind} can load: {words}"


def onnx(path: Path, threads: int) -> Model:
    """Load an ONNX model. Raises the runtime's errors."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(
        str(path), options, onnxruntime.get_available_providers()
    )
    inputs = session.get_inputs()
    names = [output.name for output in session.get_outputs()]
    shapes = [_numbers(one.shape) for one in inputs]
    dtype = {"tensor(uint8)": np.uint8, "tensor(float16)": np.float16}.get(
        inputs[0].type, np.float32
    )
    classes = session.get_modelmeta().custom_metadata_map.get("names", "")

    def run(values: Any) -> list[Any]:
        given = {inputs[0].name: _as(values, dtype)}
        return [*map(np.asarray, session.run(None, given))]

    return Model(shapes, names, {"names": classes}, run)


def _numbers(shape: list[Any]) -> list[int | None]:
    """Return the sides of a tensor, with None for a side of variable size."""
    return [*map(_number, shape)]


def _number(side: Any) -> int | None:
    return side if isinstance(side, int) else None


def litert(path: Path, threads: int) -> Model:
    """Load a TFLite model. Raises the runtime's errors."""
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(model_path=str(path), num_threads=threads or None)
    model.allocate_tensors()
    inputs = model.get_input_details()
    outputs = model.get_output_details()

    def run(values: Any) -> list[Any]:
        model.set_tensor(
            inputs[0]["index"],
            _as(values, inputs[0]["dtype"], *inputs[0]["quantization"]),
        )
        model.invoke()
        return [
            _real(model.get_tensor(one["index"]), *one["quantization"])
            for one in outputs
        ]

    shapes = [one["shape"].tolist() for one in inputs]
    names = [one["name"] for one in outputs]
    return Model(shapes, names, {"boxes": "fraction"}, run)


def _as(
    values: Any,
    dtype: Any,
    scale: float = 0.0,
    zero: int = 0,
) -> Any:
    if issubclass(dtype, np.floating):
        return values.astype(dtype, copy=False)
    whole = np.rint(values / scale + zero if scale else values)
    return whole.clip(np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def _real(
    values: Any,
    scale: float,
    zero: int,
) -> Any:
    return (values.astype(np.float32) - zero) * np.float32(scale) if scale else values
