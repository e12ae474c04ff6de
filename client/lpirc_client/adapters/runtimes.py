"""A model in its runtime, ONNX Runtime or LiteRT, as a value with a function that runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DTYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(uint8)": "uint8"}
LEVELS = {"scale": 1.0, "mean": 0.0, "std": 1.0}
"""The defaults of an input of whole numbers without a scale of its own."""


class Model(NamedTuple):
    """The `shapes` of its inputs (None: an open side), names of its `outputs`, `defaults` that follow from the file.

    `run` takes real values, float32 of the input's shape, and returns each output's real values.
    """

    shapes: list[list[Any]]
    outputs: list[str]
    defaults: dict[str, Any]
    run: Callable[[NDArray[np.float32]], list[NDArray[Any]]]
    device: str


def onnx(path: Path, threads: int) -> Model:
    """Load an ONNX model. Raises what the runtime does."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(str(path), options, onnxruntime.get_available_providers())
    inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
    dtype = np.dtype(DTYPES.get(inputs[0].type, "float32"))
    names = session.get_modelmeta().custom_metadata_map.get(
        "names", "{}"
    )  # as Ultralytics writes it, in Python
    return Model(
        [[side if isinstance(side, int) else None for side in one.shape] for one in inputs],
        outputs,
        {"names": ast.literal_eval(names), **(LEVELS if dtype.kind == "u" else {})},
        lambda values: session.run(None, {inputs[0].name: _as(values, dtype)}),
        session.get_providers()[0],
    )


def litert(path: Path, threads: int) -> Model:
    """Load a TFLite model. Raises what the runtime does."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=threads or None)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    (scale, zero), dtype = inputs[0]["quantization"], np.dtype(inputs[0]["dtype"])

    def run(values: NDArray[np.float32]) -> list[NDArray[Any]]:
        interpreter.set_tensor(inputs[0]["index"], _as(values / scale + zero if scale else values, dtype))
        interpreter.invoke()
        return [_real(interpreter.get_tensor(one["index"]), *one["quantization"]) for one in outputs]

    defaults = {"boxes": "fraction", **(LEVELS if dtype.kind != "f" and not scale else {})}
    shapes = [one["shape"].tolist() for one in inputs]
    return Model(shapes, [one["name"] for one in outputs], defaults, run, "LiteRT")


def _as(values: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind != "f":
        values = np.rint(values).clip(np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype, copy=False)


def _real(values: NDArray[Any], scale: float, zero: int) -> NDArray[Any]:
    return (values.astype(np.float32) - zero) * np.float32(scale) if scale else values
