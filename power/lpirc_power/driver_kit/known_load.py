"""A load that the author knows: one power, or a schedule of powers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

LEVEL: Final = re.compile(r"([0-9.]+)(m|k)?W(?:@([0-9.]+)s)?", re.IGNORECASE)
TIMES: Final = {None: 1.0, "m": 1e-3, "k": 1e3}


@dataclass(frozen=True)
class KnownLoad:
    """Powers in watts, how long all of them take in seconds (0: one power), and how exactly they are known."""

    levels_w: tuple[float, ...]
    period_s: float
    share: float

    @property
    def is_steady(self) -> bool:
        """Return True if the load has one power."""
        return len(self.levels_w) == 1


def known_load(text: str, share: float) -> KnownLoad:
    """Parse `36W`, `constant:36W` or `steps:2W@5s,9W@10s`, where a power holds until its time.

    `share` is the relative limit of error of the powers. Raises ValueError with a sentence.
    """
    levels: list[float] = []
    period_s = 0.0
    for part in text.removeprefix("constant:").removeprefix("steps:").split(","):
        found = LEVEL.fullmatch(part.strip())
        if found is None:
            raise ValueError(
                f"{part!r} is not a power; write 36W, or steps:2W@5s,9W@10s."
            )
        number, prefix, until = found.groups()
        levels.append(float(number) * TIMES[prefix and prefix.lower()])
        period_s = float(until or 0.0)
    if len(levels) > 1 and not period_s:
        raise ValueError(f"{text!r} does not say how long each power lasts.")
    return KnownLoad(tuple(levels), period_s, share)
