"""Everything the simulated meter holds, guarded by one condition; what its commands work on."""

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
"""Items of each :NUMeric:NORMal:PRESet; the first is the factory's, the others are made up."""
LAST_ITEM: Final = 255
LAST_FILTER: Final = 16
SIGMA: Final = "SIGMa"

Item = tuple[str, int | None]
"""A function and an element; None is the sum of all."""
FIRMWARE = "F1.03"
"""Firmware version reported by a real WT310; that of the E models is not known."""


@dataclass(frozen=True)
class Dialect:
    """A form of answers, and how updates go. `verbose` is that of power-on; a client can change it.

    `brief` meters leave out what can be understood without: the element of functions that have none (`TIME`), the
    optional node within a header (`:NUM:ITEM2`), and the zeros of a block's length (`#240`, not `#40040`).
    `free_running` meters update without regard to the integrator: neither START nor STOP nor a reset begins an update
    anew, and what each of them changes in WH and TIME shows with the next one.
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
"""Features that a meter of the family may lack; no public source says which."""
LOCKS: Final = (":SYSTem:KLOCk", ":COMMunicate:LOCKout")
"""The commands that lock the panel; the second one together with REMote."""


class Settings:
    """Communication settings, which *RST leaves alone, and the rest, which it restores."""

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self._model = model
        self.dialect = dialect
        self.switch_on()
        self.restore_defaults()

    def switch_on(self) -> None:
        """Return to the communication settings of power-on, as far as they are known (sibling WT3001E)."""
        self.header = True
        self.verbose = self.dialect.verbose
        self.remote = False
        self.lockout = False

    def restore_defaults(self) -> None:
        """Return to the factory's items and words."""
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
        """Make these functions of every element, and of the sum, the items; `item_count` is then all of them."""
        places: list[int | None] = list(self._model.elements)
        if len(places) > 1:
            places.append(None)
        self.items: dict[int, Item] = {}
        # Every element has its place, tens apart, also on a model that lacks the second; the sum is fourth.
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
        """Free a message that waits for an event."""
        with self.changed:
            self._interrupts += 1
            self.changed.notify_all()

    def close(self) -> None:
        """Free whatever waits, and let nothing wait any more."""
        self._closed = True
        self.faults.close()
        self.interrupt()

    def start(self) -> None:
        """Start the integrator; with the fault `busy-after-start` the meter ignores messages for a while then."""
        self.measuring.start()
        if self.faults.busy_after_start_s:
            self._busy_until_s = self.faults.until(self.faults.busy_after_start_s)

    def is_busy(self) -> bool:
        """Return whether it ignores messages now."""
        return self._busy_until_s > NEVER and self.clock() < self._busy_until_s

    def switch(self, name: str, on: bool) -> None:
        """Switch the setting of that name in `Settings`; a hold freezes the shown and answered values."""
        setattr(self.settings, name, on)
        self.measuring.maximum = self.settings.maximum_hold
        self.measuring.hold(self.settings.hold or self.settings.numeric_hold)

    def knows(self, header: str) -> bool:
        """Return whether it has the command of that header, as the table writes it."""
        return not ("lock" in self.without and header in LOCKS)

    def panel_lock(self) -> str | None:
        """Return why the panel's keys do nothing, as the end of a sentence; None if they work."""
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
        """Give the panel back to whoever stands before it; the settings say so."""
        self.settings.key_lock = self.settings.remote = self.settings.lockout = False

    def reset(self) -> None:
        """Do what *RST does: measurement and items as delivered, communication settings untouched."""
        if self.measuring.integrator.running:
            raise RefusedError(813)
        self.measuring.reset()
        self.measuring.restore_defaults()
        self.settings.restore_defaults()

    def restart(self, after: str) -> None:
        """Switch the meter off and on again; "keep", "lose" or "error" decides what happens to the integrator.

        Ranges, rate and items are remembered; how the meter talks, its filters and its errors are not.
        """
        self.status.switch_on()
        self.settings.switch_on()
        self.settings.hold = self.settings.numeric_hold = self.settings.maximum_hold = (
            False
        )
        self.measuring.restart(after)
        self._busy_until_s = NEVER
        self.interrupt()
