"""Tiny ONNX models with the answers of those in `tflite_models`, built with onnx.helper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.tflite_models import BLUE, GREEN, RED

TYPES = {
    "uint8": TensorProto.UINT8,
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
}


def finished(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    constants: dict[str, Any],
) -> ModelProto:
    kept = [
        numpy_helper.from_array(np.asarray(values), name)
        for name, values in constants.items()
    ]
    graph = helper.make_graph(nodes, "made by the tests", inputs, outputs, kept)
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )


def classifier(
    dtype: str = "uint8",
    *,
    first: bool = False,
    outputs: int = 1001,
    side: int = 8,
    batch: int | str = 1,
) -> bytes:
    """Return the classifier by mean level: [N, side, side, 3], or (`first`) [N, 3, side, side], -> [N, outputs].

    With 1000 outputs each colour's is one lower: there is no background.
    """
    return classifier_model(
        dtype,
        first=first,
        outputs=outputs,
        side=side,
        batch=batch,
    ).SerializeToString()


def classifier_model(
    dtype: str = "uint8",
    *,
    first: bool = False,
    outputs: int = 1001,
    side: int = 8,
    batch: int | str = 1,
) -> ModelProto:
    """Return the same before it is written."""
    weights = np.zeros((3, outputs), np.float32)
    for colour, index in enumerate((RED, GREEN, BLUE)):
        weights[colour, index - (outputs == 1000)] = 1
    shape = (batch, 3, side, side) if first else (batch, side, side, 3)
    nodes = [
        helper.make_node("Cast", ["image"], ["pixels"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        helper.make_node("MatMul", ["mean", "weights"], ["scores"]),
    ]
    image = helper.make_tensor_value_info("image", TYPES[dtype], shape)
    scores = helper.make_tensor_value_info(
        "scores",
        TensorProto.FLOAT,
        (batch, outputs),
    )
    axes = np.array([2, 3] if first else [1, 2], np.int64)
    return finished(nodes, [image], [scores], {"axes": axes, "weights": weights})


def constant_answers(
    shape: Sequence[int | str],
    dtype: str,
    answers: Sequence[tuple[str, Any]],
    *,
    inputs: int = 1,
) -> bytes:
    """Return a model that takes any input of that shape and type and always gives the named values."""
    nodes = [
        helper.make_node("Identity", [f"{name}_kept"], [name]) for name, _ in answers
    ]
    images = [
        helper.make_tensor_value_info(f"image{n}", TYPES[dtype], shape)
        for n in range(inputs)
    ]
    gives = [
        helper.make_tensor_value_info(
            name,
            TYPES[np.asarray(values).dtype.name],
            np.shape(values),
        )
        for name, values in answers
    ]
    kept = {f"{name}_kept": values for name, values in answers}
    return finished(nodes, images, gives, kept).SerializeToString()


def greedy(gigabytes: int = 16) -> bytes:
    """Return a classifier that fills `gigabytes` of memory when it is run."""
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0),
        helper.make_node("Expand", ["mean", "shape"], ["huge"]),
        helper.make_node("ReduceSum", ["huge", "axes"], ["scores"], keepdims=0),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 8, 8, 3))
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, 1001))
    shape = np.array([1, 1001, (gigabytes << 28) // 1001], np.int64)
    return finished(
        nodes,
        [image],
        [scores],
        {"shape": shape, "axes": np.array([2], np.int64)},
    ).SerializeToString()


def with_weights_beside(location: str) -> bytes:
    """Return the classifier, its weights in another file."""
    model = classifier_model()
    weights = next(one for one in model.graph.initializer if one.name == "weights")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key = "location"
    entry.value = location
    return model.SerializeToString()
