"""What a busy host alone makes of a run: no test of anything else may hang on it."""

from __future__ import annotations

from collections.abc import Iterable

from lpirc_power.energy import Check


def failed(checks: Iterable[Check]) -> list[str]:
    """The codes of the checks that failed, except `reading-gaps`: a busy host makes pauses of its own."""
    return [
        check.code for check in checks if not check.ok and check.code != "reading-gaps"
    ]
