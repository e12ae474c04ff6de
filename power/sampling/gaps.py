"""What a lost link has cost, told from the readings before and after it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from power.energy.continuity import began_anew, sums
from power.meter import Identity, IntegratorState, Reading

TIME_SLACK_S: Final = 2.0
"""TIME is in whole seconds, before and after the gap."""


def gap_sentence(identity: Identity, before: Reading | None, after: Reading, changes: Sequence[str]) -> str:
    """Return how long nothing was read, what became of the integrator, and what in the meter differs now."""
    since = (
        "" if before is None else f" after {after.monotonic_s - before.monotonic_s:.1f} s without a reading"
    )
    differs = f" It is not set up as before: {'; '.join(changes)}." if changes else ""
    return f"The meter {identity} is back{since}; {integrator_since(before, after)}.{differs}"


def integrator_since(before: Reading | None, after: Reading) -> str:
    """Return what became of the integrator, as the end of a sentence."""
    if after.state is IntegratorState.RESET:
        return "its integrator is reset: it was switched off, or somebody reset it, and the energy before is lost"
    now = sums(after)
    if before is not None and began_anew(before, after):
        return f"its integrator began anew ({sums(before)} before, {now} now), and the energy before is lost"
    if after.state is not IntegratorState.START:
        return f"its integrator has ended ({after.state.value}) with {now}"
    missed_s = 0.0 if before is None else _missed_s(before, after)
    if missed_s > TIME_SLACK_S:
        return f"its integrator stood still for some {missed_s:.0f} s and runs, with {now}"
    return f"its integrator went on, with {now}"


def _missed_s(before: Reading, after: Reading) -> float:
    if before.state is not IntegratorState.START:
        return 0.0
    return (after.monotonic_s - before.monotonic_s) - (after.integrator_s - before.integrator_s)
