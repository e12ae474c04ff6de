"""Decides when to log out for the best mAP / Wh, by the provisional figures of a run. Model: docs/contestants.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

MINUTE_S = 60.0
LOSS = 0.05
"""Minimum predicted loss in the next minute, as a share of the score. Less may be noise of the provisional mAP."""
STEP = 0.01
"""Rounding step of a provisional mAP. A change within a minute that rounding can explain is ignored."""


@dataclass(frozen=True)
class Sample:
    """The provisional figures `at_s` seconds after the log-in, with `left` images not answered yet."""

    at_s: float
    left: int
    map: float
    energy_wh: float

    @property
    def score(self) -> float:
        """Return the score, mAP / Wh, of a log-out at that moment."""
        return self.map / self.energy_wh


def expected_score(samples: Sequence[Sample], ahead_s: float) -> float:
    """Return the score `ahead_s` after the last sample, if the run goes on at its pace until no image is left."""
    now = samples[-1]
    then = [samples[0], *(one for one in samples if one.at_s <= now.at_s - MINUTE_S)][
        -1
    ]
    past_s = now.at_s - then.at_s
    answered = then.left - now.left
    if past_s <= 0:
        return now.score
    left_s = now.left * past_s / answered if answered > 0 else ahead_s
    share = min(ahead_s, left_s) / past_s
    energy_wh = now.energy_wh + share * max(0.0, now.energy_wh - then.energy_wh)
    return min(1.0, now.map + share * (now.map - then.map)) / energy_wh


def is_over(samples: Sequence[Sample], least_s: float) -> bool:
    """Return True if it is time to log out: both last samples predicted a clear loss in the next minute.

    It is never time before `least_s`.
    """
    if len(samples) < 2 or samples[-1].at_s < least_s:
        return False
    return _expects_loss(samples[:-1]) and _expects_loss(samples)


def _expects_loss(samples: Sequence[Sample]) -> bool:
    now = samples[-1]
    if now.map < STEP:
        return False
    clear = LOSS + STEP / now.map
    return expected_score(samples, MINUTE_S) < (1 - clear) * now.score


def account(samples: Sequence[Sample], left_s: float) -> dict[str, float]:
    """Compare the last sample with the best one seen, and with going on for the `left_s` of the window."""
    now = samples[-1]
    best = max(samples, key=lambda one: one.score)
    seen = {
        "stopped_s": now.at_s,
        "score": now.score,
        "best_s": best.at_s,
        "best_score": best.score,
    }
    return {**seen, "expected_at_end": expected_score(samples, left_s)}
