"""What the daemon writes and answers about samples, in the protocol's own words. Pure.

The forms are those of public logs (mlcommons/inference_results_v3.0) and of the harness that reads them
(mlcommons/power-dev); the order of the figures in an answer is the one that SPEC CPU2017's client reads.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from power.meter import Reading
from power.wt300.range_fit import flagged

LARGEST_UNCERTAINTY: Final = 0.01
"""The part of its power that a sample's limit of error may be; MLPerf accepts no more."""
QUANTITIES: Final = ("Watts", "Volts", "Amps", "PF")


def stamp(utc: datetime) -> str:
    """Return a time as every line has it; the harness reads all its logs as UTC."""
    return f"{utc:%m-%d-%Y %H:%M:%S}.{utc.microsecond // 1000:03}"


@dataclass(frozen=True)
class Sample:
    """A reading, and its limit of error as a part of its power; None if that is not known."""

    reading: Reading
    uncertainty: float | None

    @property
    def values(self) -> dict[str, float]:
        """The QUANTITIES that are known: none if the reading was over range or clipped."""
        found = self.reading
        figures = (found.power_w, found.voltage_v, found.current_a, found.power_factor)
        known = zip(QUANTITIES, () if flagged(found) else figures, strict=False)
        return {name: figure for name, figure in known if math.isfinite(figure)}

    def line(self) -> str:
        """Return the sample with its time, as RL and the log have it: -1 for what is not known."""
        figures = (f"{name},{self.values.get(name, -1):f}" for name in QUANTITIES)
        return ",".join(("Time", stamp(self.reading.utc), *figures))

    def complaints(self, model: str) -> Iterator[str]:
        """Give what there is to say against the sample, in the sentences that the harness looks for."""
        if len(self.values) < len(QUANTITIES):
            yield f"ERROR: Bad watts reading nan from {model}: no data, over range, or clipped at the peaks"
        if self.uncertainty is None:
            yield "ERROR: Can't evaluate uncertainty of this sample!"
        elif self.uncertainty > LARGEST_UNCERTAINTY:
            yield f"WARNING: Uncertainty {self.uncertainty:.2%}, which is above 1.00% limit for the last sample!"


def summary(name: str, samples: Sequence[Sample], missed: int) -> str:
    """Return mean, least and largest of one quantity; then the number of samples, of bad or missed, of good ones."""
    known = [sample.values[name] for sample in samples if name in sample.values]
    return f"{name},{_spread(known)},{len(samples)},{missed + len(samples) - len(known)},{len(known)}"


def uncertainties(samples: Sequence[Sample]) -> str:
    """Return mean, least and largest limit of error; then the number of samples, too uncertain, good, unknown."""
    known = [sample.uncertainty for sample in samples if sample.uncertainty is not None]
    above = sum(value > LARGEST_UNCERTAINTY for value in known)
    counts = f"{len(samples)},{above},{len(known) - above},{len(samples) - len(known)}"
    return f"Uncertainty,{_spread(known)},{counts}"


def _spread(values: Sequence[float]) -> str:
    mean, least, most = (statistics.fmean(values), min(values), max(values)) if values else (-1, -1, -1)
    return f"{mean:f},{least:f},{most:f}"
