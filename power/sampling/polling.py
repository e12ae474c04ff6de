"""The updates of a meter, one after the other: when to ask for a sample, and which samples are new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from power.meter import Reading

POLLS_PER_UPDATE: Final = 10
LONGEST_POLL_S: Final = 0.05
EXPECTED_PART: Final = 0.85
"""Part of an update interval that surely passes before the next update: no need to ask earlier."""
OVERDUE_UPDATES: Final = 1.5
"""After so many intervals without news, other values tell of an update too: another client may have read its bit."""
RETRY_S: Final = 0.25
"""Pause between attempts to reach a lost meter."""

Sample = tuple[Reading, bool]
"""A reading, and whether the meter says that it is a new one."""


def updates(
    read: Callable[[], Sample | None],
    interval_s: float,
    pause: Callable[[float], object],
    *,
    told: bool = True,
) -> Iterator[Reading]:
    """Give each update once, until `pause` returns something true; `read` returns None while the meter is lost.

    Not `told` of its updates, as an onlooker is, it takes other values for one, and the same ones again when an update
    is overdue.
    """
    last: Reading | None = None
    while True:
        sample = read()
        if sample is None:
            pause_s = RETRY_S
        elif sample[1] or _is_update(sample[0], last, interval_s, told):
            last = sample[0]
            yield last
            pause_s = interval_s * EXPECTED_PART
        else:
            pause_s = min(interval_s / POLLS_PER_UPDATE, LONGEST_POLL_S)
        if pause(pause_s):
            return


def _is_update(reading: Reading, last: Reading | None, interval_s: float, told: bool) -> bool:
    if last is None:
        return not told
    overdue = reading.monotonic_s - last.monotonic_s > OVERDUE_UPDATES * interval_s
    differs = _values(reading) != _values(last)
    return (overdue and differs) if told else (overdue or differs)


def _values(reading: Reading) -> str:
    # As text, since NaN does not equal itself.
    return repr(
        (reading.voltage_v, reading.current_a, reading.power_w, reading.energy_wh, reading.integrator_s)
    )
