"""AIoTBench: valid images and valid operations per second of a device, summed over a table of tests.

A test is a model in one implementation on one device, with its top-1 accuracy and its mean time per image.
VIPS = sum of accuracy / time (1/s), VOPS = sum of accuracy x FLOPs / time (GFLOP/s here); a missing test adds 0.
Images are cropped to the central square of the shorter side; the device cools for five minutes between two tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Track, Verdict
from referee.errors import RefereeError

COOLDOWN_S = 300.0


@dataclass(frozen=True)
class SuiteTest:
    """One test: accuracy in percent, and mean time per image in ms, above 0; both None for a missing test."""

    device: str
    implementation: str
    model: str
    accuracy_percent: float | None
    time_ms: float | None

    @property
    def images_per_s(self) -> float:
        """Valid images per second: accuracy (0..1) divided by seconds per image; 0 for a missing test."""
        if self.accuracy_percent is None or self.time_ms is None:
            return 0.0
        return valid_images_per_s(self.accuracy_percent, self.time_ms)


@dataclass(frozen=True)
class SuiteScore:
    """A device's scores: valid images per second, and valid GFLOP per second.

    `missing` are the tests, as "implementation model", that are not in the sums, because they
    have no figures, or the table has them only for another device.
    """

    device: str
    vips: float
    vops_gflops: float
    missing: tuple[str, ...] = ()


def valid_images_per_s(accuracy_percent: float, time_ms: float) -> float:
    """Return valid images per second from accuracy in percent and time in ms, above 0."""
    return accuracy_percent / 100 / (time_ms / 1000)


def vips(tests: Iterable[SuiteTest]) -> float:
    """Return valid images per second (VIPS): the sum of accuracy / time."""
    return math.fsum(test.images_per_s for test in tests)


def vops_gflops(tests: Iterable[SuiteTest], mflops: Mapping[str, float]) -> float:
    """Return valid GFLOP per second: the sum of accuracy x FLOPs / time; `mflops` has the MFLOPs of one image by model.

    Raises RefereeError `unknown-flops`.
    """
    return math.fsum(test.images_per_s * _mflops(test, mflops) / 1000 for test in tests)


def scores(
    tests: Sequence[SuiteTest], mflops: Mapping[str, float]
) -> tuple[SuiteScore, ...]:
    """Return the scores of every device, in order of first appearance. Raises RefereeError `unknown-flops`."""
    by_device: dict[str, list[SuiteTest]] = {}
    for test in tests:
        by_device.setdefault(test.device, []).append(test)
    names = {test: f"{test.implementation} {test.model}" for test in tests}
    found = []
    for device, own in by_device.items():
        done = {names[test] for test in own if test.time_ms is not None}
        missing = tuple(
            name for name in dict.fromkeys(names.values()) if name not in done
        )
        found.append(SuiteScore(device, vips(own), vops_gflops(own, mflops), missing))
    return tuple(found)


def _mflops(test: SuiteTest, mflops: Mapping[str, float]) -> float:
    try:
        return mflops[test.model]
    except KeyError:
        raise RefereeError(
            "unknown-flops",
            f"The FLOPs of the model {test.model!r} are unknown; add them to the table of FLOPs.",
            model=test.model,
        ) from None


@dataclass(frozen=True, kw_only=True)
class SuiteTrack(Track):
    """The value of a run is its contribution to VIPS, which `scores` adds up; a single run has no rank."""

    def measure(self, result: Measured) -> Verdict:
        """Judge a test by its contribution to VIPS."""
        value = valid_images_per_s(result.accuracy_percent, result.latency_ms)
        run = f"{result.accuracy_percent:.3f} % at {result.latency_ms:.3f} ms"
        return self.verdict(result, value, f"{run} adds {value:.3f} valid images/s.")


AIOTBENCH = SuiteTrack(
    name="aiotbench",
    title="AIoTBench",
    metric="VIPS, valid images/s",
    task="classification",
    preprocessing="central-square",
    accuracy="top-1",
    is_suite=True,
)
