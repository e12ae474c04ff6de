"""Tiny TFLite models with answers that can be computed by hand, built from the flatbuffer schema.

`classifier` returns the mean colour: output `RED` is the mean of red over 255, `GREEN` and `BLUE` likewise, all others
are 0. `detector` cuts the image into 10 x 10 cells, each an anchor of 0.1 x 0.1, and returns all of them by descending
score: class 0 (red), 1 (green) or 2 (blue), whichever has the highest mean in the cell, with that mean over 255 as
score. Each of the others is broken or hostile in one way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

RED = 7
GREEN = 8
BLUE = 1000
"""The classifier's outputs for the three colours."""

OUTPUTS = 1001
GRID = 10
CELLS = GRID * GRID
LEVEL = 1 / 255
"""One step of an 8-bit colour, and the default scale of quantized tensors here."""

TYPES = {
    "uint8": schema.TensorType.UINT8,
    "int8": schema.TensorType.INT8,
    "int32": schema.TensorType.INT32,
    "float32": schema.TensorType.FLOAT32,
    "bool": schema.TensorType.BOOL,
}
Shape = Sequence[int]


@dataclass
class Graph:
    """A subgraph under construction; tensors are numbers."""

    model: Model
    tensors: list[Any] = field(default_factory=list)
    operators: list[Any] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        shape: Shape,
        dtype: str = "float32",
        scale: float = 0.0,
        zero: int = 0,
    ) -> int:
        """Add a tensor that is computed; quantized if `scale` is above 0."""
        return self._add(
            name,
            shape,
            dtype,
            0,
            scale,
            zero,
        )

    def constant(
        self,
        name: str,
        values: Any,
        scale: float = 0.0,
        zero: int = 0,
    ) -> int:
        """Add a tensor whose values are in the file."""
        array = np.ascontiguousarray(values)
        self.model.buffers.append(array.tobytes())
        return self._add(
            name,
            array.shape,
            array.dtype.name,
            len(self.model.buffers) - 1,
            scale,
            zero,
        )

    def operator(
        self,
        name: str,
        takes: list[int],
        gives: list[int],
        options: Any = None,
        custom: bytes | None = None,
    ) -> None:
        """Add an operator by its name in the schema (`CONV_2D`), or a custom one if it has `custom` options."""
        made = schema.OperatorT()
        made.opcodeIndex = self.model.code(name, custom is not None)
        made.inputs = takes
        made.outputs = gives
        if options is not None:
            kind = type(options).__name__.removesuffix("T")
            made.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            made.builtinOptions = options
        if custom is not None:
            made.customOptions = list(custom)
        self.operators.append(made)

    def _add(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        buffer: int,
        scale: float,
        zero: int,
    ) -> int:
        made = schema.TensorT()
        made.name = name
        made.shape = list(shape)
        made.type = TYPES[dtype]
        made.buffer = buffer
        if scale:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = [scale]
            made.quantization.zeroPoint = [zero]
        self.tensors.append(made)
        return len(self.tensors) - 1


class Model:
    """A model under construction: its graphs (the first one runs), constants and operator names."""

    def __init__(self) -> None:
        self.buffers: list[bytes] = [b""]
        self.graphs: list[Graph] = []
        self._codes: list[tuple[str, bool]] = []

    def graph(self) -> Graph:
        """Add a graph."""
        self.graphs.append(Graph(self))
        return self.graphs[-1]

    def code(self, name: str, is_custom: bool) -> int:
        """Return the number of an operator's name."""
        if (name, is_custom) not in self._codes:
            self._codes.append((name, is_custom))
        return self._codes.index((name, is_custom))

    def data(self) -> bytes:
        """Return the file's bytes."""
        made = schema.ModelT()
        made.version = 3
        made.description = "made by the tests"
        made.operatorCodes = [_operator_code(*code) for code in self._codes]
        made.subgraphs = [_subgraph(graph) for graph in self.graphs]
        made.buffers = []
        for content in self.buffers:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(content, np.uint8) if content else None
            made.buffers.append(buffer)
        builder = flatbuffers.Builder(1024)
        builder.Finish(made.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def _operator_code(name: str, is_custom: bool) -> Any:
    code = schema.OperatorCodeT()
    code.builtinCode = (
        schema.BuiltinOperator.CUSTOM
        if is_custom
        else getattr(schema.BuiltinOperator, name)
    )
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.customCode = name if is_custom else None
    return code


def _subgraph(graph: Graph) -> Any:
    made = schema.SubGraphT()
    made.tensors = graph.tensors
    made.operators = graph.operators
    made.inputs = graph.inputs
    made.outputs = graph.outputs
    return made


def classifier(
    height: int = 8,
    width: int = 8,
    *,
    quantized: bool = False,
    outputs: int = OUTPUTS,
    batch: int = 1,
) -> bytes:
    """Return the classifier by mean colour: uint8 [1, H, W, 3] -> [1, 1001], float32, or uint8 (`quantized`)."""
    model = Model()
    graph = model.graph()
    image = graph.tensor(
        "image",
        (batch, height, width, 3),
        "uint8",
        LEVEL,
    )
    axes = graph.constant("axes", np.array([1, 2], np.int32))
    weights = np.zeros((outputs, 3), np.uint8)
    for colour, index in enumerate((RED, GREEN, BLUE)):
        weights[min(index, outputs - 1), colour] = 1
    if quantized:
        mean = graph.tensor(
            "mean",
            (batch, 3),
            "uint8",
            LEVEL,
        )
        scores = graph.tensor(
            "scores",
            (batch, outputs),
            "uint8",
            LEVEL,
        )
        matrix = graph.constant(
            "weights",
            weights * np.uint8(255),
            LEVEL,
        )
        bias = graph.constant(
            "bias",
            np.zeros(outputs, np.int32),
            LEVEL * LEVEL,
        )
        pixels = image
    else:
        pixels = graph.tensor("pixels", (batch, height, width, 3))
        graph.operator(
            "DEQUANTIZE",
            [image],
            [pixels],
            schema.DequantizeOptionsT(),
        )
        mean = graph.tensor("mean", (batch, 3))
        scores = graph.tensor("scores", (batch, outputs))
        matrix = graph.constant("weights", weights.astype(np.float32))
        bias = graph.constant("bias", np.zeros(outputs, np.float32))
    graph.operator(
        "MEAN",
        [pixels, axes],
        [mean],
        schema.ReducerOptionsT(),
    )
    graph.operator(
        "FULLY_CONNECTED",
        [mean, matrix, bias],
        [scores],
        schema.FullyConnectedOptionsT(),
    )
    graph.inputs = [image]
    graph.outputs = [scores]
    return model.data()


def cell_boxes() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the detector's anchors (100, 4): y and x of the centre, height, width; row by row, in 0..1."""
    centres = (np.arange(GRID) + 0.5) / GRID
    y, x = np.meshgrid(
        centres,
        centres,
        indexing="ij",
    )
    return np.stack(
        [y.ravel(), x.ravel(), *np.full((2, CELLS), 1 / GRID)],
        axis=1,
    ).astype(np.float32)


def detector(
    cell: int = 2,
    *,
    quantized: bool = False,
    score_threshold: float = 0.0,
    kept: int = 100,
    channels: int = 3,
) -> bytes:
    """Return the detector by cells: uint8 [1, 10 cell, 10 cell, 3] -> boxes, classes, scores, count, all float32.

    `quantized` computes in uint8 up to TFLite_Detection_PostProcess, which takes that too; the anchors are then
    multiples of 1/200, which 8 bits hold exactly. `kept` is its max_detections. Cells below `score_threshold` are
    dropped and lower the count.
    """
    model = Model()
    graph = model.graph()
    side = GRID * cell
    image = graph.tensor(
        "image",
        (1, side, side, channels),
        "uint8",
        LEVEL,
    )
    kernel = np.zeros((4, cell, cell, channels))
    for colour in range(3):
        kernel[colour + 1, :, :, colour] = 1 / (cell * cell)
    no_change = np.zeros((1, CELLS, 4))
    if quantized:
        made = _quantized_scores(
            graph,
            image,
            kernel,
        )
        boxes = graph.constant(
            "boxes",
            no_change.astype(np.uint8),
            LEVEL,
        )
        anchors = graph.constant(
            "anchors",
            np.rint(cell_boxes() * 200).astype(np.uint8),
            1 / 200,
        )
    else:
        made = _float_scores(
            graph,
            image,
            kernel,
        )
        boxes = graph.constant("boxes", no_change.astype(np.float32))
        anchors = graph.constant("anchors", cell_boxes())
    gives = [
        graph.tensor(name, shape)
        for name, shape in (
            ("detection_boxes", (1, kept, 4)),
            ("detection_classes", (1, kept)),
            ("detection_scores", (1, kept)),
            ("num_detections", (1,)),
        )
    ]
    options = _post_process_options(kept, score_threshold)
    graph.operator(
        "TFLite_Detection_PostProcess",
        [boxes, made, anchors],
        gives,
        custom=options,
    )
    graph.inputs = [image]
    graph.outputs = gives
    return model.data()


def _convolution(cell: int) -> Any:
    options = schema.Conv2DOptionsT()
    options.padding = schema.Padding.VALID
    options.strideH = cell
    options.strideW = cell
    return options


def _float_scores(
    graph: Graph,
    image: int,
    kernel: np.ndarray[Any, Any],
) -> int:
    cell = kernel.shape[1]
    channels = kernel.shape[3]
    pixels = graph.tensor("pixels", (1, GRID * cell, GRID * cell, channels))
    graph.operator(
        "DEQUANTIZE",
        [image],
        [pixels],
        schema.DequantizeOptionsT(),
    )
    maps = graph.tensor("maps", (1, GRID, GRID, 4))
    scores = graph.tensor("scores", (1, CELLS, 4))
    weights = graph.constant("kernel", kernel.astype(np.float32))
    added = graph.constant("bias", np.zeros(4, np.float32))
    graph.operator(
        "CONV_2D",
        [pixels, weights, added],
        [maps],
        _convolution(cell),
    )
    _reshape(
        graph,
        maps,
        scores,
    )
    return scores


def _quantized_scores(
    graph: Graph,
    image: int,
    kernel: np.ndarray[Any, Any],
) -> int:
    cell = kernel.shape[1]
    maps = graph.tensor(
        "maps",
        (1, GRID, GRID, 4),
        "uint8",
        LEVEL,
    )
    scores = graph.tensor(
        "scores",
        (1, CELLS, 4),
        "uint8",
        LEVEL,
    )
    scale = float(kernel.max())
    weights = graph.constant(
        "kernel",
        (kernel / scale).astype(np.uint8),
        scale,
    )
    added = graph.constant(
        "bias",
        np.zeros(4, np.int32),
        LEVEL * scale,
    )
    graph.operator(
        "CONV_2D",
        [image, weights, added],
        [maps],
        _convolution(cell),
    )
    _reshape(
        graph,
        maps,
        scores,
    )
    return scores


def _reshape(graph: Graph, source: int, target: int) -> None:
    shape = graph.constant("shape", np.array(graph.tensors[target].shape, np.int32))
    options = schema.ReshapeOptionsT()
    options.newShape = list(graph.tensors[target].shape)
    graph.operator(
        "RESHAPE",
        [source, shape],
        [target],
        options,
    )


def _post_process_options(kept: int, score_threshold: float) -> bytes:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("max_detections", kept)
        builder.Int("max_classes_per_detection", 1)
        builder.Int("detections_per_class", 100)
        builder.Bool("use_regular_nms", False)
        builder.Float("nms_score_threshold", score_threshold)
        builder.Float("nms_iou_threshold", 0.5)
        builder.Int("num_classes", 3)
        for name, scale in (
            ("y_scale", 10.0),
            ("x_scale", 10.0),
            ("h_scale", 5.0),
            ("w_scale", 5.0),
        ):
            builder.Float(name, scale)
    return bytes(builder.Finish())


def constant_answers(
    shape: Shape,
    dtype: str = "uint8",
    answers: Sequence[tuple[str, Any]] = (),
    *,
    inputs: int = 1,
) -> bytes:
    """Return a model that takes any input of that shape and type and always gives the named constants.

    Each is computed as constant + 0, because a constant cannot be an output.
    """
    model = Model()
    graph = model.graph()
    scale = LEVEL if dtype in ("uint8", "int8") else 0.0
    graph.inputs = [
        graph.tensor(
            f"image{number}",
            shape,
            dtype,
            scale,
        )
        for number in range(inputs)
    ]
    for name, values in answers:
        array = np.asarray(values)
        given = graph.tensor(
            name,
            array.shape,
            array.dtype.name,
        )
        zero = graph.constant(f"{name}_zero", np.zeros(1, array.dtype))
        held = graph.constant(f"{name}_constant", array)
        graph.operator(
            "ADD",
            [held, zero],
            [given],
            schema.AddOptionsT(),
        )
        graph.outputs.append(given)
    return model.data()


def detection_answers(
    boxes: Any,
    classes: Any,
    scores: Any,
    count: float = 100.0,
    dtype: str = "uint8",
) -> bytes:
    """Return a detector that always gives these (as float32): boxes (1, 100, 4), classes and scores (1, 100)."""
    answers = [
        (name, np.asarray(values, np.float32))
        for name, values in (
            ("boxes", boxes),
            ("classes", classes),
            ("scores", scores),
            ("count", [count]),
        )
    ]
    return constant_answers(
        (1, 8, 8, 3),
        dtype,
        answers,
    )


def _started() -> tuple[Model, Graph, int]:
    """Start a model with an image of 8 x 8."""
    model = Model()
    graph = model.graph()
    return (
        model,
        graph,
        graph.tensor(
            "image",
            (1, 8, 8, 3),
            "uint8",
            LEVEL,
        ),
    )


def endless() -> bytes:
    """Return a classifier whose WHILE never ends."""
    model, graph, image = _started()
    start = graph.constant("start", np.zeros((1, OUTPUTS), np.float32))
    scores = graph.tensor("scores", (1, OUTPUTS))
    options = schema.WhileOptionsT()
    options.condSubgraphIndex = 1
    options.bodySubgraphIndex = 2
    graph.operator(
        "WHILE",
        [start],
        [scores],
        options,
    )
    graph.inputs = [image]
    graph.outputs = [scores]
    condition = model.graph()
    taken = condition.tensor("taken", (1, OUTPUTS))
    axes = condition.constant("axes", np.array([0, 1], np.int32))
    least = condition.tensor("least", ())
    below = condition.constant("below", np.array(-1, np.float32))
    condition.operator(
        "REDUCE_MIN",
        [taken, axes],
        [least],
        schema.ReducerOptionsT(),
    )
    again = condition.tensor(
        "again",
        (),
        "bool",
    )
    condition.operator(
        "GREATER",
        [least, below],
        [again],
        schema.GreaterOptionsT(),
    )
    condition.inputs = [taken]
    condition.outputs = [again]
    body = model.graph()
    before = body.tensor("before", (1, OUTPUTS))
    after = body.tensor("after", (1, OUTPUTS))
    zero = body.constant("zero", np.zeros(1, np.float32))
    body.operator(
        "ADD",
        [before, zero],
        [after],
        schema.AddOptionsT(),
    )
    body.inputs = [before]
    body.outputs = [after]
    return model.data()


def unknown_operator(name: str) -> bytes:
    """Return a classifier with an operator of that name, which no runtime has."""
    model, graph, image = _started()
    scores = graph.tensor("scores", (1, OUTPUTS))
    graph.operator(
        name,
        [image],
        [scores],
        custom=b"",
    )
    graph.inputs = [image]
    graph.outputs = [scores]
    return model.data()


def greedy(gigabytes: int = 64, *, when_run: bool = False) -> bytes:
    """Return a classifier that fills `gigabytes` of memory: when it is loaded, or (`when_run`) only when it is run."""
    model, graph, image = _started()
    pixels = graph.tensor("pixels", (1, 8, 8, 3))
    graph.operator(
        "DEQUANTIZE",
        [image],
        [pixels],
        schema.DequantizeOptionsT(),
    )
    row = (OUTPUTS, (gigabytes << 28) // OUTPUTS)
    shape = graph.constant("shape", np.array(row, np.int32))
    if when_run:
        none = graph.constant("none", np.zeros(2, np.int32))
        known_late = graph.tensor(
            "late",
            (2,),
            "int32",
        )
        graph.operator(
            "ADD",
            [shape, none],
            [known_late],
            schema.AddOptionsT(),
        )
        shape = known_late
    all_axes = graph.constant("all_axes", np.array([0, 1, 2, 3], np.int32))
    value = graph.tensor("value", ())
    huge = graph.tensor("huge", row)
    graph.operator(
        "MEAN",
        [pixels, all_axes],
        [value],
        schema.ReducerOptionsT(),
    )
    graph.operator(
        "FILL",
        [shape, value],
        [huge],
        schema.FillOptionsT(),
    )
    axis = graph.constant("axis", np.array([1], np.int32))
    sums = graph.tensor("sums", (OUTPUTS,))
    scores = graph.tensor("scores", (1, OUTPUTS))
    graph.operator(
        "SUM",
        [huge, axis],
        [sums],
        schema.ReducerOptionsT(),
    )
    _reshape(
        graph,
        sums,
        scores,
    )
    graph.inputs = [image]
    graph.outputs = [scores]
    return model.data()


def corrupted(data: bytes, seed: int) -> bytes:
    """Return the file with a few bytes changed, cut off or a stretch overwritten, by the seed."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    damaged = bytearray(data)
    kind = chance.randrange(10)
    if kind == 0:
        return bytes(damaged[: chance.randrange(len(damaged))])
    if kind == 1:
        start = chance.randrange(len(damaged))
        stretch = min(len(damaged) - start, chance.randrange(1, 200))
        damaged[start : start + stretch] = chance.randbytes(stretch)
        return bytes(damaged)
    for _ in range(chance.randrange(1, 20)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)
