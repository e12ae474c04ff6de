"""What the simulated meter remembers beside its measurement."""

from __future__ import annotations

from typing import Final

FACTORY_ITEMS: Final = ("U", "I", "P", "S", "Q", "LAMBda", "PHI", "FU", "FI")
LAST_ITEM: Final = 255


class Settings:
    """Communication settings, which *RST leaves alone, and the rest, which it restores."""

    def __init__(self) -> None:
        self.header = True  # a real WT310 was met with headers on and short words
        self.verbose = False
        self.remote = False
        self.lockout = False
        self.restore_defaults()

    def restore_defaults(self) -> None:
        """Return to the factory's items and words."""
        self.items = dict(enumerate(FACTORY_ITEMS, start=1))
        self.item_count = len(FACTORY_ITEMS)
        self.float_format = False
        self.words = {
            "mode": "RMS",
            "synchronize": "VOLTage",
            "line_filter": "OFF",
            "frequency_filter": "OFF",
            "wiring": "P1W2",
            "hold": "OFF",
            "command_set": "WT300",
        }
        self.display = {1: "U", 2: "I", 3: "P", 4: "LAMBda"}
