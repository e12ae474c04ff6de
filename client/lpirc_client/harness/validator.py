"""The rules for a track's model, each with its own code and sentence.

Source: the rules of OVIC 2020. Input uint8 [1, H, W, 3] with sides of 1 to 1000. Classification gives [1, 1001];
detection gives boxes [1, 100, 4], classes [1, 100], scores [1, 100] and their count [1], which must be 100. The open
rules, of ONNX models and AIoTBench, also take float32, [1, 3, H, W], [1, 1000], and int64 in outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lpirc_client.errors import ModelError
from lpirc_client.harness.model import (
    CHANNELS,
    ModelFile,
    Signature,
    Tensor,
    signature_from,
)
from lpirc_client.harness.model_process import START_S, ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.outputs import CLASSES, DETECTIONS, Answers, check_counts

LARGEST_SIDE = 1000
OUTPUTS = {
    "classification": (("scores", (1, CLASSES + 1)),),
    "detection": (
        ("boxes", (1, DETECTIONS, 4)),
        ("classes", (1, DETECTIONS)),
        ("scores", (1, DETECTIONS)),
        ("count", (1,)),
    ),
}
INPUT_TYPES = {"ovic": ("uint8",), "open": ("uint8", "float32")}
OUTPUT_TYPES = {"ovic": ("float32", "uint8"), "open": ("float32", "uint8", "int64")}
TRIAL_SEED = 1


def rules_of(model: ModelFile, settings: Settings) -> str:
    """Return the rules for a model: those in the settings, else its runtime's. Raises ModelError `wrong-runtime`."""
    if settings.rules == "ovic" and model.runtime != "litert":
        what = "it is an ONNX model, but the rules of OVIC allow only TFLite; leave out --track and --rules"
        raise ModelError("wrong-runtime", f"{model.path.name}: {what}")
    return settings.rules or ("ovic" if model.runtime == "litert" else "open")


def load(
    process: ModelProcess,
    model: ModelFile,
    settings: Settings,
) -> Signature:
    """Load a model in its process and return its signature. Raises ModelError."""
    asked = {"runtime": model.runtime, "delegate": settings.delegate}
    request = {
        "do": "load",
        "memory_mb": settings.memory_mb,
        "threads": settings.threads,
    } | asked
    request["is_confined"] = bool(process.confinement.prefix)
    within_s = START_S + settings.timeout_s if process.is_new else settings.timeout_s
    answer, _ = process.ask("loaded", request, within_s, model.data)
    try:
        return signature_from(answer)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            "model-failed",
            f"{process.name}: its tensors have no valid description: {error!r}",
        ) from error


def problems(
    name: str,
    signature: Signature,
    task: str,
    rules: str = "ovic",
) -> list[ModelError]:
    """Return all problems of a model's inputs and outputs, in the order of the rules."""
    return [
        ModelError(error.code, f"{name}: {error.sentence}", **error.facts)
        for error in (
            *_input_problems(signature, rules),
            *_output_problems(signature, task, rules),
        )
    ]


def examine(
    process: ModelProcess,
    model: ModelFile,
    settings: Settings,
) -> tuple[Signature, list[ModelError]]:
    """Load a model, check it and, if its tensors are right, run it once on a picture of noise.

    Return its signature and the rules that it breaks. Raises ModelError if it cannot be loaded or run.
    """
    rules = rules_of(model, settings)
    signature = load(process, model, settings)
    found = problems(process.name, signature, settings.task, rules)
    if not found:
        image = signature.inputs[0]
        noise = (
            np.random.default_rng(TRIAL_SEED)
            .integers(0, 256, image.shape, np.uint8)
            .astype(image.dtype)
        )
        request = {"do": "run", "budget_ns": 1, "slice_ns": 1}
        answer, content = process.ask(
            "run", request, settings.timeout_s, noise.tobytes()
        )
        answers = Answers.parse(process.name, answer, content, signature)
        if settings.task == "detection":
            found += check_counts(process.name, answers, ["a picture of noise"])
    return signature, found


def _input_problems(signature: Signature, rules: str) -> Iterator[ModelError]:
    if len(signature.inputs) != 1:
        count = len(signature.inputs)
        yield ModelError(
            "wrong-inputs",
            f"its number of inputs is {count}; a model has one, the image",
            inputs=count,
        )
        return
    dtype = signature.inputs[0].dtype
    shape = list(signature.inputs[0].shape)
    if dtype not in INPUT_TYPES[rules]:
        hint = "" if rules == "open" else " (a float model begins with DEQUANTIZE)"
        what = (
            f"its input is {dtype}; it must be {' or '.join(INPUT_TYPES[rules])}{hint}"
        )
        yield ModelError("wrong-input-type", what, dtype=dtype)
    if len(shape) != 4:
        what = f"its input {shape} has {len(shape)} dimensions; it must have 4, [1, H, W, 3]"
        yield ModelError("wrong-rank", what, shape=shape)
        return
    batch, height, width, channels = shape
    if rules == "open" and signature.inputs[0].is_channels_first:
        batch, channels, height, width = shape
    if batch != 1:
        what = f"its input {shape} takes {batch} images at once; it must take 1"
        yield ModelError("wrong-batch", what, shape=shape)
    if channels != CHANNELS:
        what = f"its input {shape} has {channels} channels; it must have {CHANNELS}"
        yield ModelError("wrong-channels", what, shape=shape)
    if not all(1 <= side <= LARGEST_SIDE for side in (height, width)):
        what = f"its input {shape} is {height} by {width} pixels; each side must be 1 to {LARGEST_SIDE}"
        yield ModelError("wrong-side", what, shape=shape)


def _output_problems(
    signature: Signature,
    task: str,
    rules: str,
) -> Iterator[ModelError]:
    wanted = OUTPUTS[task]
    if len(signature.outputs) != len(wanted):
        count = len(signature.outputs)
        names = ", ".join(name for name, _ in wanted)
        what = f"its number of outputs is {count}; {task} has {len(wanted)}: {names}"
        yield ModelError("wrong-outputs", what, outputs=count)
        return
    for number, (tensor, (name, shape)) in enumerate(
        zip(signature.outputs, wanted, strict=True)
    ):
        is_scores = rules == "open" and task == "classification"
        shapes = (shape, (1, CLASSES)) if is_scores else (shape,)
        yield from _output_problem(
            number,
            tensor,
            name,
            shapes,
            rules,
        )


def _output_problem(
    number: int,
    tensor: Tensor,
    name: str,
    shapes: tuple[tuple[int, ...], ...],
    rules: str,
) -> Iterator[ModelError]:
    where = f"its output {number} ({name})"
    dtype = tensor.dtype
    if tensor.shape not in shapes:
        found = list(tensor.shape)
        what = f"{where} is {found}; it must be {' or '.join(str(list(one)) for one in shapes)}"
        yield ModelError("wrong-output-shape", what, output=number, shape=found)
    if dtype not in OUTPUT_TYPES[rules]:
        what = f"{where} is {dtype}; it must be {' or '.join(OUTPUT_TYPES[rules])}"
        yield ModelError("wrong-output-type", what, output=number, dtype=dtype)
    elif dtype == "uint8" and tensor.scale <= 0:
        what = f"{where} is uint8 without a scale for the whole tensor"
        yield ModelError("wrong-output-type", what, output=number, dtype=dtype)
