"""What speaks against comparing two sides, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lpirc_power.comparison.alike import (
    addresses_of_one,
    addresses_of_simulated,
    is_in_one_range,
    is_same_meter,
    settings_that_differ,
)
from lpirc_power.comparison.attempts import Side
from lpirc_power.energy.attempt_order import attempt_warnings
from lpirc_power.energy.idle_check import IDLE_TIME
from lpirc_power.listed import listed
from lpirc_power.recording import NO_DATE
from lpirc_power.report.recording_report import Recorded

LONGER: Final = 0.02
"""Relative difference of durations above which a difference of energies may be one of time."""
MOST_NAMED: Final = 4
"""Files or addresses that a sentence names."""
FAR_APART_H: Final = 12.0
"""Hours after which a meter may no longer have the errors that it had."""


def in_turn(first: Side, second: Side) -> bool:
    """Return True if the attempts of both sides follow each other in turn: A B A B, or A B B A."""
    if len(first.attempts) != len(second.attempts):
        return False
    if any(
        one.readings[0].utc.year <= NO_DATE.year
        for one in (*first.recordings, *second.recordings)
    ):
        return True  # without dates nothing speaks against it
    begins = sorted(
        [(begin, "A") for begin in first.begins_s]
        + [(begin, "B") for begin in second.begins_s]
    )
    names = "".join(name for _, name in begins)
    pairs = {names[place : place + 2] for place in range(0, len(names), 2)}
    return pairs <= {"AB", "BA"}


def warnings_of(first: Side, second: Side) -> list[str]:
    """Return sentences about what speaks against the comparison."""
    return [
        *_meter_warnings(first, second),
        *_command_warnings(first),
        *_command_warnings(second),
        *_duration_warnings(first, second),
        *_stretch_warnings(first, second),
        *_time_warnings(first, second),
        *_attempt_warnings(first),
        *_attempt_warnings(second),
        *_unknown_warnings(first, second),
        *_note_warnings((*first.recordings, *second.recordings)),
        *first.left_out,
        *second.left_out,
        *_warm_up_warnings((*first.warm_up, *second.warm_up)),
    ]


def _meter_warnings(first: Side, second: Side) -> Iterator[str]:
    attempts = (*first.recordings, *second.recordings)
    if not all(one.is_meter_known for one in attempts):
        files = [one.file for one in attempts if not one.is_meter_known]
        yield (
            f"The meter of {_listed(files)} is unknown, so nothing says that the errors of the meters cancel."
        )
        return
    meters = sorted({str(one.identity) for one in attempts})
    if len(meters) > 1:
        yield f"The meters differ ({'; '.join(meters)}): their errors do not cancel."
    differ = settings_that_differ(attempts)
    if differ:
        yield f"The setups differ in {', '.join(differ)}: the meter's errors do not cancel."
    addresses = addresses_of_simulated(attempts)
    if len(addresses) > 1:
        yield (
            f"Simulated meters without a serial number of their own have several addresses ({_listed(addresses)}), so "
            "they are taken as several meters: their errors do not cancel."
        )
    addresses = addresses_of_one(attempts)
    if len(meters) == 1 and len(addresses) > 1:
        yield (
            f"The recordings name one meter, {meters[0]}, at several addresses ({_listed(addresses)}): it is taken as "
            "one, whose errors cancel. If these are several meters with one serial number, the interval is too narrow."
        )
    if not is_in_one_range(attempts):
        yield (
            "No fixed range is known, and nothing says that the meter has none, so it may have measured in several: "
            "none of its errors is taken to cancel."
        )


def _command_warnings(side: Side) -> Iterator[str]:
    commands = {
        " ".join(one.record.command)
        for one in side.recordings
        if one.record is not None
    }
    if len(commands) > 1:
        shown = "; ".join(sorted(command or "no command" for command in commands))
        yield f"The commands of {side.name} differ: {shown}."


def _attempt_warnings(side: Side) -> Iterator[str]:
    files = [one.file for one in side.recordings]
    for sentence in attempt_warnings(side.energies_wh, files):
        yield f"{side.name}: {sentence}"


def _duration_warnings(first: Side, second: Side) -> Iterator[str]:
    lengths = (first.mean_s, second.mean_s)
    shorter, longer = sorted(lengths)
    if shorter > 0 and longer / shorter - 1 > LONGER:
        yield (
            f"The recordings of {first.name} last {lengths[0]:.3f} s on average, those of {second.name} "
            f"{lengths[1]:.3f} s: the energies hold both power and time."
        )


def _stretch_warnings(first: Side, second: Side) -> Iterator[str]:
    if first.stretches == second.stretches and len(first.stretches) == 1:
        return
    counts = [
        f"{_times(side.stretches)} in a recording of {side.name}"
        for side in (first, second)
    ]
    yield (
        f"The mark was set {' and '.join(counts)}: the energies are those of all its stretches, so they may be of "
        "different amounts of work."
    )


def _times(counts: Sequence[int]) -> str:
    if counts == (1,):
        return "once"
    return f"{' or '.join(str(one) for one in counts[:4])} times"


def _time_warnings(first: Side, second: Side) -> Iterator[str]:
    begins_s = (*first.begins_s, *second.begins_s)
    hours = (max(begins_s) - min(begins_s)) / 3600.0
    if is_same_meter(first, second) and hours > FAR_APART_H:
        yield (
            f"The recordings lie {hours:.0f} h apart: the meter's own errors may have changed in between, and then "
            "they do not cancel."
        )


def _unknown_warnings(first: Side, second: Side) -> Iterator[str]:
    """Yield why the uncertainty of a side is unknown, once for both if for one reason."""
    names: dict[str, list[str]] = {}
    for side in (first, second):
        if side.budget is not None and side.budget.unknown:
            names.setdefault(side.budget.unknown, []).append(side.name)
    for sentence, sides in names.items():
        yield f"{' and '.join(sides)}: {sentence}"


def _note_warnings(recordings: Sequence[Recorded]) -> Iterator[str]:
    """Yield what is to be known of recordings, as `meter check` says it; each sentence once.

    That a recording names no meter is said of all of them together.
    """
    files: dict[str, list[str]] = {}
    for one in recordings:
        for sentence in one.doubts:
            if sentence != one.unnamed:
                files.setdefault(sentence, []).append(one.file)
    for sentence, names in files.items():
        yield f"{_listed(names)}: {sentence}"


def idle_warnings(recordings: Sequence[Recorded]) -> list[str]:
    """Return a sentence for each recording whose idle power was measured for too short a time."""
    return [
        f"{one.file}: {check.sentence}"
        for one in recordings
        for check in one.checks
        if check.code == IDLE_TIME and not check.ok
    ]


def _warm_up_warnings(files: Sequence[str]) -> Iterator[str]:
    if files:
        yield f"Left out, since they were recorded to warm up: {_listed(files)}."


def _listed(names: Sequence[str]) -> str:
    return listed(names, MOST_NAMED)
