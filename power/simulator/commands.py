"""The table of commands that drives the simulated meter, its help and its page; messages looked up in it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from power.simulator.command import Command, Data
from power.simulator.common_commands import COMMON, COMMUNICATION, STATUS
from power.simulator.input_commands import INPUT
from power.simulator.integrator_commands import INTEGRATE
from power.simulator.numeric import NUMERIC
from power.simulator.refusals import RefusedError
from power.simulator.syntax import parse_unit, units

GROUPS: Final = {
    "Common": COMMON,
    "Status": STATUS,
    "Communication": COMMUNICATION,
    "Input": INPUT,
    "Numeric data": NUMERIC,
    "Integrator": INTEGRATE,
}
COMMANDS: Final[tuple[Command, ...]] = tuple(command for group in GROUPS.values() for command in group)
"""Every command the simulated meter knows."""

REMEMBERED_LENGTH: Final = 1000
_PATTERNS: Final[tuple[tuple[re.Pattern[str], Command], ...]] = tuple(
    (command.pattern.compiled(), command) for command in COMMANDS
)


@dataclass(frozen=True)
class Step:
    """One unit of a message, looked up; `refusal` is the error it ends the message with instead."""

    command: Command | None = None
    query: bool = False
    suffix: int | None = None
    data: Data = ()
    refusal: int = 0


def steps(message: str) -> tuple[Step, ...]:
    """Return what a message asks for, unit by unit, up to the first that cannot be understood."""
    # Clients say the same few things over and over.
    return _remembered(message) if len(message) <= REMEMBERED_LENGTH else _looked_up(message)


def may_wait(message: str) -> bool:
    """Whether a message waits for an event."""
    return any(step.command is not None and step.command.waits for step in steps(message))


def _looked_up(message: str) -> tuple[Step, ...]:
    found: list[Step] = []
    path = ""
    try:
        for text in units(message):
            unit, path = parse_unit(text, path)
            command, suffix = _command(unit.header, unit.query)
            found.append(Step(command, unit.query, suffix, unit.data))
    except RefusedError as refusal:
        found.append(Step(refusal=refusal.code))
    return tuple(found)


_remembered = functools.lru_cache(maxsize=512)(_looked_up)


def _command(header: str, query: bool) -> tuple[Command, int | None]:
    for compiled, command in _PATTERNS:
        matched = compiled.fullmatch(header)
        if matched and (command.query if query else command.write) is not None:
            found = [int(group) for group in matched.groups() if group is not None]
            return command, found[0] if found else None
    raise RefusedError(113)
