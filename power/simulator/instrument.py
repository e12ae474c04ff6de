"""The simulated WT310 without any interface: messages in, answers out, on a given clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from power.simulator.commands import COMMANDS, Command
from power.simulator.loads import Load
from power.simulator.refusals import RefusedError
from power.simulator.state import MeterState
from power.simulator.syntax import Unit, parse_unit, units

_TABLE: Final[tuple[tuple[re.Pattern[str], Command], ...]] = tuple(
    (command.pattern.compiled(), command) for command in COMMANDS
)


class Instrument:
    """A meter that runs one message at a time, like the real box; callable from any thread."""

    def __init__(
        self, load: Load, clock: Callable[[], float], serial: str = "C2PH13047V", model: str = "WT310"
    ) -> None:
        self.state = MeterState(load, clock, serial, model)

    def execute(self, message: str) -> str | None:
        """Run a message without its terminator; return the joined answers, or None if it asked nothing.

        A refused unit queues its error and ends the message, but answers made before it are still sent.
        """
        answers: list[str] = []
        path = ""
        with self.state.changed:
            try:
                for text in units(message):
                    self.state.measuring.catch_up()
                    unit, path = parse_unit(text, path)
                    answer = self._run(unit)
                    if answer is not None:
                        answers.append(answer)
            except RefusedError as refusal:
                self.state.status.add_error(refusal.code)
        return ";".join(answers) if answers else None

    def interrupted_query(self) -> None:
        """Note that an answer was dropped because nobody had read it before the next message."""
        with self.state.changed:
            self.state.status.add_error(410)

    def status_byte(self, answer_waiting: bool) -> int:
        """Return the status byte, as a serial poll reads it."""
        with self.state.changed:
            return self.state.status.status_byte(answer_waiting)

    def tick(self) -> float:
        """Catch up with the clock, wake who waits for an update, return the seconds to the next one."""
        with self.state.changed:
            self.state.measuring.catch_up()
            self.state.changed.notify_all()
            return self.state.measuring.until_update_s()

    def interrupt(self) -> None:
        """Free a message that waits for an event."""
        self.state.interrupt()

    def _run(self, unit: Unit) -> str | None:
        command, suffix = _lookup(unit.header)
        action = command.query if unit.query else command.write
        if action is None:
            raise RefusedError(113)
        if not unit.query and command.locked and self.state.measuring.state != "RESet":
            raise RefusedError(813)
        answer = action(self.state, suffix, unit.data)
        if answer is None or not command.is_setting or not self.state.settings.header:
            return answer
        return f"{command.pattern.spelled(self.state.settings.verbose, suffix)} {answer}"


def _lookup(header: str) -> tuple[Command, int | None]:
    for compiled, command in _TABLE:
        matched = compiled.fullmatch(header)
        if matched:
            found = [int(group) for group in matched.groups() if group is not None]
            return command, found[0] if found else None
    raise RefusedError(113)
