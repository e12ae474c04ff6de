"""Runs TFLite models in LiteRT; nothing else calls it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate

from lpirc_client.harness.inference import LoadedModel, View
from lpirc_client.harness.model import Signature, Tensor
from lpirc_client.harness.model_settings import DEFAULT_DELEGATE, NO_DELEGATE, XNNPACK


class RuntimeModel(LoadedModel):
    """A model in the interpreter, with allocated tensors; `delegate` is a library's path or one of three keywords."""

    def __init__(
        self,
        data: bytes | bytearray,
        threads: int,
        delegate: str = DEFAULT_DELEGATE,
    ) -> None:
        options: dict[str, Any] = {}
        if delegate not in (DEFAULT_DELEGATE, XNNPACK):
            kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            delegates = [] if delegate == NO_DELEGATE else [load_delegate(delegate)]
            options = {
                "experimental_op_resolver_type": kind,
                "experimental_delegates": delegates,
            }
        self._interpreter = Interpreter(
            model_content=bytes(data), num_threads=threads, **options
        )
        self._interpreter.allocate_tensors()
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        self.signature = Signature(
            tuple(_tensor(details) for details in inputs),
            tuple(_tensor(details) for details in outputs),
            _taken_by(self._interpreter, delegate if options else "XNNPACK"),
            version("ai-edge-litert"),
        )
        self.invoke = self._interpreter.invoke
        # Getters, called again for each inference: the runtime may move its tensors, and views block it.
        self._inputs = [
            self._interpreter.tensor(details["index"]) for details in inputs
        ]
        self._outputs = [
            self._interpreter.tensor(details["index"]) for details in outputs
        ]

    def views(self) -> tuple[View, list[View]]:
        """Return functions that give access to the first input and the outputs."""
        return self._inputs[0], self._outputs

    def tensors_bytes(self) -> int:
        """Return the size of all tensors at their current shapes."""
        return _total_bytes(self._interpreter)

    @staticmethod
    def stated_bytes(data: bytes | bytearray) -> int:
        """Return the size of the file's tensors at the shapes it states, without allocating them."""
        return _total_bytes(Interpreter(model_content=bytes(data), num_threads=1))


def _total_bytes(interpreter: Interpreter) -> int:
    return sum(
        _tensor(details).size_bytes for details in interpreter.get_tensor_details()
    )


def _tensor(details: dict[str, Any]) -> Tensor:
    quantization = details["quantization_parameters"]
    scales = quantization["scales"].tolist()
    zeros = quantization["zero_points"].tolist()
    scale, zero = (
        (scales[0], zeros[0]) if len(scales) == 1 and len(zeros) == 1 else (0.0, 0)
    )
    shape: Sequence[int] = details["shape"].tolist()
    return Tensor(
        str(details["name"]),
        tuple(shape),
        np.dtype(details["dtype"]).name,
        float(scale),
        int(zero),
    )


def _taken_by(interpreter: Interpreter, delegate: str) -> str:
    """Return the delegate's name if it took over any operator."""
    operators = interpreter._get_ops_details()  # noqa: SLF001 - the runtime has no public way to ask
    return (
        delegate
        if any(operator["op_name"] == "DELEGATE" for operator in operators)
        else NO_DELEGATE
    )
