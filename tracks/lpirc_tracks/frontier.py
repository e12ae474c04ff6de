"""The frontier is the accuracy to expect at a latency: A = k log t + a0. Evaluates, checks and fits it. Pure.

t is in ms, A in percent. Source: the frontier of the OVIC organizers, whose published constants are for the natural
log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from referee.errors import RefereeError

BASES = {"e": math.e, "2": 2.0, "10": 10.0}
LOW_FACTOR = 0.8
HIGH_FACTOR = 1.2
"""Upper factor on the target; latencies between the lower and the upper factor are valid."""
_FEW = 4  # with fewer points, two constants leave hardly a residual


@dataclass(frozen=True)
class Frontier:
    """a(t) = k log t + a0 in percent; `base` is the base of the log."""

    k: float
    a0: float
    base: float = math.e

    def at(self, latency_ms: float) -> float:
        """Return the accuracy in percent at a latency above 0 ms. Raises RefereeError `bad-latency`."""
        if not (math.isfinite(latency_ms) and latency_ms > 0):
            sentence = f"A frontier needs a latency above 0 ms, not {latency_ms}."
            raise RefereeError("bad-latency", sentence, value=str(latency_ms))
        return self.k * math.log(latency_ms) / math.log(self.base) + self.a0

    def doubt(self, *latencies_ms: float) -> str | None:
        """Return a warning about the first latency at which the accuracy is outside 0..100 %, or None."""
        for latency_ms in latencies_ms:
            accuracy = self.at(latency_ms)
            if not 0 <= accuracy <= 100:
                return (
                    f"The frontier {self.sentence} is implausible: it expects {accuracy:.2f} % at {latency_ms:g} ms, "
                    "outside 0..100; fit another one with: referee frontier fit FILE."
                )
        return None

    @property
    def sentence(self) -> str:
        """Return the formula with its numbers."""
        name = next(
            (name for name, base in BASES.items() if base == self.base),
            f"{self.base:g}",
        )
        log = "ln t" if name == "e" else f"log{name} t"
        return f"a(t) = {self.k:.6g} {log} {'-' if self.a0 < 0 else '+'} {abs(self.a0):.6g}"


@dataclass(frozen=True)
class Fit:
    """A fitted frontier; `residuals` are accuracy minus frontier, in percent, for each point.

    `rms` is their root mean square. `r_squared` is None if all accuracies are equal.
    """

    frontier: Frontier
    residuals: tuple[float, ...]
    rms: float
    r_squared: float | None
    warnings: tuple[str, ...]


def fit(
    latencies_ms: Sequence[float],
    accuracies: Sequence[float],
    base: float = math.e,
    target_ms: float | None = None,
) -> Fit:
    """Return the least-squares frontier of N points: latencies in ms, above 0, and accuracies in percent.

    The warnings check the frontier from 0.8 to 1.2 of `target_ms`, or without one at the shortest and longest latency.
    Raises RefereeError `no-frontier` unless there are at least two different latencies.
    """
    logs = np.log(np.asarray(latencies_ms, dtype=np.float64)) / math.log(base)
    values = np.asarray(accuracies, dtype=np.float64)
    if len(logs) == 0 or not float(np.ptp(logs)) > 0:
        many = (
            f"all {len(logs)} points have the latency {latencies_ms[0]:g} ms"
            if len(logs)
            else "there are no points"
        )
        raise RefereeError(
            "no-frontier",
            f"A frontier needs points at two latencies or more; {many}.",
        )
    shifts = logs - logs.mean()  # centred: latencies close together keep their digits
    k = float(shifts @ (values - values.mean()) / (shifts @ shifts))
    frontier = Frontier(k, float(values.mean() - k * logs.mean()), base)
    residuals = values - values.mean() - k * shifts
    around_mean = float(((values - values.mean()) ** 2).sum())
    left = float((residuals**2).sum())
    return Fit(
        frontier,
        tuple(residuals.tolist()),
        math.sqrt(left / len(values)),
        1 - left / around_mean
        if around_mean > 0 and float(np.ptp(values)) > 0
        else None,
        _warnings(frontier, latencies_ms, accuracies, target_ms),
    )


def _warnings(
    frontier: Frontier,
    latencies_ms: Sequence[float],
    accuracies: Sequence[float],
    target_ms: float | None,
) -> tuple[str, ...]:
    found = []
    highest = max(accuracies)
    if 0 < highest <= 1:
        found.append(
            f"No accuracy is above 1 %: are they shares of 1? Write {100 * highest:g} for {highest:g}."
        )
    count = len(latencies_ms)
    low = min(latencies_ms)
    high = max(latencies_ms)
    if count < _FEW:
        found.append(
            f"{count} points are few for two constants: their residuals mean little."
        )
    if not frontier.k > 0:
        found.append(
            f"k = {frontier.k:.6g} must be above 0: on this frontier, slower models are not more accurate."
        )
    if target_ms is not None and not low <= target_ms <= high:
        found.append(
            f"The target {target_ms:g} ms lies outside the points' {low:g} to {high:g} ms."
        )
    judged = (
        (low, high)
        if target_ms is None
        else tuple(f * target_ms for f in (1, LOW_FACTOR, HIGH_FACTOR))
    )
    doubt = frontier.doubt(*judged)
    return (*found, doubt) if doubt else tuple(found)
