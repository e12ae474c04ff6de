"""What `referee doctor` finds."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A code and its sentence; advice alone is no failure."""

    code: str
    sentence: str
    is_advice: bool = False
