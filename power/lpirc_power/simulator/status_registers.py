"""Status registers and the error queue (IM WT310E-17EN, status reports)."""

from __future__ import annotations

from collections import deque
from enum import IntFlag
from typing import Final

from lpirc_power.simulator.syntax import TEXTS

QUEUE_LENGTH: Final = 16  # the manual's figure was not at hand; nothing rests on it

UPDATING: Final = 1 << 0
INTEGRATING: Final = 1 << 1
TIMER: Final = 1 << 2
SUM_OVERFLOW: Final = 1 << 3
FREQUENCY: Final = 1 << 4


def over_range(element: int) -> int:
    """Return the condition bit for over range of an element."""
    return 1 << (3 + 3 * element)


def voltage_peak(element: int) -> int:
    """Return the condition bit for a clipped voltage of an element."""
    return 1 << (4 + 3 * element)


def current_peak(element: int) -> int:
    """Return the condition bit for a clipped current of an element."""
    return 1 << (5 + 3 * element)


class Event(IntFlag):
    """Bits of the standard event register (IEEE 488.2)."""

    OPERATION_COMPLETE = 1 << 0
    QUERY_ERROR = 1 << 2
    DEVICE_ERROR = 1 << 3
    EXECUTION_ERROR = 1 << 4
    COMMAND_ERROR = 1 << 5
    POWER_ON = 1 << 7


class StatusRegisters:
    """Status registers: condition, transition filters, extended and standard events, and the error queue."""

    def __init__(self, *, filter_count: int = 16, latches: bool = True) -> None:
        """Create the registers with `filter_count` filters. Unless `latches` is set, only updates raise events."""
        self.filter_count = filter_count
        self._latches = latches
        self.condition = 0
        self.event_enable = 0
        self.request_enable = 0
        self.switch_on()

    def switch_on(self) -> None:
        """Reset to power-on: no filter, no error, and one event that reports the power-on."""
        self.filters = ["NEVer"] * 16
        self.extended_events = 0
        self.extended_enable = 0
        self.events = Event.POWER_ON
        self.texts = True
        self._errors: deque[int] = deque()

    def set(self, bit: int, on: bool) -> None:
        """Set a condition bit; a change that passes its filter raises the extended event."""
        if bool(self.condition & bit) == on:
            return
        self.condition ^= bit
        wanted = self.filters[bit.bit_length() - 1]
        if not (self._latches or bit == UPDATING):
            return
        if wanted == "BOTH" or wanted == ("RISE" if on else "FALL"):
            self.extended_events |= bit

    def add_error(self, code: int) -> None:
        """Queue an error; a full queue keeps its oldest errors, and its last entry becomes 350."""
        self.events |= _EVENTS.get(code // 100, Event.EXECUTION_ERROR)
        if len(self._errors) < QUEUE_LENGTH:
            self._errors.append(code)
        else:
            self._errors[-1] = 350

    def next_error(self) -> str:
        """Remove and return the oldest error; `0,"No error"` if there is none."""
        code = self._errors.popleft() if self._errors else 0
        return f'{code},"{TEXTS[code]}"' if self.texts else str(code)

    def take_events(self) -> int:
        """Return the standard events and clear them."""
        events = int(self.events)
        self.events = Event(0)
        return events

    def take_extended_events(self) -> int:
        """Return the extended events and clear them."""
        events = self.extended_events
        self.extended_events = 0
        return events

    def complete(self) -> None:
        """Set the event "operation complete"; in this meter a command is complete when the next one runs."""
        self.events |= Event.OPERATION_COMPLETE

    def clear(self) -> None:
        """Perform *CLS: clear the events and errors."""
        self.events = Event(0)
        self.extended_events = 0
        self._errors.clear()

    def status_byte(self, answer_waiting: bool) -> int:
        """Return the status byte: EAV2 EES3 MAV4 ESB5 and their summary MSS6."""
        byte = (bool(self._errors) << 2) | (
            bool(self.extended_events & self.extended_enable) << 3
        )
        byte |= (answer_waiting << 4) | (bool(self.events & self.event_enable) << 5)
        return byte | (bool(byte & self.request_enable) << 6)


_EVENTS: Final = {1: Event.COMMAND_ERROR, 3: Event.DEVICE_ERROR, 4: Event.QUERY_ERROR}
"""Event bit per hundreds digit of an error code; all other codes are execution errors."""
