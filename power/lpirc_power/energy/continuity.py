"""Finds out whether the integrator lost energy during a recording, also while the link was lost. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np

from lpirc_power.energy.reading_columns import chosen, column
from lpirc_power.meter import Identity, IntegratorState, Reading

AHEAD_S: Final = 2.0
"""Allowed excess of TIME over the window: it is in whole seconds, and the integrator starts a little early."""
TIME_SLACK_S: Final = 2.0
"""Allowed error of a difference of two TIME values, each in whole seconds."""
HELD_S: Final = 3.0
"""Longest standstill of TIME while the integrator runs; after a longer one, the meter is holding its values."""
COUNTED_PAUSE_S: Final = 1.0
"""Maximum time that one pause between two readings adds to a standstill, since a single pause proves nothing."""


class EnergyLoss(StrEnum):
    """Ways in which a meter loses energy.

    After CUT_SHORT no more is counted; all others lose the energy counted before.
    """

    RESET = "meter-reset"
    BEGAN_AGAIN = "began-again"
    CUT_SHORT = "cut-short"

    @property
    def words(self) -> str:
        """Say what happened to the energy, phrased to follow "The energy ..."."""
        if self is EnergyLoss.RESET:
            return "is lost: the meter's integrator was reset, or the meter was switched off"
        if self is EnergyLoss.BEGAN_AGAIN:
            return "is lost: the meter's integrator was started again"
        return "is not complete: the meter's power failed while it integrated"


def loss_between(before: Reading | None, after: Reading) -> EnergyLoss | None:
    """Return how energy was lost before `after`, a reading of a started meter; None if none was lost.

    `before` is an earlier reading of the same energy, if there is one.
    """
    if after.state is IntegratorState.RESET:
        return EnergyLoss.RESET
    if before is not None and (
        before.state is IntegratorState.RESET or restarted(before, after)
    ):
        return EnergyLoss.BEGAN_AGAIN
    return EnergyLoss.CUT_SHORT if after.state is IntegratorState.ERROR else None


def why_lost(readings: Sequence[Reading], start_s: float) -> str | None:
    """Return, as one sentence, why the last reading's WH is not the energy since `start_s`; None if it is.

    The last reading gives the run's energy. Only a comparison with earlier readings reveals a reset, whether by a power
    cycle, by a person at the panel, or by another program that records with the same meter.
    """
    final = readings[-1]
    if final.state is IntegratorState.RESET:
        return "its integrator was reset, or it was switched off, during the recording"
    if not (math.isfinite(final.energy_wh) and math.isfinite(final.integrator_s)):
        return f"at the end its integrator shows {final.energy_wh} Wh in {final.integrator_s} s"
    has_wh = np.isfinite(column(readings, "energy_wh"))
    has_time = np.isfinite(column(readings, "integrator_s"))
    known = chosen(readings, has_wh & has_time)
    for before, after in pairwise(known):
        if restarted(before, after):
            return (
                f"its integrator started again during the recording, as when another program uses it ({sums(before)}, "
                f"then {sums(after)})"
            )
    sinces_s = column(known, "monotonic_s") - start_s
    ahead = chosen(known, column(known, "integrator_s") > sinces_s + AHEAD_S)
    if not ahead:
        return None
    since_s = ahead[0].monotonic_s - start_s
    return (
        "its integrator was started before this recording began "
        f"(TIME is {ahead[0].integrator_s:g} s, {since_s:.1f} s after the beginning)"
    )


def restarted(before: Reading, after: Reading) -> bool:
    """Return True if the integrator was reset between two readings."""
    # Negative power lowers the energy, and noise around 0 W lowers it a little. After a reset it starts at 0.
    drawing = not (before.power_w < 0 or after.power_w < 0)
    halved = drawing and after.energy_wh < before.energy_wh / 2.0
    reset = after.state is IntegratorState.RESET is not before.state
    return reset or halved or after.integrator_s < before.integrator_s


def held(readings: Sequence[Reading], final: Reading) -> str | None:
    """Return a sentence if the meter showed held (frozen) values around its stop; None if it did not.

    `readings` are those before the stop. The meter held its values if TIME stood at its final value for more than
    `HELD_S` while the integrator was running.
    """
    standing = [
        one.monotonic_s
        for one in readings
        if one.integrator_s == final.integrator_s and _runs(one)
    ]
    stood_s = sum(
        min(after_s - before_s, COUNTED_PAUSE_S)
        for before_s, after_s in pairwise(standing)
    )
    if stood_s <= HELD_S:
        return None
    return (
        f"TIME stood at {final.integrator_s:g} s while the meter integrated: its values are frozen, so its energy is "
        "unknown; end HOLD at its panel (`meter unlock` unlocks the keys)."
    )


def _runs(reading: Reading) -> bool:
    return reading.state is IntegratorState.START


def sums(reading: Reading) -> str:
    """Return a reading's WH and TIME in words."""
    return f"{reading.energy_wh:.6g} Wh in {reading.integrator_s:.0f} s"


def gap_sentence(
    identity: Identity, before: Reading | None, after: Reading, changes: Sequence[str]
) -> str:
    """Say how long there was no reading, what happened to the integrator, and which settings now differ."""
    since = (
        ""
        if before is None
        else f" after {after.monotonic_s - before.monotonic_s:.1f} s without a reading"
    )
    differs = (
        f" Its settings differ from before: {'; '.join(changes)}." if changes else ""
    )
    return f"The meter {identity} is back{since}; {integrator_since(before, after)}.{differs}"


def integrator_since(before: Reading | None, after: Reading) -> str:
    """Say what happened to the integrator between two readings, as the end of a sentence."""
    if after.state is IntegratorState.RESET:
        return "its integrator is reset: the meter was switched off, or reset by hand, and the energy before is lost"
    now = sums(after)
    if before is not None and restarted(before, after):
        return f"its integrator started again ({sums(before)} before, {now} now), and the energy before is lost"
    if after.state is not IntegratorState.START:
        return f"its integrator has ended ({after.state.value}) with {now}"
    missed_s = 0.0 if before is None else _missed_s(before, after)
    if missed_s > TIME_SLACK_S:
        return f"its integrator stood still for some {missed_s:.0f} s and runs again, with {now}"
    return f"its integrator went on, with {now}"


def _missed_s(before: Reading, after: Reading) -> float:
    if before.state is not IntegratorState.START:
        return 0.0
    return (after.monotonic_s - before.monotonic_s) - (
        after.integrator_s - before.integrator_s
    )
