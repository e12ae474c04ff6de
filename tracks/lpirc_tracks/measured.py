"""The figures of one run of one model over a test set, as input to a track. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from referee.errors import ModelFault

LEAST = 1e-9
MOST = 1e12
"""LEAST and MOST bound a time or an energy: beyond these bounds, a quotient may overflow."""


@dataclass(frozen=True)
class Measured:
    """One run: `accuracy_percent` over ALL `images` (one not processed counts as wrong), mean `latency_ms`.

    `total_s` is the total time of all counted inferences, `longest_ms` that of the longest one (None if unknown), and
    `energy_wh` the energy of the run (None without a meter). Raises ModelFault `bad-measurement` for impossible
    numbers, so a rule never sees NaN, infinities, or a time of 0; times and energies are between 1e-9 and 1e12.
    """

    accuracy_percent: float
    latency_ms: float
    images: int
    processed: int
    total_s: float
    longest_ms: float | None = None
    energy_wh: float | None = None

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("accuracy_percent", self.accuracy_percent, 0.0, 100.0),
            ("images", self.images, 1, math.inf),
            ("processed", self.processed, 0, self.images),
        ):
            if not (math.isfinite(value) and least <= value <= most):
                words = (
                    f"between {least:g} and {most:g}"
                    if most < math.inf
                    else "at least 1"
                )
                raise _bad(name, value, words)
        for name, value in (
            ("latency_ms", self.latency_ms),
            ("total_s", self.total_s),
            ("longest_ms", 1.0 if self.longest_ms is None else self.longest_ms),
            ("energy_wh", 1.0 if self.energy_wh is None else self.energy_wh),
        ):
            if not LEAST <= value <= MOST:  # false for NaN
                raise _bad(name, value, f"above 0, between {LEAST:g} and {MOST:g}")

    @property
    def frames_per_s(self) -> float:
        """Images per second of inference, not counting the first image, which is a warm-up."""
        return 1000 / self.latency_ms if self.processed else 0.0


def _bad(name: str, value: float, words: str) -> ModelFault:
    return ModelFault(
        "bad-measurement",
        f"{name} = {value} must be {words}.",
        name=name,
        value=str(value),
    )
