"""A real detector as ONNX models with every head: it finds the box of the pixels that are much more red than blue."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

NAMES = ["sky", "red box"]
RED = 1
"""The class of what it finds, of two; 1 more where 0 is the background."""

SIDE = 64
CELLS = 8 * 8 + 4 * 4 + 2 * 2


class Graph:
    """Nodes and constants under construction; values are names."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self,
        operator: str,
        *takes: Any,
        name: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; what is no name becomes a constant."""
        name = name or f"v{len(self.nodes)}"
        given = [one if isinstance(one, str) else self.constant(one) for one in takes]
        self.nodes.append(helper.make_node(operator, given, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(value, np.int64 if isinstance(value, list) else np.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def model(
        self,
        inputs: list[Any],
        outputs: list[str],
        names: list[str] | None,
    ) -> bytes:
        made = [helper.make_empty_tensor_value_info(output) for output in outputs]
        graph = helper.make_graph(self.nodes, "finder", inputs, made, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 13)],
            ir_version=8,
        )
        if names:
            helper.set_model_props(model, {"names": str(dict(enumerate(names)))})
        return model.SerializeToString()


def finder(
    head: str,
    shape: Any = (1, 3, SIDE, SIDE),
    names: list[str] | None = NAMES,
    dtype: int = TensorProto.FLOAT,
) -> bytes:
    """Return the detector with this head, of an input of `shape` in NCHW, NHWC or CHW; a side may be a name."""
    graph = Graph()
    image = graph.add("Cast", "image", to=TensorProto.FLOAT)
    rank = len(shape)
    last = shape[-1] == 3
    if rank == 4:
        image = graph.add("Squeeze", image, [0])
    red, _, blue = (
        graph.add("Gather", image, graph.constant([n]), axis=2 if last else 0)
        for n in range(3)
    )
    limit = 128.0 if dtype == TensorProto.UINT8 else 0.5
    reddish = graph.add("Squeeze", graph.add("Sub", red, blue), [2 if last else 0])
    mask = graph.add("Cast", graph.add("Greater", reddish, limit), to=TensorProto.FLOAT)
    score = graph.add(
        "Mul",
        graph.add("ReduceMax", mask, axes=[0, 1], keepdims=0),
        0.75,
    )
    score = graph.add("Reshape", score, [1])
    sides = []
    for axis in (0, 1):  # over the rows: x; over the columns: y
        line = graph.add("ReduceMax", mask, axes=[axis], keepdims=0)
        ends = [
            graph.add(
                "ArgMax",
                line,
                axis=0,
                keepdims=1,
                select_last_index=last,
            )
            for last in (0, 1)
        ]
        near, far = (graph.add("Cast", end, to=TensorProto.FLOAT) for end in ends)
        sides.append((near, graph.add("Add", far, 1.0)))
    outputs = (
        _yolo(graph, head, sides, score)
        if head.startswith("yolo")
        else _ssd(graph, head, sides, score)
    )
    given = helper.make_tensor_value_info("image", dtype, shape)
    return graph.model([given], outputs, names)


def classifier() -> bytes:
    graph = Graph()
    graph.add(
        "ReduceMean",
        "image",
        name="scores",
        axes=[2, 3],
        keepdims=0,
    )
    return graph.model(
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 8, 8))],
        ["scores"],
        None,
    )


def two_inputs() -> bytes:
    graph = Graph()
    graph.add("Add", "a", "b", name="sum")
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 3, 8, 8))
        for name in "ab"
    ]
    return graph.model(given, ["sum"], None)


def _yolo(
    graph: Graph,
    head: str,
    sides: list[tuple[str, str]],
    score: str,
) -> list[str]:
    (left, right), (top, bottom) = sides
    zero = graph.constant(np.zeros(1))
    one = graph.constant(np.ones(1))
    if head == "yolov10":
        parts = [left, top, right, bottom, score, one]
        rows = 300
    else:
        middle = [
            graph.add("Mul", graph.add("Add", near, far), 0.5) for near, far in sides
        ]
        size = [graph.add("Sub", far, near) for near, far in sides]
        parts = [
            *middle,
            *size,
            *([score, zero, one] if head == "yolov5" else [zero, score]),
        ]
        rows = 3 * CELLS if head == "yolov5" else CELLS
    row = graph.add("Reshape", graph.add("Concat", *parts, axis=0), [1, 1, len(parts)])
    # What else there is has no score, and lies first.
    rest = graph.constant(np.zeros((1, rows - 1, len(parts))))
    table = graph.add("Concat", rest, row, axis=1, name="rows")
    if head != "yolov8":
        return [table]
    return [graph.add("Transpose", table, perm=[0, 2, 1], name="output0")]


def _ssd(
    graph: Graph,
    head: str,
    sides: list[tuple[str, str]],
    score: str,
) -> list[str]:
    (left, right), (top, bottom) = sides
    order = (
        [top, left, bottom, right] if head == "tf-ssd" else [left, top, right, bottom]
    )
    box = graph.add("Concat", *order, axis=0)
    if head == "torchvision":
        graph.add("Reshape", box, [1, 4], name="boxes")
        graph.add("Identity", graph.constant([RED + 1]), name="labels")
        return ["boxes", "labels", graph.add("Identity", score, name="scores")]
    graph.add(
        "Reshape",
        graph.add("Div", box, float(SIDE)),
        [1, 1, 4],
        name="detection_boxes",
    )
    graph.add(
        "Identity",
        graph.constant(np.full((1, 1), RED + 1)),
        name="detection_classes",
    )
    graph.add("Reshape", score, [1, 1], name="detection_scores")
    graph.add("Identity", graph.constant(np.ones(1)), name="num_detections")
    return [
        "num_detections",
        "detection_boxes",
        "detection_scores",
        "detection_classes",
    ]
