"""Integrator of a WT300 meter: queries its state, confirms its start and stop, resets it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAnswerError, MeterBusy, MeterTimeout
from lpirc_power.meter import Identity, IntegratorState, VisaLink
from lpirc_power.wt300 import answers
from lpirc_power.wt300.dialogue import Dialogue

CONFIRM_S: Final = 3.0
"""Time allowed for confirming a start or stop, if the integrator answers."""
SILENCE_S: Final = 12.0
"""Longest time without any answer about the integrator: the sum of CONFIRM_TIMEOUTS_MS."""
CONFIRM_TIMEOUTS_MS: Final = (100, 300, 900, 2700, 8100)
"""Timeouts of repeated queries; they begin short, since the meter integrates unseen after a lost query.

Only a link that can abandon an answer uses the short ones.
"""
DEAF_AFTER_START_S: Final = 0.25
"""Pause after a start: real meters lose a query in the first 0.2 s, and on USB a missing answer may end the link."""
POLL_S: Final = 0.02
START: Final = ":INTEGRATE:START"
STOP: Final = ":INTEGRATE:STOP"
RESET: Final = ":INTEGRATE:RESET"
STATE: Final = ":INTEGRATE:STATE?"


class Integration:
    """Controls the integrator over a link, and waits until the meter confirms."""

    def __init__(self, link: VisaLink, dialogue: Dialogue, clocks: Clocks) -> None:
        self._link = link
        self._dialogue = dialogue
        self._clocks = clocks

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""
        return IntegratorState.parse(self._dialogue.ask(STATE))

    def start(self) -> None:
        """Start the integrator; return once the meter confirms that it integrates."""
        self._link.write(START)
        self._clocks.pause(DEAF_AFTER_START_S)
        self._confirm(lambda state: state is IntegratorState.START, START)

    def stop(self) -> None:
        """Stop the integrator; does nothing if it has already stopped, by its timer or otherwise."""
        if self.state() is IntegratorState.START:
            self._link.write(STOP)
            self._confirm(lambda state: state is not IntegratorState.START, STOP)

    def reset(self) -> None:
        """Reset the integrator; MeterError `meter-refused` if that fails."""
        if self.state() is IntegratorState.RESET:
            return  # some meters queue error 845 for a second reset
        self._link.write(RESET)
        state = self.state()
        if state is not IntegratorState.RESET:
            raise self._dialogue.refused(RESET, state.value)

    def require_ended(self, identity: Identity) -> None:
        """Raise MeterError `meter-busy` if the meter integrates."""
        if self.state() is IntegratorState.START:
            raise MeterBusy(
                f"The meter {identity.model} {identity.serial} is integrating; press STOP and RESET on its "
                "panel (`meter unlock` unlocks the keys), or end the program that uses it."
            )

    def _confirm(self, wanted: Callable[[IntegratorState], bool], command: str) -> None:
        asked_s = self._clocks.monotonic()
        answer = ""
        timeouts_ms = itertools.chain(
            CONFIRM_TIMEOUTS_MS, itertools.repeat(CONFIRM_TIMEOUTS_MS[-1])
        )
        for timeout_ms in timeouts_ms:
            try:
                said = answers.data(self._dialogue.query_early(STATE, timeout_ms))
                state = IntegratorState.parse(said)
                if wanted(state):
                    return
                answer = state.value
            except (MeterTimeout, MeterAnswerError):
                pass  # it may be deaf for longer than is known, or answer nonsense
            longest_s = CONFIRM_S if answer else SILENCE_S
            if self._clocks.monotonic() - asked_s >= longest_s:
                break
            self._clocks.pause(POLL_S)
        raise self._dialogue.refused(command, answer or "nothing")
