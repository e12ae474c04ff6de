"""The failed checks of several recordings, each told once."""

from __future__ import annotations

from collections.abc import Mapping

from lpirc_power.energy import Check
from lpirc_power.report.recording_report import Recorded


def check_lines(recordings: Mapping[str, Recorded]) -> list[str]:
    """Return a line for each check that failed in some of the recordings, by name, with its first sentence."""
    failed: dict[str, dict[str, Check]] = {}
    for name, recorded in recordings.items():
        for one in recorded.checks:
            if not one.ok:
                failed.setdefault(one.code, {})[name] = one
    if not failed:
        return [f"{'checks':16} all hold"] if recordings else []
    return [_line(found, len(recordings)) for found in failed.values()]


def _line(found: Mapping[str, Check], count: int) -> str:
    first = next(iter(found.values()))
    names = "all" if len(found) == count else ", ".join(found)
    return f"{first.severity:16} {first.code} ({names}): {first.sentence}"
