"""Runs ONNX models in ONNX Runtime; nothing else calls it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version

import numpy as np
import onnxruntime

from lpirc_client.harness.inference import LoadedModel, View
from lpirc_client.harness.model import Signature, Tensor
from lpirc_client.harness.model_settings import (
    CPU_PROVIDER,
    DEFAULT_DELEGATE,
    NO_DELEGATE,
    XNNPACK,
)

PROVIDERS = {
    DEFAULT_DELEGATE: CPU_PROVIDER,
    NO_DELEGATE: CPU_PROVIDER,
    XNNPACK: "XnnpackExecutionProvider",
}
TYPES = {"float": "float32", "double": "float64"}
"""ONNX's names of types whose numpy names differ."""

FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
NO_FOLDER = "/dev/null"
"""Folder for a model's external weights. A model is one file; the runtime would read others from the current folder."""


class RuntimeModel(LoadedModel):
    """A model in a session; `delegate` is an execution provider or one of three keywords."""

    def __init__(
        self,
        data: bytes | bytearray,
        threads: int,
        delegate: str = DEFAULT_DELEGATE,
    ) -> None:
        provider = PROVIDERS.get(delegate, delegate)
        available = onnxruntime.get_available_providers()
        if provider not in available:
            raise ValueError(
                f"ONNX Runtime has no {provider} on this machine; it has {', '.join(available)}"
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # fatal errors only
        options.add_session_config_entry(FOLDER_ENTRY, NO_FOLDER)
        self._session = onnxruntime.InferenceSession(
            bytes(data), options, providers=[provider]
        )
        if self._session.get_providers()[0] != provider:
            raise ValueError(f"{provider} does not work on this device")
        inputs = self._session.get_inputs()
        outputs = self._session.get_outputs()
        tensors = tuple(map(_tensor, inputs)), tuple(map(_tensor, outputs))
        self.signature = Signature(*tensors, provider, version("onnxruntime"))
        self._bound: tuple[View, list[View]] | None = None

    def views(self) -> tuple[View, list[View]]:
        """Return functions that give access to input and outputs: arrays that the session uses without copying."""
        if self._bound is None:
            binding = self._session.io_binding()
            self.invoke = partial(self._session.run_with_iobinding, binding)
            outputs = [
                _view(binding.bind_output, one) for one in self.signature.outputs
            ]
            self._bound = _view(binding.bind_input, self.signature.inputs[0]), outputs
        return self._bound


def _view(bind: Callable[..., None], tensor: Tensor) -> View:
    array = np.zeros(tensor.shape, np.dtype(tensor.dtype))
    bind(
        tensor.name,
        "cpu",
        0,
        array.dtype,
        array.shape,
        array.ctypes.data,
    )
    return lambda: array


def _side(side: object) -> int:
    return side if isinstance(side, int) else -1


def _tensor(one: onnxruntime.NodeArg) -> Tensor:
    """Describe an input or output. An open first side is a batch of 1; any other open side is -1."""
    shape = [*map(_side, one.shape)]
    if shape and shape[0] == -1:
        shape[0] = 1
    kind = one.type.removeprefix("tensor(").removesuffix(")")
    return Tensor(
        one.name,
        tuple(shape),
        TYPES.get(kind, kind),
        0.0,
        0,
    )
