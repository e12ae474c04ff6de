"""The overhead of the device harness: its loop beside a bare loop in the same process, and a whole bench."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

from bench.figures import row, show
from lpirc_client.errors import ModelError
from lpirc_client.harness.model import ModelFile
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.preprocessing import prepared
from lpirc_client.harness.run_litert import RuntimeModel
from lpirc_client.harness.validator import examine
from tests.tflite_models import classifier, corrupted, detector

INFERENCES = 20_000
ROUNDS = 7
CORRUPTED = 500
PHOTOGRAPH_PX = (480, 640)
INPUT_PX = 300
MOST_ADDED_US = 50.0


def measure() -> list[dict[str, Any]]:
    """Measure all of it, one after the other; print the table and return its rows."""
    rows = _loops("classifier, 1 output", classifier(), 8) + _loops(
        "detector, 4 outputs",
        detector(),
        20,
    )
    rows += [*_preparing(), *_whole_bench(), *_damaged()]
    show("models", rows)
    return rows


def _loops(what: str, data: bytes, side: int) -> list[dict[str, Any]]:
    """The harness's loop and the bare loop in alternation, so both see the same machine; the median round counts."""
    model = RuntimeModel(data, 1)
    bare = Interpreter(model_content=data, num_threads=1)
    bare.allocate_tensors()
    pixels = np.zeros((INFERENCES, side, side, 3), np.uint8)
    bare_us = []
    loop_us = []
    reported_us = []
    for _ in range(ROUNDS):
        bare_us.append(_each_us(lambda: _invoke(bare)))
        loop_us.append(
            _each_us(lambda: reported_us.append(_reported_us(model, pixels)))
        )
    added_us = [loop - alone for loop, alone in zip(loop_us, bare_us, strict=True)]
    return [
        row(f"{what}: bare loop of invoke() (µs each)", statistics.median(bare_us)),
        row(f"{what}: the harness's loop (µs each)", statistics.median(loop_us)),
        row(
            f"{what}: added by the loop (µs each)",
            statistics.median(added_us),
            MOST_ADDED_US,
        ),
        row(f"{what}: latency that it reports (µs)", statistics.median(reported_us)),
    ]


def _invoke(interpreter: Interpreter) -> None:
    for _ in range(INFERENCES):
        interpreter.invoke()


def _reported_us(
    model: RuntimeModel,
    pixels: np.ndarray[Any, np.dtype[np.uint8]],
) -> float:
    return float(model.run(pixels, 1 << 62, 1 << 62).times_ns.mean()) / 1e3


def _each_us(loop: Callable[[], object]) -> float:
    before_s = time.perf_counter()
    loop()
    return (time.perf_counter() - before_s) / INFERENCES * 1e6


def _preparing() -> list[dict[str, Any]]:
    noise = np.random.default_rng(1).integers(0, 256, (*PHOTOGRAPH_PX, 3), np.uint8)
    taken_s = []
    for _ in range(50):
        before_s = time.perf_counter()
        prepared(noise, "resize", INPUT_PX, INPUT_PX)
        taken_s.append(time.perf_counter() - before_s)
    return [
        row(
            "640 x 480 pixels resized to 300 x 300 (ms)",
            statistics.median(taken_s) * 1e3,
        )
    ]


def _whole_bench() -> list[dict[str, Any]]:
    """The command on two images: the cost of starting two interpreters and reading the model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.tflite").write_bytes(classifier())
        for number in (1, 2):
            Image.new("RGB", (32, 32), (number, 0, 0)).save(folder / f"{number}.png")
        arguments = [
            "bench",
            str(folder / "model.tflite"),
            "--images",
            name,
            "--task",
            "classification",
        ]
        before_s = time.perf_counter()
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "lpirc_client.harness.cli", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return [
        row("`lpirc-harness bench` of two images (s)", time.perf_counter() - before_s)
    ]


def _damaged() -> list[dict[str, Any]]:
    """Damaged models, one after the other in a process that is replaced when one kills it."""
    bases = (
        classifier(),
        classifier(quantized=True),
        detector(),
        detector(quantized=True),
    )
    before_s = time.perf_counter()
    codes = []
    processes = 1
    process = ModelProcess("damaged")
    for seed in range(CORRUPTED):
        model = ModelFile(Path("damaged"), corrupted(bases[seed % 4], seed), "")
        task = "classification" if seed % 4 < 2 else "detection"
        try:
            _, problems = examine(
                process,
                model,
                Settings(task, "resize", timeout_s=5.0),
            )
            codes.append(problems[0].code if problems else "valid")
        except ModelError as error:
            codes.append(error.code)
        if process.is_dead:
            process = ModelProcess("damaged")
            processes += 1
    process.end()
    summary = ", ".join(f"{code} {codes.count(code)}" for code in sorted(set(codes)))
    return [
        row(f"{CORRUPTED} damaged models: reported", len(codes), CORRUPTED),
        row("so many processes", processes),
        row("as", summary),
        row("in so long (s)", time.perf_counter() - before_s),
    ]
