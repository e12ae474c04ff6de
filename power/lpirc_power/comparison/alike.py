"""Whether one meter measured two sides in one setup, and which of its errors they then have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from lpirc_power.comparison.attempts import Side
from lpirc_power.energy.common_error import Common, common_of, in_one_range
from lpirc_power.meter import SIMULATED
from lpirc_power.report.recording_report import Recorded


def common_errors(first: Side, second: Side) -> Common:
    """Return which of the meter's errors both sides have in common; none if the meter may have changed its ranges."""
    recordings = (*first.recordings, *second.recordings)
    if not is_same_meter(first, second) or not is_in_one_range(recordings):
        return Common.NOTHING
    of_loads = [one.of_load for one in (*first.attempts, *second.attempts)]
    budgets = [one for one in of_loads if one is not None]
    if len(budgets) < len(of_loads):
        return Common.NOTHING
    is_known = all(one.measured.setup.range_w is not None for one in recordings)
    return common_of(budgets, is_range_known=is_known)


def is_same_meter(first: Side, second: Side) -> bool:
    """Return True if one known meter with one setup measured every attempt."""
    recordings = (*first.recordings, *second.recordings)
    if not all(one.is_meter_known for one in recordings):
        return False
    meters = {str(one.identity) for one in recordings}
    if len(meters) > 1 or len(addresses_of_simulated(recordings)) > 1:
        return False
    return not settings_that_differ(recordings)


def is_in_one_range(recordings: Sequence[Recorded]) -> bool:
    """Return True if the meter stayed in one range, whatever it measured."""
    return all(in_one_range(one.energy) for one in recordings)


def addresses_of_simulated(recordings: Sequence[Recorded]) -> list[str]:
    """Return the addresses of simulated meters without a serial number of their own, which nothing else tells apart."""
    return _addresses(one for one in recordings if _is_simulated(one))


def addresses_of_one(recordings: Sequence[Recorded]) -> list[str]:
    """Return the addresses of meters that have a serial number; of one meter, several may mean that it has a double."""
    return _addresses(one for one in recordings if not _is_simulated(one))


def _is_simulated(recorded: Recorded) -> bool:
    return recorded.identity.serial.strip() == SIMULATED


def _addresses(recordings: Iterable[Recorded]) -> list[str]:
    records = [one.record for one in recordings]
    return sorted({one.address for one in records if one is not None})


def settings_that_differ(recordings: Sequence[Recorded]) -> list[str]:
    """Return the names of the settings that are not the same in all recordings."""
    setups = [asdict(one.measured.setup) for one in recordings]
    # The timer ends a recording; it changes no reading.
    differ = []
    for name, value in setups[0].items():
        others = [one[name] for one in setups[1:]]
        if name != "integrator_timer_s" and others.count(value) < len(others):
            differ.append(name)
    return differ
