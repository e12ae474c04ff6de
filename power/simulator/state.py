"""Everything the simulated meter holds, guarded by one condition; what its commands work on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from power.simulator.loads import Load
from power.simulator.measuring import Measuring
from power.simulator.refusals import RefusedError
from power.simulator.settings import Settings
from power.simulator.status import StatusRegisters


class MeterState:
    """The parts of the meter. `changed` guards them all and is notified at each update."""

    def __init__(self, load: Load, clock: Callable[[], float], serial: str, model: str) -> None:
        self.identity: str = f"YOKOGAWA,{model},{serial},F1.03"
        self.changed = threading.Condition(threading.RLock())
        self.status: StatusRegisters = StatusRegisters()
        self.measuring: Measuring = Measuring(load, clock, self.status)
        self.settings: Settings = Settings()
        self._interrupts = 0

    def wait_for_events(self, mask: int) -> None:
        """Block until an extended event of the mask is set, or `interrupt` is called."""
        interrupts = self._interrupts
        with self.changed:
            self.changed.wait_for(
                lambda: self.status.extended_events & mask or self._interrupts != interrupts
            )

    def interrupt(self) -> None:
        """Free a message that waits for an event."""
        with self.changed:
            self._interrupts += 1
            self.changed.notify_all()

    def reset(self) -> None:
        """Do what *RST does: measurement and items as delivered, communication settings untouched."""
        if self.measuring.state == "STARt":
            raise RefusedError(813)
        self.measuring.reset()
        self.measuring.restore_defaults()
        self.settings.restore_defaults()
