"""The simulated meter without an interface: takes messages, returns answers, runs on a given clock."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.simulator.command_table import Command, Data
from lpirc_power.simulator.command_table import query as asking
from lpirc_power.simulator.common_commands import (
    COMMON,
    COMMUNICATION,
    INTEGRATE,
    STATUS,
    SYSTEM,
)
from lpirc_power.simulator.input_commands import INPUT
from lpirc_power.simulator.instrument_state import LAST_FILTER, LAST_ITEM, MeterState
from lpirc_power.simulator.numeric import NUMERIC
from lpirc_power.simulator.syntax import RefusedError, parse_unit, units

GROUPS: Final = {
    "Common": COMMON,
    "Status": STATUS,
    "System": SYSTEM,
    "Communication": COMMUNICATION,
    "Input": INPUT,
    "Numeric data": NUMERIC,
    "Integrator": INTEGRATE,
}
LOCAL: Final = "LOCAL"
"""Panel key that ends remote control; it is a key, not a message."""
COMMANDS: Final[tuple[Command, ...]] = tuple(
    command for group in GROUPS.values() for command in group
)
"""The commands that the simulated meter knows."""

_PATTERNS: Final[tuple[tuple[re.Pattern[str], Command], ...]] = tuple(
    (command.pattern.compiled(), command) for command in COMMANDS
)


_GROUPS: Final = tuple(
    (command.pattern.groups(), command)
    for command in COMMANDS
    if command.is_setting and not command.waits
)


@dataclass(frozen=True)
class Step:
    """A unit of a message with its command or, if the unit is refused, the error `refusal`, which ends the message."""

    command: Command | None = None
    query: bool = False
    suffix: int | None = None
    data: Data = ()
    refusal: int = 0


def command_lines() -> Iterator[str]:
    """Yield the table of commands as text; R marks commands refused until the integrator is reset."""
    for group, commands in GROUPS.items():
        yield f"{group}:"
        for command in commands:
            yield f"  {command.forms}{' (R)' if command.locked else ''}"
            yield f"      {command.help}"


class PanelLockedError(Exception):
    """Error: the panel's keys are locked; the text says why, as the end of a sentence."""


def only_asks(message: str) -> bool:
    """Return True if a message only queries, as a person does who looks at the panel."""
    return all(step.query for step in steps(message))


def may_wait(message: str) -> bool:
    """Return True if a message waits for an event."""
    return any(
        step.command is not None and step.command.waits for step in steps(message)
    )


@functools.lru_cache(maxsize=128)  # clients say the same few things over and over
def steps(message: str) -> tuple[Step, ...]:
    """Return the commands of a message, unit by unit, up to the first that is not understood."""
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


def _command(header: str, query: bool) -> tuple[Command, int | None]:
    for compiled, command in _PATTERNS:
        matched = compiled.fullmatch(header)
        if matched and (command.query if query else command.write) is not None:
            found = [int(group) for group in matched.groups() if group is not None]
            return command, found[0] if found else None
    listed = [command for groups, command in _GROUPS if _matches_one(groups, header)]
    if not query or not listed:
        raise RefusedError(113)
    return asking(header, lambda meter: _all_of(meter, listed), ""), None


def _matches_one(groups: Sequence[re.Pattern[str]], header: str) -> bool:
    return any(group.fullmatch(header) for group in groups)


def _all_of(meter: MeterState, listed: list[Command]) -> str:
    """Return the answers of all settings of a group, naming the group's header only where it changes."""
    found = []
    group = ""
    fewer = {
        LAST_ITEM: meter.settings.item_count,
        LAST_FILTER: meter.status.filter_count,
    }
    for command in listed:
        if not meter.knows(command.pattern.text):
            continue
        most = fewer.get(command.most, command.most)
        for suffix in range(1, most + 1) if most else (None,):
            said = command.said(
                meter, suffix, command.query(meter, suffix, ()) if command.query else ""
            )
            header_group, _, rest = said.rpartition(":")
            is_same_group = header_group == group
            found.append(rest if is_same_group else said)
            group = header_group
    return ";".join(found)


class Instrument(MeterState):
    """A meter that runs one message at a time, like the real instrument; may be called from any thread."""

    def execute(self, message: str) -> str | None:
        """Run a message without its terminator; return its joined answers, or None if it has no query.

        A refused unit queues its error and ends the message; answers made before it are still returned.
        """
        answers: list[str] = []
        with self.changed:
            if self.is_busy():
                return None
            try:
                self._run(message, answers)
            except RefusedError as refusal:
                self.status.add_error(refusal.code)
        return ";".join(answers) if answers else None

    def at_panel(self, message: str) -> str | None:
        """Run a message as if set at the panel; a refusal raises RefusedError instead of queueing an error.

        A message that only queries may run while the panel is locked; any other raises PanelLockedError. The key LOCAL
        ends remote control, unless that key is locked too.
        """
        answers: list[str] = []
        with self.changed:
            if message.strip().upper() == LOCAL:
                self._press_local()
                return None
            if (why := self.panel_lock()) and not only_asks(message):
                raise PanelLockedError(why)
            self._run(message, answers)
        return ";".join(answers) if answers else None

    def _press_local(self) -> None:
        if self.settings.key_lock or self.settings.lockout:
            raise PanelLockedError(self.panel_lock() or "")
        self.settings.remote = False

    def query_error(self, code: int) -> None:
        """Queue error 410 if an answer was not read before the next message, 420 if a read had no query."""
        with self.changed:
            self.status.add_error(code)

    def status_byte(self, answer_waiting: bool) -> int:
        """Return the status byte, as a serial poll reads it."""
        with self.changed:
            return self.status.status_byte(answer_waiting)

    def tick(self) -> float:
        """Advance to the clock's time, wake threads waiting for an update, return the seconds until the next one."""
        with self.changed:
            self.measuring.catch_up()
            self.changed.notify_all()
            return self.measuring.until_update_s()

    def _run(self, message: str, answers: list[str]) -> None:
        for step in steps(message):
            self.measuring.catch_up()
            answer = self._take(step)
            if answer is not None:
                answers.append(answer)

    def _take(self, step: Step) -> str | None:
        command = step.command
        if command is None:
            raise RefusedError(step.refusal)
        if not self.knows(command.pattern.text):
            raise RefusedError(113)
        # Settings may be asked for at any time; a locked query that sets nothing is itself an action.
        acts = not step.query or command.write is None
        if command.locked and acts and self.measuring.integrator.state != "RESet":
            raise RefusedError(813)
        if step.data and not command.data:
            raise RefusedError(108)
        action = command.query if step.query else command.write
        if action is None:
            raise RefusedError(113)
        if command.most and not 1 <= (step.suffix or 0) <= command.most:
            raise RefusedError(114)
        answer = action(self, step.suffix, step.data)
        return None if answer is None else command.said(self, step.suffix, answer)
