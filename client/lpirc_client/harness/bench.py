"""Measures a model on images: makes the result document, version 1, and shows it as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from lpirc_client.errors import ModelError, printable
from lpirc_client.harness import device, latency, validator
from lpirc_client.harness.confinement import confinement_with
from lpirc_client.harness.images import ImageFile, digest
from lpirc_client.harness.model import ModelFile, Signature, Tensor
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.outputs import Predictions
from lpirc_client.harness.passes import Passes, Repeat

RESULT_VERSION = 1
LEAST_IMAGES = 2
AT_THE_TOP = ("task", "preprocessing")
RUNTIME_NAMES = {"litert": "LiteRT", "onnxruntime": "ONNX Runtime"}
UNCHANGED = (Settings.mean, Settings.sigma)
PREDICTED = {"classification": "labels", "detection": "rows"}


def measure(
    model: ModelFile,
    images: Sequence[ImageFile],
    settings: Settings,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Run a model on images, time it and return the result document. `report` is called with progress lines.

    Raises ModelError: `too-few-images`, `bad-image`, any error of the validator or of the model's process.
    """
    if len(images) < LEAST_IMAGES:
        sentence = f"{len(images)} image: the first image is a warm-up that is not counted, so at least two are needed"
        raise ModelError("too-few-images", sentence, images=len(images))
    sha256 = digest(images)
    started = datetime.now(UTC)
    before = _Conditions.now()
    rules = validator.rules_of(model, settings)
    confinement = confinement_with(settings.delegate)
    with ModelProcess(model.path.name, settings.core, confinement) as process:
        signature = validator.load(process, model, settings)
        for problem in validator.problems(
            process.name, signature, settings.task, rules
        ):
            raise problem
        _check_preprocessing(process.name, signature, settings)
        passes = Passes(process, signature, images, settings, report)
        repeats = passes.repeats()
        energy_loop = passes.energy_loop()
    first = repeats[0]
    document: dict[str, Any] = {
        "result_version": RESULT_VERSION,
        "task": settings.task,
        "preprocessing": settings.preprocessing,
        "model": described(model, signature),
        "images": {"count": len(images), "sha256": sha256},
        "settings": {
            name: value
            for name, value in asdict(settings).items()
            if name not in AT_THE_TOP
        },
        "processed": first.processed,
        "stopped_by": first.stopped_by,
        **_timing(signature, passes, repeats),
        "device": _device(model, signature, settings, before),
        "confinement": {
            "confined": bool(process.confinement.prefix),
            "reason": process.confinement.reason,
        },
        "started_utc": started.isoformat(),
        **_answers(passes.predictions, settings),
        "energy": None,
    }
    return document if energy_loop is None else {**document, "energy_loop": energy_loop}


@dataclass(frozen=True)
class _Conditions:
    """The device's temperature in °C and the number of times it was throttled; None if unknown."""

    temperature_c: float | None
    throttled: int | None

    @classmethod
    def now(cls) -> _Conditions:
        return cls(device.temperature_c(), device.throttle_count())


def _check_preprocessing(
    name: str,
    signature: Signature,
    settings: Settings,
) -> None:
    is_float = signature.inputs[0].dtype == "float32"
    if not is_float and (settings.mean, settings.sigma) != UNCHANGED:
        what = "its input is uint8; --mean and --sigma are for float32"
        raise ModelError("bad-preprocessing", f"{name}: {what}")


def _timing(
    signature: Signature,
    passes: Passes,
    repeats: Sequence[Repeat],
) -> dict[str, Any]:
    counted_ns = [each.counted_ns for each in repeats]
    return {
        "latency": {
            **latency.summarize(counted_ns, repeats[0].first_ns),
            "processor_share": passes.processor_share(),
            "load_ms": signature.load_ms,
        },
        "timed": {
            "start_monotonic_s": passes.span_s[0],
            "end_monotonic_s": passes.span_s[-1],
        },
    }


def _device(
    model: ModelFile,
    signature: Signature,
    settings: Settings,
    before: _Conditions,
) -> dict[str, Any]:
    after = _Conditions.now()
    return {
        **device.device_facts(settings.core),
        "temperature_c_before": before.temperature_c,
        "temperature_c_after": after.temperature_c,
        "throttle_events": _difference(before.throttled, after.throttled),
        "runtime": RUNTIME_NAMES[model.runtime],
        "runtime_version": signature.runtime_version,
        "delegate": signature.delegate,
    }


def _answers(predictions: Predictions, settings: Settings) -> dict[str, Any]:
    return {
        "predictions": {PREDICTED[settings.task]: predictions.rows},
        "unusable": {
            "not_finite_images": predictions.not_finite,
            "inverted_boxes": predictions.inverted,
            "out_of_range_rows": predictions.out_of_range,
        },
    }


def described(model: ModelFile, signature: Signature) -> dict[str, Any]:
    """Return the value of `model` in the result document."""
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


def table(document: dict[str, Any]) -> str:
    """Return the document as a short table of two columns."""
    lines = _lines(document)
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def _lines(document: dict[str, Any]) -> list[tuple[str, str]]:
    model, ms, settings, device = (
        document[key] for key in ("model", "latency", "settings", "device")
    )
    unusable = document["unusable"]
    core = settings["core"]
    confinement = document["confinement"]
    size = f"{model['size_bytes']} bytes, input {model['input']['shape']}"
    images = f"{document['processed']} of {document['images']['count']}"
    outer = f"first {ms['first_ms']:.3f} (not counted), min {ms['min_ms']:.3f}, max {ms['max_ms']:.3f}"
    means = ", ".join(f"{mean:.3f}" for mean in ms["repeat_means_ms"])
    governor = device["governor"] or "unknown"
    lines = [
        ("model", f"{printable(model['file'])}, {size}"),
        ("task", f"{document['task']}, {document['preprocessing']}"),
        ("images", f"{images} (stopped by {document['stopped_by']})"),
        (
            "latency",
            f"{ms['mean_ms']:.3f} ms, mean of {ms['counted']} inferences; sd {ms['sd_ms']:.3f} ms",
        ),
        ("", f"p50 {ms['p50_ms']:.3f}, p90 {ms['p90_ms']:.3f}, p99 {ms['p99_ms']:.3f}"),
        ("", outer),
        ("load", f"{ms['load_ms']:.3f} ms"),
        (
            "repeats",
            f"{means} ms: {'stable' if ms['is_stable'] else 'not shown to be stable'}",
        ),
        (
            "device",
            f"{device['processor'] or device['machine']}, {device['cores']} cores, {device['os']}",
        ),
        ("", f"governor {governor}, temperature {_temperature(device)}"),
        (
            "runtime",
            f"{device['runtime']} {device['runtime_version']}, delegate {device['delegate']}",
        ),
        ("", f"threads {settings['threads']}, core {'any' if core is None else core}"),
        (
            "confined",
            "yes"
            if confinement["confined"]
            else f"no: {printable(confinement['reason'])}",
        ),
    ]
    if any(unusable.values()):
        where = f"in {len(unusable['not_finite_images'])} images, {unusable['inverted_boxes']} inverted boxes"
        lines.append(("left out", f"numbers that are not finite {where},"))
        lines.append(("", f"{unusable['out_of_range_rows']} rows out of range"))
    return lines


def _temperature(device: dict[str, Any]) -> str:
    before = device["temperature_c_before"]
    after = device["temperature_c_after"]
    return (
        "unknown"
        if before is None or after is None
        else f"{before:.1f} to {after:.1f} °C"
    )
