"""A bench: a model measured on images; its result document, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from lpirc_client.harness import device, latency, validator
from lpirc_client.harness.failures import ModelError
from lpirc_client.harness.images import ImageFile, digest
from lpirc_client.harness.model import ModelFile, Signature, Tensor
from lpirc_client.harness.options import Settings
from lpirc_client.harness.passes import Passes, Predictions, Repeat, Told
from lpirc_client.harness.process import ModelProcess

RESULT_VERSION = 1
LEAST_IMAGES = 2
SETTINGS = ("threads", "core", "budget_s", "memory_mb", "timeout_s", "repeats", "cooldown_s", "energy_loop_s")
PREDICTED = {"classification": "labels", "detection": "rows"}


def measure(model: ModelFile, images: Sequence[ImageFile], settings: Settings, tell: Told) -> dict[str, Any]:
    """Run a model on images and time it; the result document. `tell` takes lines about the progress.

    Raises ModelError: `too-few-images`, `bad-image`, what the validator refuses, what the model's process dies of.
    """
    if len(images) < LEAST_IMAGES:
        sentence = f"{len(images)} image: the first is warm-up and not counted, so at least two are needed"
        raise ModelError("too-few-images", sentence, images=len(images))
    sha256, started = digest(images), datetime.now(UTC)
    temperature_c, throttled = device.temperature_c(), device.throttle_count()
    with ModelProcess(model.path.name, settings.core) as process:
        signature = validator.load(process, model, settings)
        for problem in validator.problems(process.name, signature, settings.task):
            raise problem
        passes = Passes(process, signature, images, settings, tell)
        repeats, energy_loop = passes.repeats(), passes.energy_loop()
    document: dict[str, Any] = {
        "result_version": RESULT_VERSION,
        "task": settings.task,
        "preprocessing": settings.preprocessing,
        "model": described(model, signature),
        "images": {"count": len(images), "sha256": sha256},
        "settings": {name: value for name, value in asdict(settings).items() if name in SETTINGS},
        **_timed(repeats, passes.span_s),
        "device": {
            **device.device_facts(settings.core),
            "temperature_c_before": temperature_c,
            "temperature_c_after": device.temperature_c(),
            "throttle_events": _difference(throttled, device.throttle_count()),
            **_runtime(signature),
        },
        "started_utc": started.isoformat(),
        **_predicted(passes.predictions, settings.task),
        "energy": None,
    }
    return document if energy_loop is None else {**document, "energy_loop": energy_loop}


def described(model: ModelFile, signature: Signature) -> dict[str, Any]:
    """The document's `model`."""
    return {
        "file": model.path.name,
        "sha256": model.sha256,
        "size_bytes": len(model.data),
        "input": _tensor(signature.inputs[0]),
        "outputs": [{"name": one.name, **_tensor(one)} for one in signature.outputs],
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": tensor.dtype}


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _timed(repeats: Sequence[Repeat], span_s: Sequence[float]) -> dict[str, Any]:
    first = repeats[0]
    return {
        "processed": first.processed,
        "stopped_by": first.stopped_by,
        "latency": latency.summarize([each.counted_ns for each in repeats], first.first_ns),
        "timed": {"start_monotonic_s": span_s[0], "end_monotonic_s": span_s[-1]},
    }


def _runtime(signature: Signature) -> dict[str, str]:
    return {"runtime": "LiteRT", "runtime_version": signature.runtime_version, "delegate": signature.delegate}


def _predicted(predictions: Predictions, task: str) -> dict[str, Any]:
    return {
        "predictions": {PREDICTED[task]: predictions.rows},
        "unusable": {
            "not_finite_images": predictions.not_finite,
            "inverted_boxes": predictions.inverted,
            "out_of_range_rows": predictions.out_of_range,
        },
    }
