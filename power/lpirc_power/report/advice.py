"""Advice for a recording that is too short for its meter."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.energy.energy_budget import AGE_NAME
from lpirc_power.report.edge_cost import edge_shares
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.rounded import cost_words

WORTH: Final = 0.01
"""Part of the energy that starting and stopping, and the age of a counter's values, may cost."""
MOST_TIMES: Final = 1_000_000
UNKNOWN_COST: Final = "more than 1 % of its energy"
EDGES: Final = "the edges of its time"
"""What costs too much where its share is unknown."""


def is_short(recorded: Recorded) -> bool:
    """Return True if the edges may cost more than 1 % of an energy, in a recording that ran to its end."""
    if recorded.no_energy or recorded.energy.ended:
        return False
    return recorded.energy.start_stop_share > WORTH


def times_to_repeat(recorded: Recorded) -> int | None:
    """Return how many times a command must run in one recording for its edges to cost less than 1 % of its energy.

    None if one run is enough, or if the recording has no command.
    """
    record = recorded.record
    if record is None or not record.command or not is_short(recorded):
        return None
    return times_for(recorded.energy.start_stop_share, WORTH)


def times_for(share: float, wanted: float) -> int:
    """Return how many times as much work makes a cost of a `share` of the energy one of less than `wanted` of it."""
    times = math.floor(share / wanted) + 1 if math.isfinite(share) else MOST_TIMES
    return min(times, MOST_TIMES)


def seconds_to_record(recorded: Recorded) -> int | None:
    """Return for how many seconds to record for its edges to cost less than 1 %; None if it lasted that long."""
    if not is_short(recorded):
        return None
    edges = recorded.energy.edges
    return math.floor((edges.most_s + edges.peak * edges.age_s) / WORTH) + 1


def advice(recorded: Recorded) -> str | None:
    """Return the advice as a sentence; None if there is none."""
    seconds = seconds_to_record(recorded)
    if seconds is None:
        return None
    what = "The recording"
    then = f"Record for {seconds} s"
    times = times_to_repeat(recorded)
    if times is not None:
        what = "COMMAND"
        then = f"Run it {times} times in a loop"
    lasted_s = recorded.measured.elapsed_s
    shares = edge_shares(recorded.budget)
    names = " and ".join(shares) or EDGES
    cost = cost_words(math.fsum(shares.values())) if shares else UNKNOWN_COST
    they_cost = "it costs" if [*shares] == [AGE_NAME] else "they cost"
    return (
        f"{what} is short for this meter: in {lasted_s:.3g} s, {names} may cost {cost}. {then}: then "
        f"{they_cost} less than 1 %."
    )


def advised(recorded: Recorded) -> list[str]:
    """Return the advice as a line for people; none if there is none."""
    sentence = advice(recorded)
    return [] if sentence is None else [f"{'advice':16} {sentence}"]
