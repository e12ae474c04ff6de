"""What the simulated meter remembers beside its measurement."""

from __future__ import annotations

from typing import Final

from power.simulator.models import Model

FACTORY_ITEMS: Final = ("U", "I", "P", "S", "Q", "LAMBda", "PHI", "FU", "FI")
STRIDE: Final = 10
LAST_ITEM: Final = 255
SIGMA: Final = "SIGMa"

Item = tuple[str, int | None]
"""A function and an element; None is the sum of all."""


class Settings:
    """Communication settings, which *RST leaves alone, and the rest, which it restores."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.switch_on()
        self.restore_defaults()

    def switch_on(self) -> None:
        """Return to the communication settings of power-on, as far as they are known (sibling WT3001E)."""
        self.header = True  # a real WT310 was met with headers on and short words
        self.verbose = False
        self.remote = False
        self.lockout = False

    def restore_defaults(self) -> None:
        """Return to the factory's items and words."""
        self.items: dict[int, Item] = {}
        places: list[int | None] = list(self._model.elements)
        if len(places) > 1:
            places.append(None)
        for element in places:
            # Every element has its place, ten apart, also on a model that lacks the second; the sum is fourth.
            first = STRIDE * ((element or 4) - 1) + 1
            for index, function in enumerate(FACTORY_ITEMS, start=first):
                self.items[index] = (function, element)
        self.item_count = max(self.items)
        self.float_format = False
        self.line_filter = False
        self.frequency_filter = False
        self.averaging = False
        self.scaling = False
        self.hold = False
        self.words = {
            "mode": "RMS",
            "synchronize": "VOLTage",
            "wiring": self._model.default_wiring,
            "command_set": "WT300",
        }
        self.display: dict[int, Item] = {1: ("U", 1), 2: ("I", 1), 3: ("P", 1), 4: ("LAMBda", 1)}
