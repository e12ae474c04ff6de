"""State of the simulated meter, guarded by one condition; its commands work on it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.simulator.faults import NEVER, Faults
from lpirc_power.simulator.loads import Load
from lpirc_power.simulator.measuring import Measuring
from lpirc_power.simulator.simulated_models import Model, model_named
from lpirc_power.simulator.status_registers import StatusRegisters
from lpirc_power.simulator.syntax import RefusedError

FACTORY_ITEMS: Final = ("U", "I", "P", "S", "Q", "LAMBda", "PHI", "FU", "FI")
_PEAKS: Final = ("UPPeak", "UMPeak", "IPPeak", "IMPeak", "PPPeak", "PMPeak")
_SUMS: Final = ("TIME", "WH", "WHP", "WHM", "AH", "AHP", "AHM")
PRESETS: Final = tuple(
    (*FACTORY_ITEMS, *more) for more in ((), _PEAKS, _SUMS, (*_PEAKS, *_SUMS))
)
"""Items of each :NUMeric:NORMal:PRESet; the first preset is the factory's, the others are invented."""
LAST_ITEM: Final = 255
LAST_FILTER: Final = 16
SIGMA: Final = "SIGMa"

Item = tuple[str, int | None]
"""Item: a function and an element; element None means the sum of all."""
FIRMWARE = "F1.03"
"""Firmware version of a real WT310; the version of the E models is unknown."""


@dataclass(frozen=True)
class Dialect:
    """How a meter writes answers and makes updates. `verbose` is its setting at power-on; a client can change it.

    `brief` meters omit what is implied: the element of functions that have none (`TIME`), the optional node within a
    header (`:NUM:ITEM2`), and the leading zeros of a block's length (`#240`, not `#40040`). `free_running` meters
    update independently of the integrator: START, STOP and reset do not restart the update, and their effect on WH and
    TIME shows with the next update.
    """

    verbose: bool = False
    brief: bool = False
    free_running: bool = False


DIALECTS: Final = {
    "log2015": Dialect(),  # the recorded log of a WT310 as it was found: headers in short words
    "manual": Dialect(
        verbose=True
    ),  # as the manuals print answers: every node, in long words
    "wt310e": Dialect(brief=True),  # a public log of a WT310E's answer to :NUM:NORM?
    "free-running": Dialect(
        free_running=True
    ),  # as log2015; nothing public says how updates go, but two logs
}
DEFAULT_DIALECT: Final = "log2015"
WITHOUT: Final = {
    "lock": "the panel cannot be locked: LOCKout and KLOCk are not known (113)",
    "filters": "the meter knows only filter 1, which is for updates (114)",
    "latch": "every filter is taken, but only an update raises its event",
}
"""Optional features that a meter of the family may lack; no public source says which meters lack them."""
LOCKS: Final = (":SYSTem:KLOCk", ":COMMunicate:LOCKout")
"""Commands that lock the panel; the second one works only together with REMote."""


class Settings:
    """Settings: those of communication, which *RST does not change, and all others, which *RST resets."""

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self._model = model
        self.dialect = dialect
        self.switch_on()
        self.restore_defaults()

    def switch_on(self) -> None:
        """Reset the communication settings to power-on values, as far as they are known (sibling WT3001E)."""
        self.header = True
        self.verbose = self.dialect.verbose
        self.remote = False
        self.lockout = False

    def restore_defaults(self) -> None:
        """Reset items and words to the factory settings."""
        self.preset(FACTORY_ITEMS)
        self.line_filter = self.frequency_filter = self.averaging = self.scaling = False
        self.hold = self.numeric_hold = self.maximum_hold = self.key_lock = False
        self.numbers: dict[str, float] = {}
        self.words = {
            "mode": "RMS",
            "synchronize": "VOLTage",
            "wiring": self._model.default_wiring,
        }
        self.display: dict[int, Item] = {
            1: ("U", 1),
            2: ("I", 1),
            3: ("P", 1),
            4: ("LAMBda", 1),
        }

    def preset(self, functions: Sequence[str]) -> None:
        """Set the items to these functions of every element and of the sum, and `item_count` to their number."""
        places: list[int | None] = list(self._model.elements)
        if len(places) > 1:
            places.append(None)
        self.items: dict[int, Item] = {}
        # Each element has its own block of items, tens apart, even on a model without element 2; the sum is fourth.
        stride = 10 * math.ceil(len(functions) / 10)
        for element in places:
            for index, function in enumerate(
                functions, start=stride * ((element or 4) - 1) + 1
            ):
                self.items[index] = (function, element)
        self.item_count = max(self.items)


class MeterState:
    """The parts of the meter. `changed` guards them all and is notified at each update."""

    def __init__(
        self,
        load: Load,
        clock: Callable[[], float],
        serial: str = "C2PH13047V",
        model: str | Model = "WT310",
        dialect: str = DEFAULT_DIALECT,
        without: Collection[str] = (),
    ) -> None:
        self.model = model = model_named(model) if isinstance(model, str) else model
        self.identity: str = f"YOKOGAWA,{model.name},{serial},{FIRMWARE}"
        self.changed = threading.Condition(threading.RLock())
        self.faults: Faults = Faults(clock)
        self.without = frozenset(without)
        self.status: StatusRegisters = StatusRegisters(
            filter_count=1 if "filters" in without else 16,
            latches="latch" not in without,
        )
        form = DIALECTS[dialect]
        self.measuring: Measuring = Measuring(
            model, load, clock, self.status, self.faults, free_running=form.free_running
        )
        self.settings: Settings = Settings(model, form)
        self._busy_until_s = NEVER
        self.clock = clock
        self._interrupts = 0
        self._closed = False

    def wait_for_events(self, mask: int) -> None:
        """Block until an extended event of the mask is set, or `interrupt` is called."""
        interrupts = self._interrupts
        with self.changed:
            self.changed.wait_for(
                lambda: (
                    self.status.extended_events & mask
                    or self._closed
                    or self._interrupts != interrupts
                )
            )

    def interrupt(self) -> None:
        """Unblock a message that waits for an event."""
        with self.changed:
            self._interrupts += 1
            self.changed.notify_all()

    def close(self) -> None:
        """Unblock every waiting message, and let none wait any more."""
        self._closed = True
        self.faults.close()
        self.interrupt()

    def start(self) -> None:
        """Start the integrator; with the fault `busy-after-start`, the meter then ignores messages for a while."""
        self.measuring.start()
        if self.faults.busy_after_start_s:
            self._busy_until_s = self.faults.until(self.faults.busy_after_start_s)

    def is_busy(self) -> bool:
        """Return True if the meter ignores messages now."""
        return self._busy_until_s > NEVER and self.clock() < self._busy_until_s

    def switch(self, name: str, on: bool) -> None:
        """Set the on/off setting of the given name.

        The setting `hold` also freezes the displayed and answered values.
        """
        setattr(self.settings, name, on)
        self.measuring.maximum = self.settings.maximum_hold
        self.measuring.hold(self.settings.hold or self.settings.numeric_hold)

    def knows(self, header: str) -> bool:
        """Return True if the meter has the command with this header, as written in the table."""
        return not ("lock" in self.without and header in LOCKS)

    def panel_lock(self) -> str | None:
        """Return why the panel is locked, as the end of a sentence; None if it is not."""
        settings = self.settings
        if settings.key_lock:
            return "its keys are locked (:SYSTem:KLOCk ON)"
        if settings.remote and settings.lockout:
            return "it is under remote control with its LOCAL key off (REMote ON, LOCKout ON)"
        if settings.remote:
            return (
                "it is under remote control (REMote ON); press LOCAL first: knob LOCAL"
            )
        return None

    def unlock_panel(self) -> None:
        """Unlock the panel, and change the settings accordingly."""
        self.settings.key_lock = self.settings.remote = self.settings.lockout = False

    def reset(self) -> None:
        """Perform *RST: reset measurement and items to the factory state, and keep the communication settings."""
        if self.measuring.integrator.running:
            raise RefusedError(813)
        self.measuring.reset()
        self.measuring.restore_defaults()
        self.settings.restore_defaults()

    def restart(self, after: str) -> None:
        """Turn the meter off and on; `after` ("keep", "lose" or "error") decides what happens to the integrator.

        Ranges, rate and items are kept; communication settings, filters and errors are not.
        """
        self.status.switch_on()
        self.settings.switch_on()
        self.settings.hold = self.settings.numeric_hold = self.settings.maximum_hold = (
            False
        )
        self.measuring.restart(after)
        self._busy_until_s = NEVER
        self.interrupt()
