"""Measured runs with defaults."""

from __future__ import annotations

from typing import Any

from lpirc_tracks import Entry, Measured


def measured(
    accuracy_percent: float = 50.0,
    latency_ms: float = 30.0,
    **fields: Any,
) -> Measured:
    """Ten images, all processed, each in the mean time."""
    images = fields.pop("images", 10)
    processed = fields.pop("processed", images)
    total_s = fields.pop("total_s", max(processed, 1) * latency_ms / 1000)
    return Measured(accuracy_percent, latency_ms, images, processed, total_s, **fields)


def entry(
    name: str,
    submitted: float,
    *numbers: float,
    **fields: Any,
) -> Entry:
    return Entry(name, submitted, measured(*numbers, **fields))
