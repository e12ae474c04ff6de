"""Advice for a recording whose command is too short for its meter."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.report.recording_report import Recorded

WORTH: Final = 0.01
"""Part of the energy that starting and stopping may cost."""
MOST_TIMES: Final = 1_000_000


def times_to_repeat(recorded: Recorded) -> int | None:
    """Return how many times a command must run in one recording for start and stop to cost less than 1 % of its energy.

    None if one run is enough, or if the recording has no command.
    """
    record = recorded.record
    share = recorded.energy.start_stop_share
    if record is None or not record.command or recorded.no_energy or share <= WORTH:
        return None
    if recorded.energy.ended:
        return None
    times = math.floor(share / WORTH) + 1 if math.isfinite(share) else MOST_TIMES
    return min(times, MOST_TIMES)


def advice(recorded: Recorded) -> str | None:
    """Return the advice as a sentence; None if there is none."""
    times = times_to_repeat(recorded)
    if times is None:
        return None
    share = 100.0 * recorded.energy.start_stop_share
    return (
        f"COMMAND is short for this meter: in {recorded.measured.elapsed_s:.3g} s, start and stop may cost {share:.3g} "
        f"% of its energy. Run it {times} times in a loop: then they cost less than 1 %."
    )
