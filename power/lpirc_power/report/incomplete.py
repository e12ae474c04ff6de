"""Recordings that do not count in a mean or a comparison: of a part of the work, without an energy, or in doubt."""

from __future__ import annotations

from typing import Final

from lpirc_power.energy.continuity import why_lost
from lpirc_power.report.recording_report import Recorded

SIGNALS: Final = 128
"""Exit code of a program that a signal ended, less the signal's number, as in a shell."""


def why_not_counted(recorded: Recorded) -> str:
    """Return why a recording does not count, as the end of a sentence about it; empty if it counts.

    Means, series and comparisons all ask this.
    """
    found = [why_incomplete(recorded)]
    if recorded.no_energy:
        lost = why_lost(recorded.readings, recorded.measured.start_s)
        found.append(f"has no energy: {lost}")
    elif recorded.failed:
        found.append(f"needs review: {', '.join(recorded.failed)}")
    return " and ".join(filter(None, found))


def why_incomplete(recorded: Recorded) -> str:
    """Return why a recording is not of the whole work, as the end of a sentence about it; empty if it is."""
    record = recorded.record
    if record is None:
        return ""
    if record.ended is None:
        return "was cut off"
    code = record.ended.exit_code
    if code > SIGNALS:
        return f"was interrupted: signal {code - SIGNALS} ended its COMMAND"
    if record.ended.interrupted:
        return "was interrupted"
    return f"is of a COMMAND that failed, with exit code {code}" if code else ""
