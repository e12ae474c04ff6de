"""Recordings that are not of the whole work: cut off, interrupted, or of a COMMAND that failed."""

from __future__ import annotations

from typing import Final

from lpirc_power.report.recording_report import Recorded

SIGNALS: Final = 128
"""Exit code of a program that a signal ended, less the signal's number, as in a shell."""


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
    return f"is of a COMMAND that failed, with exit code {code}" if code else ""
