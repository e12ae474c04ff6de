"""Answers of the WT300 family turned into values (IM WT310-17EN, numeric data)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from power.errors import MeterError
from power.meter import Identity, IntegratorState, Reading

ITEMS: Final = ("U", "I", "S", "P", "LAMBDA", "WH", "TIME")
"""The numeric items of a sample, in the order in which they are asked for."""

NEW_DATA: Final = 1 << 0
OVER_RANGE: Final = 1 << 6
VOLTAGE_PEAK: Final = 1 << 7
CURRENT_PEAK: Final = 1 << 8


def value(text: str) -> float:
    """Return a number; NaN for no data and infinity for over range, in whichever form they come."""
    try:
        number = float(text)
    except ValueError:
        raise _strange(text, "a number") from None
    if math.isfinite(number) and number >= 9.8e37:
        # FLOAT answers, and tools that copy them, write 9.91E+37 for no data and 9.9E+37 for over range.
        return math.nan if number > 9.905e37 else math.inf
    return number


def register(text: str) -> int:
    """Return the value of a register."""
    try:
        return int(text)
    except ValueError:
        raise _strange(text, "a register") from None


def identity(answer: str) -> Identity:
    """Return who answered *IDN?."""
    parts = [part.strip() for part in answer.split(",")]
    if len(parts) != 4:
        raise MeterError(
            "meter-wrong-model",
            f"The instrument introduces itself as {answer!r}; that is no WT300.",
            answer=answer,
        )
    return Identity(*parts)


def sample(
    answer: str, stamp: Callable[[Sequence[float], int, IntegratorState], Reading]
) -> tuple[Reading, bool]:
    """Return the reading in one answer to EESR, values, condition and state; and whether it is new."""
    parts = answer.split(";")
    if len(parts) != 4:
        raise _strange(answer, "four answers")
    numbers = [value(part) for part in parts[1].split(",")]
    if len(numbers) != len(ITEMS):
        raise _strange(parts[1], f"{len(ITEMS)} values")
    reading = stamp(numbers, register(parts[2]), IntegratorState.parse(parts[3]))
    return reading, bool(register(parts[0]) & NEW_DATA)


def _strange(text: str, wanted: str) -> MeterError:
    return MeterError("meter-answer", f"The meter answered {text!r} where {wanted} should be.", answer=text)
