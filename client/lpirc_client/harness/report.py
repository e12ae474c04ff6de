"""A result document in words, for people."""

from __future__ import annotations

from typing import Any

from lpirc_client.harness.failures import printable


def table(document: dict[str, Any]) -> str:
    """A short table of two columns."""
    lines = _rows(document)
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def _rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    model, taken, settings, device = (document[key] for key in ("model", "latency", "settings", "device"))
    steady = "stable" if taken["is_stable"] else "not shown to be stable"
    unusable = document["unusable"]
    rows = [
        (
            "model",
            f"{printable(model['file'])}, {model['size_bytes']} bytes, input {model['input']['shape']}",
        ),
        ("task", f"{document['task']}, {document['preprocessing']}"),
        (
            "images",
            f"{document['processed']} of {document['images']['count']} (stopped by {document['stopped_by']})",
        ),
        ("latency", f"{taken['mean_ms']:.3f} ms on average of {taken['counted']}, sd {taken['sd_ms']:.3f}"),
        ("", f"p50 {taken['p50_ms']:.3f}, p90 {taken['p90_ms']:.3f}, p99 {taken['p99_ms']:.3f}"),
        (
            "",
            f"first {taken['first_ms']:.3f} (not counted), min {taken['min_ms']:.3f}, max {taken['max_ms']:.3f}",
        ),
        ("repeats", f"{', '.join(f'{mean:.3f}' for mean in taken['repeat_means_ms'])} ms: {steady}"),
        ("device", f"{device['processor'] or device['machine']}, {device['cores']} cores, {device['os']}"),
        ("", f"governor {device['governor'] or 'not told'}, temperature {_temperature(device)}"),
        ("runtime", f"{device['runtime']} {device['runtime_version']}, delegate {device['delegate']}"),
        (
            "",
            f"threads {settings['threads']}, core {'any' if settings['core'] is None else settings['core']}",
        ),
    ]
    if any(unusable.values()):
        images, boxes = len(unusable["not_finite_images"]), unusable["inverted_boxes"]
        rows.append(("left out", f"numbers that are not finite in {images} images, {boxes} inverted boxes,"))
        rows.append(("", f"{unusable['out_of_range_rows']} rows out of range"))
    return rows


def _temperature(device: dict[str, Any]) -> str:
    before, after = device["temperature_c_before"], device["temperature_c_after"]
    return "not told" if before is None or after is None else f"{before:.1f} to {after:.1f} °C"
