"""The implementations of AIoTBench's tests, and what keeps each of them from running on a device.

Sources: table VI of the paper (arXiv 2005.05085); the benchmark's app, github.com/BenchCouncil/AIoTBench, in which
NNAPI is an option of TensorFlow Lite. Of the three frameworks the harness runs only TensorFlow Lite, as LiteRT.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lpirc_tracks.track import Runtime
from referee.presence import is_file

ANDROID = "Android"
LITERT: Runtime = "litert"
MODULES = {LITERT: "ai_edge_litert", "onnxruntime": "onnxruntime"}
"""The module of each runtime of the harness."""
TITLES = {LITERT: "LiteRT", "onnxruntime": "ONNX Runtime"}
PROCESSOR_DELEGATES = ("xnnpack", "none")
"""The harness's words for a model that stays on the processor."""
ANDROID_MARK = "ANDROID_ROOT"
"""A variable that Android sets in every process."""


@dataclass(frozen=True)
class Implementation:
    """A framework on a processor or an accelerator. `runtime` is the harness's, None for one that it does not run."""

    name: str
    framework: str
    runtime: Runtime | None = None


IMPLEMENTATIONS = {
    one.name: one
    for one in (
        Implementation("pytorch_mobile", "PyTorch Mobile"),
        Implementation("caffe2", "Caffe2"),
        Implementation("tflite_cpu", "TensorFlow Lite", LITERT),
        Implementation("tflite_nnapi", "TensorFlow Lite", LITERT),
    )
}
"""By name, in the order of table VI."""


@dataclass(frozen=True)
class DeviceRuntimes:
    """The operating system of a device, and the runtimes of the harness that are installed there."""

    system: str
    installed: frozenset[str]

    @property
    def titles(self) -> str:
        """Return the runtimes for people."""
        found = [TITLES[name] for name in TITLES if name in self.installed]
        return ", ".join(found) or "none"


def runtimes_here() -> DeviceRuntimes:
    """Return what this device has. The harness runs in this Python."""
    is_android = ANDROID_MARK in os.environ
    system = ANDROID if is_android else platform.system()
    has_client = find_spec("lpirc_client") is not None
    found = (
        name for name, module in MODULES.items() if has_client and find_spec(module)
    )
    return DeviceRuntimes(system, frozenset(found))


def obstacle(
    implementation: Implementation,
    device: DeviceRuntimes,
    options: Mapping[str, object],
) -> str:
    """Return one sentence, without its full stop, that says why a test cannot run on the device; "" if it can.

    `options` are the test's own options.
    """
    framework = implementation.framework
    if implementation.runtime is None:
        return f"{framework} is a runtime of its own, which this program does not run"
    if implementation.name == "tflite_nnapi":
        found = _nnapi_obstacle(device, str(options.get("delegate", "")))
        if found:
            return found
    if implementation.runtime not in device.installed:
        title = TITLES[implementation.runtime]
        return (
            f"{title}, which runs {framework} models, is not installed here; in the "
            'project\'s folder: pip install "./client[models]"'
        )
    return ""


def _nnapi_obstacle(device: DeviceRuntimes, delegate: str) -> str:
    if device.system != ANDROID:
        return f"NNAPI is a part of Android, and this device runs {device.system}"
    if delegate in ("", *PROCESSOR_DELEGATES):
        return (
            "NNAPI needs its delegate; give the path of the delegate's library as "
            "delegate under [implementations.tflite_nnapi] in the suite's file"
        )
    if not is_file(Path(delegate)):
        return f"there is no delegate's library {delegate}"
    return ""
