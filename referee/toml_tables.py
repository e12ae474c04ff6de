"""TOML that somebody wrote, with whole numbers as large as TOML has them."""

from __future__ import annotations

import tomllib
from typing import Any

LARGEST = 2**63


def toml_table(text: str) -> dict[str, Any]:
    """The table that a text is.

    Raises ValueError for what is none, also for a whole number beyond 64 bits: written in hexadecimal it may have more
    digits than Python will show. RecursionError for what is nested too deeply.
    """
    table = tomllib.loads(text)
    _require_range(table)
    return table


def _require_range(value: object) -> None:
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError("it has a whole number beyond 64 bits")
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_range(one)
